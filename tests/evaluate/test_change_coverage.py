"""How much of a fix the candidates run; the lines are counted by hand."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from pytest_brt.evaluate.change_coverage import cover, lines_of_fix
from pytest_brt.evaluate.dataset import Instance
from pytest_brt.evaluate.truth import fix_changes
from pytest_brt.execute.engine import Engine
from pytest_brt.types import CandidateTest, FileChange, Oracle, OracleKind, Origin
from tests.conftest import CLAMP, SOURCE, TESTS, diff_of
from tests.evaluate.test_study import TEST_PATCH
from tests.execute.projects import open_on

MODULE = "interval/__init__.py"
LINE = 1 + SOURCE.splitlines().index("    return max(low, min(value, low))")
#: Takes one line away and adds five, of which the hidden tests run four: "return low" is never.
LONGER = """\
    # A comment is no code.
    if value > high:
        return high
    if value < low - 100:
        return low
    return max(low, value)
"""
FIX = diff_of(SOURCE.replace(CLAMP, LONGER))


def bug(fix: str = FIX, tests: str = TEST_PATCH) -> Instance:
    return Instance(id="x", repo="r", issue="", patch=fix, test_patch=tests)


def candidate(assertion: str, path: str = "tests/test_new.py") -> CandidateTest:
    source = f"from interval import clamp, mean\n\n\ndef test_new():\n    assert {assertion}\n"
    return CandidateTest(
        id=assertion,
        name="test_new",
        issue="",
        origin=Origin(strategy="replay"),
        oracle=Oracle(kind=OracleKind.WRITTEN, sentence="", prior=0.5),
        path=path,
        source=source,
    )


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    root = tmp_path_factory.mktemp("coverage") / "tree"
    (root / "interval").mkdir(parents=True)
    (root / "interval/__init__.py").write_text(SOURCE, "utf-8")
    (root / "tests").mkdir()
    (root / "tests/test_interval.py").write_text(TESTS, "utf-8")
    engine = open_on(root)
    yield engine
    engine.close()


def test_the_lines_of_a_fix_are_those_of_both_trees(engine: Engine) -> None:
    root = Path(engine.subject.root)
    removed, added = lines_of_fix(fix_changes(bug(), root), root)
    assert removed == {(MODULE, LINE)}
    assert added == {(MODULE, LINE + at) for at in range(6)}
    new = FileChange(path="interval/more.py", content=b"a = 1\nb = 2\n")
    gone, come = lines_of_fix((new,), root)
    assert not gone
    assert come == {("interval/more.py", 1), ("interval/more.py", 2)}
    assert not any(lines_of_fix((), root))


@pytest.mark.slow
def test_candidates_run_a_part_of_what_can_be_run(engine: Engine) -> None:
    tests = {
        # The line that goes; both conditions and the last line on the fixed tree.
        "inside": [candidate("clamp(5, 0, 10) == 5")],
        # The first condition and its branch.
        "above": [candidate("clamp(12, 0, 10) == 10")],
        "both": [candidate("clamp(5, 0, 10) == 5"), candidate("clamp(12, 0, 10) == 10")],
        "elsewhere": [candidate("mean([1]) == 1")],
        "none": [],
    }
    found = {one.strategy: (one.lines, one.reached) for one in cover(bug(), engine, tests)}
    assert found == {
        # One line that goes, and four of those that come.
        "inside": (5, 4),
        "above": (5, 3),
        "both": (5, 5),
        "elsewhere": (5, 0),
        "none": (5, 0),
    }


def test_without_hidden_tests_it_is_said_that_nothing_can_be_seen(engine: Engine) -> None:
    (one,) = cover(bug(tests=""), engine, {"replay": [candidate("clamp(5, 0, 10) == 5")]})
    assert (one.lines, one.reached, one.share) == (0, 0, None)
    assert "no hidden tests" in one.problem


@pytest.mark.slow
def test_hidden_tests_of_what_is_not_there_yet_do_not_hide_the_old_ones(engine: Engine) -> None:
    """On the buggy tree they cannot be imported; the file as it was says what can be run."""
    hidden = TESTS.replace("clamp, mean", "clamp, mean, span")
    hidden += "\n\ndef test_span():\n    assert span(1, 3) == 2\n"
    span = "\n\ndef span(low, high):\n    return high - low\n"
    fix = diff_of(SOURCE.replace("min(value, low)", "min(value, high)") + span)
    instance = bug(fix, diff_of(hidden, "tests/test_interval.py", TESTS))
    (one,) = cover(instance, engine, {"replay": [candidate("clamp(5, 0, 10) == 5")]})
    # The line of clamp() on both trees, and that of span().
    assert (one.lines, one.reached) == (3, 2)
