from __future__ import annotations

from dataclasses import replace

import pytest

from pytest_brt.agent.running import fails, sort_runs, tell_runs
from pytest_brt.types import Frame, Raised, TestRun, Verdict
from tests.support.outcomes import caused


def run(name: str, verdict: Verdict = Verdict.PASS, *types: str) -> TestRun:
    raised = Raised(type=types[0], message=f"{name} is wrong", bases=types[1:]) if types else None
    return TestRun(test="file", node=name, verdict=verdict, cause=caused(verdict), raised=raised)


def bad(name: str, *types: str) -> TestRun:
    return run(name, Verdict.FAIL, *(types or ("ValueError", "Exception")))


@pytest.mark.parametrize(
    ("types", "is_failure"),
    [
        (("ValueError",), True),
        (("pkg.testing.Skipped", "Exception"), False),
        (("unittest.case.SkipTest",), False),
        (("pkg.NotHere", "pkg.SkipTest"), False),
        (("pkg.testing.XFail",), False),
        (("pkg.SkipListError",), True),
    ],
)
def test_exceptions_by_which_a_test_does_not_count(
    types: tuple[str, ...], is_failure: bool
) -> None:
    assert fails(bad("a", *types)) is is_failure


def test_frames_of_libraries_are_left_out() -> None:
    frames = (
        Frame(path="tests/test_a.py", line=3, function="test_a"),
        Frame(path="/usr/lib/python3/json/decoder.py", line=9, function="decode"),
        Frame(path="pkg/a.py", line=7, function="load"),
        Frame(path="<string>", line=1, function="<module>"),
    )
    failing = bad("a")
    assert failing.raised is not None
    told = tell_runs([replace(failing, raised=replace(failing.raised, frames=frames))], {})
    assert told.splitlines()[3:] == [
        "  at tests/test_a.py:3 in test_a",
        "  at pkg/a.py:7 in load",
    ]


def test_skips_are_counted_apart() -> None:
    runs = [run("a"), run("b", Verdict.SKIP), bad("c", "pkg.Skipped"), run("d", Verdict.XFAIL)]
    assert tell_runs(runs, {}) == "4 tests: 1 passes, 3 are skipped."
    assert sort_runs(runs).verdict is Verdict.PASS
    assert tell_runs(runs[1:], {}) == "3 tests: all are skipped."
    assert sort_runs(runs[1:]).verdict is Verdict.SKIP
    told = tell_runs([*runs, bad("e")], {})
    assert told == "5 tests: 1 fails, 1 passes, 3 are skipped:\ne: FAIL\nValueError: e is wrong"


def test_one_test_is_told_as_one() -> None:
    assert tell_runs([run("a")], {}) == "The test passes."
    assert tell_runs([run("a")], {}, [bad("a")]) == "The test passes; it failed before your change."
    assert tell_runs([bad("a")], {}) == "The test fails:\na: FAIL\nValueError: a is wrong"
    assert tell_runs([bad("a")], {}, [bad("a")]).startswith(
        "The test fails, as it did before your change:\na: "
    )
    assert tell_runs([bad("a")], {}, [run("a")]).startswith(
        "The test fails; it did not fail before your change:\na: "
    )


def test_what_failed_before_is_told_apart_from_what_fails_newly() -> None:
    names = [f"old{n}" for n in range(15)]
    before = [run("a"), run("b"), bad("c"), *map(bad, names)]
    old = list(map(bad, names))
    told = tell_runs([run("a"), bad("b"), run("c"), *old], {}, before).splitlines()
    assert told[0] == (
        "18 tests: 1 newly fails, "
        "2 pass (1 of them failed before your change), 15 fail as before your change:"
    )
    assert told[1:3] == ["b: FAIL", "ValueError: b is wrong"]
    assert told[3].startswith("Fail as before: old0, old1, ")
    assert told[3].endswith("old11 and 3 more")
    assert len(told) == 4
    assert sort_runs([bad("b"), *old], before).verdict is Verdict.FAIL


def test_without_new_failures_it_is_shown_how_the_old_ones_fail() -> None:
    told = tell_runs([run("a"), bad("b")], {}, [bad("a"), bad("b")]).splitlines()
    assert told[0].startswith("2 tests: 1 passes (it failed before your change), 1 f")
    assert told[1:3] == ["b: FAIL", "ValueError: b is wrong"]


def test_all_pass_and_some_failed_before() -> None:
    assert tell_runs([run("a"), run("b")], {}, []) == "2 tests: all pass."
    told = tell_runs([run("a"), run("b")], {}, [bad("b"), run("a")])
    assert told == "2 tests: all pass (1 of them failed before your change)."
