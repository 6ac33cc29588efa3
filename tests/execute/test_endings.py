from __future__ import annotations

import pytest

from pytest_brt.execute.engine import TestTarget
from pytest_brt.execute.process import Ended, Event, Places, ToldException
from pytest_brt.execute.verdict import Scene, came_through, cut_short, missing_nodes, not_begun
from pytest_brt.types import Cause, Verdict
from pytest_brt.types.cause import (
    CannotRun,
    NoTest,
    NotStarted,
    Phase,
    PhaseFailed,
    ProcessEnded,
    PytestFailed,
    RunBrokenOff,
    Skipped,
    Timed,
    TookTooLong,
)

SCENE = Scene(
    target=TestTarget(id="t", path="tests/test_x.py", node="test_a"),
    places=Places(tree="/copy", root="/project"),
)


def _ended(*events: Event, status: int = 0, tail: str = "", timed_out: bool = False) -> Ended:
    return Ended(events=events, status=status, timed_out=timed_out, tail=tail, seconds=1.0)


def test_what_was_never_begun_is_known() -> None:
    events = (Event(event="collected", nodes=("a", "b", "c")), Event(event="item", node="a"))
    assert missing_nodes(_ended(*events)) == ("b", "c")
    assert missing_nodes(_ended()) == ()


@pytest.mark.parametrize(
    ("ended", "verdict", "cause"),
    [
        (_ended(timed_out=True), Verdict.TIMEOUT, TookTooLong(what=Timed.COLLECTION)),
        (
            _ended(Event(event="sandbox_error", text="no mount"), status=1),
            Verdict.INVALID,
            NotStarted(said="no mount"),
        ),
        (
            _ended(Event(event="collect_error", text="odd"), status=2),
            Verdict.BROKEN,
            PhaseFailed(phase=Phase.COLLECTION, text="odd"),
        ),
        (
            _ended(Event(event="collect_skip", reason="not here")),
            Verdict.SKIP,
            Skipped(said="not here"),
        ),
        (
            _ended(status=4, tail="a\nERROR: usage: /copy/x\nb"),
            Verdict.BROKEN,
            CannotRun(said="usage: /project/x"),
        ),
        (
            _ended(status=1, tail="E  first\nE   last\n  \nsee above"),
            Verdict.BROKEN,
            CannotRun(said="last"),
        ),
        (_ended(status=1, tail="first\n last \n \n"), Verdict.BROKEN, CannotRun(said="last")),
        (_ended(status=-11), Verdict.CRASH, ProcessEnded(status=-11, collecting=True)),
        (_ended(status=-11, tail="x"), Verdict.CRASH, ProcessEnded(status=-11, collecting=True)),
        (_ended(status=3), Verdict.BROKEN, ProcessEnded(status=3, collecting=True)),
        (_ended(status=0, tail="x"), Verdict.BROKEN, ProcessEnded(status=0, collecting=True)),
        (
            _ended(Event(event="collected"), Event(event="finish", code=0)),
            Verdict.BROKEN,
            NoTest(),
        ),
        (
            _ended(Event(event="collected"), Event(event="finish", code=4), status=4),
            Verdict.BROKEN,
            CannotRun(),
        ),
        (
            _ended(Event(event="finish", code=5), status=5, tail="odd"),
            Verdict.BROKEN,
            CannotRun(said="odd"),
        ),
        (_ended(Event(event="interrupted")), Verdict.BROKEN, RunBrokenOff(by="interrupt")),
        (
            _ended(Event(event="collected"), Event(event="finish", code=5), status=5),
            Verdict.BROKEN,
            NoTest(),
        ),
        (
            _ended(Event(event="finish", code=4), status=4),
            Verdict.BROKEN,
            CannotRun(),
        ),
    ],
)
def test_why_nothing_was_begun(ended: Ended, verdict: Verdict, cause: Cause) -> None:
    outcome = not_begun(SCENE, ended)
    assert (outcome.verdict, outcome.cause) == (verdict, cause)


def test_a_process_came_through_when_it_finished_or_another_item_ended_it() -> None:
    def item(node: str) -> tuple[Event, Event]:
        return Event(event="item", node=node), Event(event="item_end", node=node)

    finish = Event(event="finish")
    assert came_through(_ended(*item("a"), finish))
    assert not came_through(_ended(*item("a"), finish, timed_out=True))
    assert not came_through(_ended(*item("a")))
    assert not came_through(_ended(*item("a"), *item("b")))
    assert came_through(_ended(*item("a"), item("b")[0]))
    assert came_through(_ended(*item("a"), item("b")[0], timed_out=True))
    assert not came_through(_ended())


@pytest.mark.parametrize(
    ("ended", "verdict", "cause"),
    [
        (_ended(timed_out=True), Verdict.TIMEOUT, TookTooLong(what=Timed.TEST, seconds=60.0)),
        (
            _ended(
                Event(event="item"),
                Event(
                    event="interrupted", raised=ToldException(type="KeyboardInterrupt", message="")
                ),
            ),
            Verdict.BROKEN,
            RunBrokenOff(by="KeyboardInterrupt"),
        ),
        (
            _ended(
                Event(event="internal_error", text="no exception told"),
                Event(
                    event="internal_error", raised=ToldException(type="KeyError", message="/copy/x")
                ),
            ),
            Verdict.BROKEN,
            PytestFailed(),
        ),
        (
            _ended(Event(event="item"), status=-9),
            Verdict.CRASH,
            ProcessEnded(status=-9),
        ),
        (
            _ended(Event(event="item"), status=0),
            Verdict.CRASH,
            ProcessEnded(status=0),
        ),
    ],
)
def test_why_an_item_did_not_come_to_its_end(ended: Ended, verdict: Verdict, cause: Cause) -> None:
    outcome = cut_short(SCENE, ended)
    assert (outcome.verdict, outcome.cause) == (verdict, cause)
