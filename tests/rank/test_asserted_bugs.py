"""Which existing tests assert the bug: those that no program meets together with a bug test."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from pytest_brt.rank.asserted_bugs import without_asserted_bugs
from pytest_brt.types import COUNTS, Guarded, JudgedTest
from tests.support.rows import broken, judged
from tests.support.trees import write_tree

FIVE = "assert f(1) == 5"
RAISES = "with pytest.raises(KeyError):\n        f(1)"


def asking(body: str, confidence: float = COUNTS) -> JudgedTest:
    """Return a bug test with this body."""
    made = judged(0, confidence)
    return replace(made, test=replace(made.test, source=f"def test_a():\n    {body}\n"))


def kept(root: Path, body: str, bug_test: JudgedTest) -> Guarded:
    """Return what is left of one regression, which fails in the last line of a test."""
    source = f"def test_0(x=1):\n    {body}\n"
    write_tree(root, {"tests/test_x.py": source})
    (regression,) = broken(1).regressions
    failing = replace(regression, line=source.count("\n"))
    guarded = replace(broken(1), regressions=(failing,))
    return without_asserted_bugs(guarded, (bug_test,), root)


@pytest.mark.parametrize(
    ("existing", "bug_test"),
    [
        ("assert f(1) == 4", FIVE),
        ("assert f(1) != 5", FIVE),
        ("assert f(1) is None", "assert f(1) is not None"),
        (FIVE, "assert f(1) != 5"),
        ("got = f(1)\n    assert got == 4", FIVE),
        ("one = 1\n    got = f(one)\n    assert got == 4", "value = f(1)\n    assert value == 5"),
        (RAISES, FIVE),
        (RAISES, "f(1)"),
        (FIVE, RAISES),
        ("f(1)", RAISES),
    ],
)
def test_what_excludes_a_bug_test_counts_against_no_patch(
    existing: str, bug_test: str, tmp_path: Path
) -> None:
    guarded = kept(tmp_path, existing, asking(bug_test))
    assert guarded.regressions == ()
    (bug,) = guarded.disputed
    assert (bug.test, bug.call, bug.bug_test) == ("tests/test_x.py::test_0", "f(1)", "test_a")


def test_a_member_that_is_asserted_and_denied_excludes_itself(tmp_path: Path) -> None:
    guarded = kept(tmp_path, "assert 'a' in f(1)", asking("assert 'a' not in f(1)"))
    assert [bug.call for bug in guarded.disputed] == ["'a' in f(1)"]
    assert kept(tmp_path, "assert 'b' in f(1)", asking("assert 'a' not in f(1)")).regressions


@pytest.mark.parametrize(
    ("existing", "bug_test"),
    [
        ("assert f(2) == 4", FIVE),
        ("assert f(x) == 4", FIVE),
        ("assert f(1) != 4", FIVE),
        ("assert f(1) > 5", FIVE),
        ("assert f(1) == g(1)", FIVE),
        ("assert f(1) != 4", "assert f(1) != 5"),
        ("got = f(2)\n    got = f(1)\n    assert got == 4", FIVE),
        ("f(1)", FIVE),
        (RAISES, RAISES),
        (RAISES, "try:\n        f(1)\n    except KeyError:\n        pass"),
    ],
)
def test_what_a_program_may_meet_beside_it_is_a_regression(
    existing: str, bug_test: str, tmp_path: Path
) -> None:
    guarded = kept(tmp_path, existing, asking(bug_test))
    assert len(guarded.regressions) == 1
    assert guarded.disputed == ()


def test_what_fails_in_a_fixture_is_a_regression(tmp_path: Path) -> None:
    write_tree(tmp_path, {"tests/test_x.py": "def test_0():\n    assert f(1) == 4\n"})
    assert without_asserted_bugs(broken(1), (asking(FIVE),), tmp_path) == broken(1)


def test_a_bug_test_that_is_not_believed_excludes_nothing(tmp_path: Path) -> None:
    guarded = kept(tmp_path, "assert f(1) == 4", asking(FIVE, COUNTS - 0.01))
    assert len(guarded.regressions) == 1
