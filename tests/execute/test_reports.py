"""Reports of one item's phases, and what they come to."""

from __future__ import annotations

import pytest

from pytest_brt.execute.engine import TestTarget
from pytest_brt.execute.process import Event, Places, ToldException
from pytest_brt.execute.verdict import Scene, of_reports
from pytest_brt.types import Cause, Verdict
from pytest_brt.types.cause import (
    BodyFailed,
    BodyRaised,
    ExpectedFailure,
    Odd,
    Oddity,
    OwnError,
    Passed,
    Phase,
    PhaseFailed,
    RaisedYetPassed,
    Skipped,
)

SCENE = Scene(
    target=TestTarget(id="t", path="tests/test_x.py", node="test_a"),
    places=Places(tree="/copy", root="/project"),
)
TEST_FRAME = ("/copy/tests/test_x.py", 4, "test_a")
CORE_FRAME = ("/copy/pkg/core.py", 7, "f")
CORE_LATER = ("/copy/pkg/core.py", 9, "g")
HELPER_FRAME = ("/copy/tests/helper.py", 2, "h")
LIBRARY_FRAME = ("/usr/lib/python3/json.py", 1, "loads")


def report(when: str, outcome: str = "passed", **facts: object) -> Event:
    return Event(event="report", when=when, outcome=outcome, **facts)  # type: ignore[arg-type]


SETUP, CALL, TEARDOWN = report("setup"), report("call"), report("teardown")


def came_to(*reports: Event) -> tuple[Verdict, Cause]:
    outcome = of_reports(SCENE, reports)
    return outcome.verdict, outcome.cause


def failing(
    *frames: tuple[str, int, str], kind: str = "KeyError", **facts: object
) -> tuple[Verdict, Cause]:
    told = ToldException(type=kind, message="m\nmore", frames=frames, **facts)  # type: ignore[arg-type]
    return came_to(SETUP, report("call", "failed", raised=told), TEARDOWN)


def test_what_came_through_passes() -> None:
    assert came_to(SETUP, CALL, TEARDOWN) == (Verdict.PASS, Passed())
    assert came_to(SETUP, CALL, CALL, TEARDOWN) == (Verdict.PASS, Passed())
    unexpected = report("call", xfail=True)
    assert came_to(SETUP, unexpected, TEARDOWN) == (
        Verdict.PASS,
        Passed(marked_xfail=True),
    )


@pytest.mark.parametrize(
    "reports",
    [
        (),
        (SETUP,),
        (SETUP, CALL),
        (SETUP, TEARDOWN),
        (CALL, TEARDOWN),
        (CALL, SETUP, TEARDOWN),
        (SETUP, TEARDOWN, CALL),
        (SETUP, CALL, TEARDOWN, TEARDOWN),
        (SETUP, TEARDOWN, CALL, TEARDOWN),
        (TEARDOWN, CALL, SETUP),
    ],
)
def test_without_all_phases_in_order_it_is_tampered_with(reports: tuple[Event, ...]) -> None:
    assert came_to(*reports) == (Verdict.TAMPERED, Odd(oddity=Oddity.PHASES))


@pytest.mark.parametrize("when", ["setup", "call", "teardown"])
@pytest.mark.parametrize("outcome", ["passed", "rerun", ""])
def test_a_report_that_contradicts_itself_is_tampered_with(when: str, outcome: str) -> None:
    odd = report(when, outcome, raised=ToldException(type="KeyError", message="m"))
    good = {"setup": SETUP, "call": CALL, "teardown": TEARDOWN, when: odd}
    cause = RaisedYetPassed(when=when, outcome=outcome)
    assert came_to(*good.values()) == (Verdict.TAMPERED, cause)


def test_setup_that_fails_breaks_the_test_and_is_named() -> None:
    told = ToldException(type="KeyError", message="m", frames=(CORE_FRAME,))
    failed = report("setup", "failed", raised=told)
    outcome = of_reports(SCENE, (failed, TEARDOWN))
    assert (outcome.verdict, outcome.cause) == (Verdict.BROKEN, PhaseFailed(phase=Phase.SETUP))
    assert outcome.raised is not None
    assert outcome.raised.frames[0].path == "pkg/core.py"
    said = report("setup", "failed", text="fixture 'x' not found")
    assert came_to(said, TEARDOWN) == (
        Verdict.BROKEN,
        PhaseFailed(phase=Phase.SETUP, text="fixture 'x' not found"),
    )


