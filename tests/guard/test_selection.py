"""Which existing tests the patches of a pool are tried with: facts in, facts out."""

from __future__ import annotations

from pytest_brt.guard.baseline import BaselineFile, BaselineTest
from pytest_brt.guard.changes import Touched
from pytest_brt.guard.selection import Selection, select_tests
from pytest_brt.types import FailsBefore, Verdict
from pytest_brt.types.cause import BodyFailed, Passed, Phase, PhaseFailed
from pytest_brt.types.shortfall import BudgetSpent, FailBefore, NotCollected

CORE = "pkg/core.py"


def touching(*lines: int, loads: bool = False) -> Touched:
    """Return what a patch touches that changes some lines of a file."""
    bits = sum(1 << line for line in lines)
    loaded = (CORE,) if loads else ()
    return Touched(places=(f"{CORE}::f",), size=1, lines=((CORE, bits),), loaded=loaded)


def known(name: str, *lines: int, seconds: float = 0.5, passes: bool = True) -> BaselineTest:
    """Return a test that executes some lines of a file."""
    return BaselineTest(
        name=f"t/test_a.py::{name}",
        path="t/test_a.py",
        verdict=Verdict.PASS if passes else Verdict.FAIL,
        cause=Passed() if passes else BodyFailed(text="assert 0"),
        raised=None,
        seconds=seconds,
        ran={CORE: sum(1 << line for line in lines)} if lines else {},
        is_watched=bool(lines),
    )


def choose(
    tests: list[BaselineTest],
    pool: list[Touched],
    *more: BaselineFile,
    allowance: float = 1.0,
    is_whole: bool = False,
) -> Selection:
    file = BaselineFile(path="t/test_a.py", tests=tuple(tests), is_known=True)
    return select_tests(
        (file, *more), pool, allowance=allowance, is_whole=is_whole, total=len(tests)
    )


def names(selection: Selection) -> list[str]:
    return [test.node for test in selection.tests]


def test_of_a_suite_known_whole_every_test_that_runs_a_change_is_chosen() -> None:
    tests = [known("a", 1), known("b", 9), known("c", 2, seconds=50.0), known("d", 2)]
    found = choose(tests, [touching(1), touching(2)], is_whole=True)
    assert names(found) == ["a", "c", "d"]
    assert found.shortfalls == ()
    assert found.seconds == 51.0
    assert [found.reaching(touching(line)) for line in (1, 2, 9)] == [1, 2, 0]


def test_what_can_be_afforded_is_shared_between_the_patches() -> None:
    tests = [known("a", 1), known("b", 1), known("c", 1), known("d", 2)]
    found = choose(tests, [touching(1), touching(2)], allowance=1.0)
    assert names(found) == ["a", "d"]
    assert found.shortfalls == (BudgetSpent(seconds=1.0),)


def test_what_executes_a_changed_line_comes_before_what_only_loads_its_module() -> None:
    tests = [known("loads", 7, seconds=0.25), known("runs", 1, seconds=0.25)]
    found = choose(tests, [touching(1, loads=True)], allowance=0.45)
    assert names(found) == ["runs"]
    both = choose(tests, [touching(1, loads=True)], is_whole=True)
    assert names(both) == ["runs", "loads"]
    assert both.reaching(touching(1, loads=True)) == 1
    assert both.reaching(touching(loads=True)) == 2


def test_where_no_line_was_seen_tests_that_pass_are_chosen() -> None:
    found = choose([known("a"), known("b", passes=False)], [touching(1)], is_whole=True)
    assert names(found) == ["a"]
    assert found.reaching(touching(1)) is None


def test_where_none_runs_a_change_one_test_shows_that_its_file_is_still_imported() -> None:
    tests = [known(name, 7, seconds=0.01) for name in "abcd"]
    found = choose(tests, [touching(1)], is_whole=True)
    assert names(found) == ["a"]
    assert found.reaching(touching(1)) == 0
    unseen = choose([*tests, known("e", seconds=0.01)], [touching(1)], is_whole=True)
    assert unseen.reaching(touching(1)) is None


def test_a_test_that_takes_half_of_the_time_comes_last() -> None:
    tests = [known("long", 1, seconds=0.8), known("b", 1, seconds=0.4), known("c", 1, seconds=0.4)]
    assert names(choose(tests, [touching(1)])) == ["b", "c"]


def test_what_fails_before_is_named_where_it_has_to_do_with_a_patch() -> None:
    tests = [known("a", 1), known("fails", 1, passes=False), known("far", 9, passes=False)]
    cause = PhaseFailed(phase=Phase.COLLECTION, text="no such module")
    lost = BaselineFile(path="t/test_b.py", refused=FailsBefore(test="t/test_b.py", cause=cause))
    found = choose(tests, [touching(1)], lost, is_whole=True)
    assert [test.test for test in found.failing] == ["t/test_b.py", "t/test_a.py::fails"]
    assert found.shortfalls == (
        NotCollected(path="t/test_b.py", others=0),
        FailBefore(tests=1, all_of_them=False),
    )
