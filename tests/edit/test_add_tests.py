"""Where tests that were found go."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from pytest_brt.edit.add_tests import plan_edit
from pytest_brt.errors import EditProblem
from pytest_brt.report.load import read_issue
from pytest_brt.types import CandidateTest
from tests.support.rows import judged

ISSUE = read_issue("# The mean() of nothing crashes\n\nIt does.\n", "bugs/7.md")
HOST = "import math\n\n\ndef test_old():\n    assert math.pi > 3\n"
NEW = "tests/test_mean_nothing_crashes"


def candidate(name: str = "test_new", path: str = "tests/test_x.py") -> CandidateTest:
    source = f"def {name}():\n    assert {len(name)} == 2\n"
    return replace(judged(0).test, source=source, path=path)


def test_a_new_file_is_called_after_the_title_and_holds_all_tests(tmp_path: Path) -> None:
    tests = [candidate(), candidate("test_other"), candidate()]
    edit = plan_edit(tests, ISSUE, tmp_path)
    assert edit.path == f"{NEW}.py"
    text = edit.after.decode()
    assert text.startswith("# A test for 'The mean() of nothing crashes'; written by ")
    # The third is the first.
    assert text.count("def test_new") == text.count("def test_other") == 1
    assert not list(tmp_path.iterdir())


def test_what_is_there_already_is_not_written_again(tmp_path: Path) -> None:
    (tmp_path / "tests").mkdir()
    first = plan_edit([candidate()], ISSUE, tmp_path, mark=True)
    (tmp_path / first.path).write_bytes(first.after)
    again = plan_edit([candidate()], ISSUE, tmp_path, mark=True)
    assert (again.path, again.after) == (first.path, first.after)
    other = plan_edit([candidate("test_other")], ISSUE, tmp_path)
    assert other.path == f"{NEW}_2.py"


def test_the_best_test_goes_into_a_file_that_is_there(tmp_path: Path) -> None:
    (tmp_path / "test_host.py").write_text(HOST, "utf-8")
    tests = [candidate(), candidate("test_other")]
    edit = plan_edit(tests, ISSUE, tmp_path, host="test_host.py", mark=True)
    assert edit.nodes == ("test_new",)
    text = edit.after.decode()
    assert edit.path == "test_host.py"
    assert "def test_new" in text
    assert "def test_other" not in text
    assert "strict=True" in text
    other = "import os as math\n\n\ndef test_sep():\n    assert math.sep == 2\n"
    clashing = [replace(candidate(), source=other)]
    with pytest.raises(EditProblem, match=r"'math' means something else in 'test_host\.py'"):
        plan_edit(clashing, ISSUE, tmp_path, host="test_host.py")


@pytest.mark.parametrize("host", ["../test_a.py", "/srv/test_a.py", "test_\0.py"])
def test_nothing_is_written_outside_of_the_project(tmp_path: Path, host: str) -> None:
    with pytest.raises(EditProblem, match="outside of the project"):
        plan_edit([candidate()], ISSUE, tmp_path, host=host)
    with pytest.raises(EditProblem, match="outside of the project"):
        plan_edit([candidate(path=host)], ISSUE, tmp_path)