def test_teardown_that_fails_breaks_a_test_that_passed_and_no_other() -> None:
    failed = report("teardown", "failed", text="no")
    assert came_to(SETUP, CALL, failed) == (
        Verdict.BROKEN,
        PhaseFailed(phase=Phase.TEARDOWN, text="no"),
    )
    wrong = report("call", "failed", text="assert 1 == 2")
    assert came_to(SETUP, wrong, failed) == (Verdict.FAIL, BodyFailed(text="assert 1 == 2"))
    skipped = report("call", "skipped", skip="not here")
    assert came_to(SETUP, skipped, failed) == (Verdict.SKIP, Skipped(said="not here"))


def test_a_failed_call_counts_before_skipped_ones() -> None:
    skipped, failed = report("call", "skipped", skip="s"), report("call", "failed")
    assert came_to(SETUP, skipped, failed, TEARDOWN) == (Verdict.FAIL, BodyFailed(text=""))


@pytest.mark.parametrize("when", ["setup", "call"])
def test_skipped_and_expected_to_fail_have_their_reasons(when: str) -> None:
    def one(**facts: object) -> tuple[Verdict, Cause]:
        odd = report(when, "skipped", **facts)
        return came_to(*((odd,) if when == "setup" else (SETUP, odd)), TEARDOWN)

    assert one(skip="not here") == (Verdict.SKIP, Skipped(said="not here"))
    assert one() == (Verdict.SKIP, Skipped(said=""))
    assert one(xfail=True, wasxfail="known", skip="x") == (
        Verdict.XFAIL,
        ExpectedFailure(said="known"),
    )
    assert one(xfail=True) == (Verdict.XFAIL, ExpectedFailure(said=""))


def test_a_failure_in_the_project_says_where() -> None:
    assert failing(TEST_FRAME, CORE_FRAME, CORE_LATER, LIBRARY_FRAME) == (
        Verdict.FAIL,
        BodyRaised(path="pkg/core.py", line=9),
    )
    assert failing(TEST_FRAME, CORE_FRAME, kind="NameError") == (
        Verdict.FAIL,
        BodyRaised(path="pkg/core.py", line=7),
    )


@pytest.mark.parametrize("frames", [(), (TEST_FRAME,), (TEST_FRAME, LIBRARY_FRAME)])
def test_a_failure_of_the_test_itself_needs_no_place(frames: tuple[tuple[str, int, str]]) -> None:
    assert failing(*frames) == (Verdict.FAIL, BodyRaised())
    for kind in ("NameError", "SystemExit", "_pytest.fixtures.FixtureLookupError"):
        assert failing(*frames, kind=kind) == (
            Verdict.BROKEN,
            OwnError(),
        )
    assert failing(*frames, kind="x.Odd", bases=("ImportError",))[0] is Verdict.BROKEN
    assert failing(*frames, kind="TypeError", about_project=True) == (
        Verdict.FAIL,
        BodyRaised(mismatch=True),
    )


def test_helpers_beside_the_test_are_the_test_s_own() -> None:
    frames = (TEST_FRAME, HELPER_FRAME)
    assert failing(*frames) == (Verdict.FAIL, BodyRaised())
    assert failing(*frames, kind="NameError")[0] is Verdict.BROKEN
    assert failing(TEST_FRAME, CORE_FRAME, HELPER_FRAME)[1] == BodyRaised()


def test_what_the_sandbox_denied_is_no_fault_of_the_test() -> None:
    found = failing(TEST_FRAME, kind="ImportError", denied="MemoryError")
    assert found == (Verdict.FAIL, BodyRaised(denied="MemoryError"))


def test_a_failure_known_as_text_only_begins_with_its_exception() -> None:
    text = "    walk(3)\n    ^^^^\nE   ValueError: 3\nE     is odd\n\npkg/core.py:4: ValueError"
    found = came_to(SETUP, report("call", "failed", text=text), TEARDOWN)
    assert found == (Verdict.FAIL, BodyFailed(text="ValueError: 3 (pkg/core.py:4: ValueError)"))
    assert came_to(SETUP, report("call", "failed", text="said"), TEARDOWN)[1] == BodyFailed(
        text="said"
    )
    assert came_to(SETUP, report("call", "failed"), TEARDOWN)[1] == BodyFailed(text="")
