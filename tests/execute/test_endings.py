from __future__ import annotations

import pytest

from pytest_brt.execute.endings import missing_nodes, not_begun
from pytest_brt.execute.events import Event
from pytest_brt.execute.outcome import Scene
from pytest_brt.execute.places import Places
from pytest_brt.execute.process import Ended
from pytest_brt.execute.row import TestTarget
from pytest_brt.types import Verdict

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
    ("ended", "verdict", "reason"),
    [
        (_ended(timed_out=True), Verdict.TIMEOUT, "did not end while being collected"),
        (
            _ended(Event(event="sandbox_error", text="no mount"), status=1),
            Verdict.INVALID,
            "sandbox: could not be set up: no mount",
        ),
        (
            _ended(Event(event="collect_error", text="odd"), status=2),
            Verdict.BROKEN,
            "cannot be collected: odd",
        ),
        (_ended(Event(event="collect_skip", reason="not here")), Verdict.SKIP, "not here"),
        (
            _ended(status=4, tail="a\nERROR: usage: /copy/x\nb"),
            Verdict.BROKEN,
            "cannot be run: usage: /project/x",
        ),
        (_ended(status=-11), Verdict.CRASH, "while being collected"),
        (
            _ended(Event(event="collected"), Event(event="finish", code=5), status=5),
            Verdict.BROKEN,
            "no test found",
        ),
        (
            _ended(Event(event="finish", code=4), status=4),
            Verdict.BROKEN,
            "cannot be run: no such test",
        ),
    ],
)
def test_why_nothing_was_begun(ended: Ended, verdict: Verdict, reason: str) -> None:
    outcome = not_begun(SCENE, ended)
    assert outcome.verdict is verdict
    assert outcome.reason.endswith(reason)
