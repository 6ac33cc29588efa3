"""How a process ended, and how far it came."""

from __future__ import annotations

from pytest_brt.execute.outcome import SANDBOX, Outcome, Scene, broken, shortly
from pytest_brt.execute.process import Ended
from pytest_brt.types import Verdict


def missing_nodes(ended: Ended) -> tuple[str, ...]:
    """Return the node ids that were collected and never begun."""
    begun = {event.node for event in ended.events if event.event == "item"}
    for event in ended.events:
        if event.event == "collected":
            return tuple(node for node in event.nodes if node not in begun)
    return ()


def came_through(ended: Ended) -> bool:
    """Return whether the process finished, or went on to another item that ended it."""
    if any(event.event == "finish" for event in ended.events):
        return not ended.timed_out
    begun = [event.node for event in ended.events if event.event == "item"]
    done = {event.node for event in ended.events if event.event == "item_end"}
    return bool(begun) and begun[-1] not in done


def cut_short(scene: Scene, ended: Ended) -> Outcome:
    """Return the outcome of an item that was begun and did not come to its end."""
    if ended.timed_out:
        return Outcome(Verdict.TIMEOUT, f"did not end within {scene.seconds:g} s")
    for event in ended.events:
        if event.event == "interrupted":
            kind = event.raised.type if event.raised else "interrupt"
            return Outcome(Verdict.BROKEN, f"broke off the run ({kind})")
        if event.event == "internal_error" and event.raised:
            raised = scene.places.raised(event.raised)
            return Outcome(Verdict.BROKEN, f"pytest itself failed: {shortly(raised)}", raised)
    return Outcome(Verdict.CRASH, f"{ended.manner()} before the test's end")


def not_begun(scene: Scene, ended: Ended) -> Outcome:
    """Return the outcome of a target of which no item was begun."""
    if ended.timed_out:
        return Outcome(Verdict.TIMEOUT, "did not end while being collected")
    for event in ended.events:
        if event.event == "sandbox_error":
            return Outcome(Verdict.INVALID, f"{SANDBOX}: could not be set up: {event.text}")
        if event.event == "collect_error":
            return broken(scene, event, "cannot be collected")
        if event.event == "collect_skip":
            return Outcome(Verdict.SKIP, event.reason)
        if event.event in ("interrupted", "internal_error"):
            return cut_short(scene, ended)
    return _ended_early(scene, ended)


def _ended_early(scene: Scene, ended: Ended) -> Outcome:
    """Return the outcome where nothing was begun, and no event says why."""
    finish = next((event for event in ended.events if event.event == "finish"), None)
    said = _last_line(scene.places.text(ended.tail))
    if finish is None:
        if ended.status > 0 and ended.tail:
            return Outcome(Verdict.BROKEN, f"cannot be run: {said}")
        kind = Verdict.CRASH if ended.status < 0 else Verdict.BROKEN
        return Outcome(kind, f"{ended.manner()} while being collected")
    if any(event.event == "collected" for event in ended.events) and finish.code in (0, 5):
        return Outcome(Verdict.BROKEN, "no test found")
    return Outcome(Verdict.BROKEN, f"cannot be run: {said or 'no such test'}")


def _last_line(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    errors = [line for line in lines if line.startswith(("ERROR:", "E  "))]
    chosen = (errors or lines)[-1:]
    return chosen[0].removeprefix("ERROR:").removeprefix("E  ").strip() if chosen else ""
