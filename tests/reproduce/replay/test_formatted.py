"""Reports about tools that print what they make of a file, or a diff of it."""

from __future__ import annotations

import difflib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_brt.execute.engine import Engine
from pytest_brt.oracle.rules.file_contents import applied
from pytest_brt.types import OracleKind
from tests.reproduce.replay.test_rewritten import claims

FILE = "`a.py`:\n\n```python\nx = 1  # one\ny = 2\nz = 3\n```\n\n"
RESULT = "```python\nx = 1\ny = 2\nz = 3\n```\n\n"
DIFF = "```diff\n@@ -1,3 +1,3 @@\n-x = 1  # one\n+x = 1\n y = 2\n z = 3\n```\n\n"
EXPECTED = "Expected:\n\n```python\nx = 1  # 1\ny = 2\nz = 3\n```\n"
FORBIDDEN = r'assert done.stdout != "x = 1\ny = 2\nz = 3\n"'
DEMANDED = r'assert done.stdout == "x = 1  # 1\ny = 2\nz = 3\n"'


@pytest.mark.parametrize(
    ("report", "lasts"),
    [
        (FILE + "`pkg --show a.py` makes this of it:\n\n" + RESULT, [FORBIDDEN]),
        (FILE + "`pkg --show a.py` gives:\n\n" + RESULT + EXPECTED, [FORBIDDEN, DEMANDED]),
        (FILE + "`pkg --show a.py` changes it:\n\n" + DIFF, [FORBIDDEN]),
        (FILE + "`pkg --show a.py` gives:\n\n" + RESULT + "Expected:\n\n" + RESULT, []),
        (FILE + "`pkg --show a.py` works fine:\n\n" + RESULT, []),
        (FILE + "`pkg --show a.py` gives:\n\n" + RESULT.replace("z = 3", "z = 4"), []),
    ],
)
def test_what_is_printed_of_a_file(engine: Engine, report: str, lasts: list[str]) -> None:
    assert sorted(last for _, last in claims(engine, report)) == sorted(lasts)


@pytest.mark.parametrize("shown", [RESULT, DIFF])
def test_a_diff_that_is_printed_stands_for_what_it_makes(engine: Engine, shown: str) -> None:
    found = claims(engine, FILE + "`pkg --diff a.py` gives:\n\n" + shown)
    assert [kind for kind, _ in found] == [OracleKind.NO_PRINT]


LINES = st.lists(st.sampled_from(["a", "b", "c", "", "  d", "+e", "-f"]), min_size=1, max_size=12)


@given(LINES, LINES)
def test_a_diff_makes_of_a_file_what_it_was_made_from(before: list[str], after: list[str]) -> None:
    diff = "\n".join(difflib.unified_diff(before, after, "a", "b", lineterm=""))
    if not diff or not after[-1] or not before[-1]:
        return  # blank lines at the end cannot be seen in a report
    assert applied(diff, "\n".join(before) + "\n") == "\n".join(after)
    assert applied(diff, "nothing of it\n" * len(before)) == ""
