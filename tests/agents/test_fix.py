from __future__ import annotations

import pytest

from pytest_brt.agents.fix import apply_fix, parse_fix
from pytest_brt.agents.workspace import Refused
from pytest_brt.errors import EditProblem
from tests.agents.project import CODE, Make

RIGHT = "    return max(low, min(value, high))"


def test_lines_are_replaced_inserted_and_deleted(workspace: Make) -> None:
    env = workspace("")
    fix = parse_fix(
        "interval.py replace 2; interval.py insert 1; interval.py delete 5", [RIGHT, "A = 1"]
    )
    (change,) = apply_fix(fix, env)
    lines = CODE.split("\n")
    assert change.content == "\n".join(["A = 1", lines[0], RIGHT, "", "", ""]).encode()


def test_numbers_of_listings_are_taken_off(workspace: Make) -> None:
    (change,) = apply_fix(parse_fix("interval.py replace 2", [f"    2| {RIGHT}\n"]), workspace(""))
    assert RIGHT.encode() in (change.content or b"")


def test_encoding_and_line_ends_are_kept(workspace: Make) -> None:
    (change,) = apply_fix(parse_fix("latin.py insert 2", ["OTHER = 'ü'"]), workspace(""))
    assert "OTHER = 'ü'".encode("latin-1") in (change.content or b"")


@pytest.mark.parametrize(
    ("places", "code", "problem"),
    [
        ("somewhere", ["x"], "0 places are named"),
        ("interval.py replace 2", [], "1 take a block of code, and there are 0"),
        ("interval.py delete 2", ["x"], "0 take a block of code, and there are 1"),
        ("interval.py replace 40", ["x"], "has 6 lines"),
        ("interval.py replace 2; interval.py delete 1-2", ["x"], "changed once"),
        ("interval.py replace 2", ["return 1"], "with the right indentation"),
        ("interval.py replace 5", ["LIMIT = 3"], "leaves the code as it is"),
    ],
)
def test_a_fix_that_cannot_be_applied_is_answered(
    workspace: Make, places: str, code: list[str], problem: str
) -> None:
    with pytest.raises(EditProblem, match=problem):
        apply_fix(parse_fix(places, code), workspace(""))


def test_a_file_that_is_not_there(workspace: Make) -> None:
    with pytest.raises(Refused, match=r"Files like it: interval\.py"):
        apply_fix(parse_fix("intervals.txt replace 2", [RIGHT]), workspace(""))
