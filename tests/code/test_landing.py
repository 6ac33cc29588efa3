"""Where tests that were found go."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from pytest_brt.code.landing import Landing, plan_edit
from pytest_brt.errors import EditProblem
from pytest_brt.report.load import read_issue
from pytest_brt.types import CandidateTest
from tests.support.rows import judged

ISSUE = read_issue("# The mean() of nothing crashes\n\nIt does.\n", "bugs/7.md")
HOST = "import math\n\n\ndef test_old():\n    assert math.pi > 3\n"


def candidate(name: str = "test_new", host: str = "") -> CandidateTest:
    source = f"def {name}():\n    assert {len(name)} == 2\n"
    return replace(judged(0).test, source=source, path="tests/test_x.py", host=host)


def test_a_new_file_is_called_after_the_title_and_holds_all_tests(tmp_path: Path) -> None:
    tests = [candidate(), candidate("test_other"), candidate()]
    edit = plan_edit(tests, ISSUE, Landing(root=tmp_path))
    assert (edit.path, edit.before) == ("tests/test_the_mean_of_nothing_crashes.py", None)
    text = edit.after.decode()
    assert text.startswith("# A test for 'The mean() of nothing crashes'; written by ")
    # The third is the first.
    assert text.count("def test_new") == text.count("def test_other") == 1
    assert not list(tmp_path.iterdir())


def test_a_file_that_is_there_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests/test_the_mean_of_nothing_crashes.py").touch()
    edit = plan_edit([candidate()], ISSUE, Landing(root=tmp_path))
    assert edit.path == "tests/test_the_mean_of_nothing_crashes_2.py"


def test_what_is_there_already_is_not_written_again(tmp_path: Path) -> None:
    (tmp_path / "tests").mkdir()
    landing = Landing(root=tmp_path, mark=True)
    first = plan_edit([candidate()], ISSUE, landing)
    (tmp_path / first.path).write_bytes(first.after)
    again = plan_edit([candidate()], ISSUE, landing)
    assert (again.path, again.before, again.diff()) == (first.path, first.after, "")
    other = plan_edit([candidate("test_other")], ISSUE, landing)
    assert (other.path, other.before) == ("tests/test_the_mean_of_nothing_crashes_2.py", None)


def test_the_best_test_goes_into_the_file_that_the_user_named(tmp_path: Path) -> None:
    (tmp_path / "test_host.py").write_text(HOST, "utf-8")
    landing = Landing(root=tmp_path, into=True, host="test_host.py", mark=True)
    edit = plan_edit([candidate(), candidate("test_other")], ISSUE, landing)
    text = edit.after.decode()
    assert edit.path == "test_host.py"
    assert "def test_new" in text
    assert "def test_other" not in text
    assert "xfail(" in text
    assert "strict=True" in text
    other = "import os as math\n\n\ndef test_sep():\n    assert math.sep == 2\n"
    clashing = plan_edit([replace(candidate(), source=other)], ISSUE, landing)
    assert clashing.path == "tests/test_the_mean_of_nothing_crashes.py"


@pytest.mark.parametrize("host", ["../test_a.py", "/srv/test_a.py", "test_\0.py"])
def test_nothing_is_written_outside_of_the_project(tmp_path: Path, host: str) -> None:
    with pytest.raises(EditProblem, match="outside of the project"):
        plan_edit([candidate(host=host)], ISSUE, Landing(root=tmp_path))
