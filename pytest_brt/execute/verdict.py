"""From what a process told, and how it ended, to what its tests did; nothing else is asked.

Rules: the design's classification of outcomes. A PASS needs every phase, in order, from one
process, with no exception seen and an exit status that agrees; whatever a test prints
counts for nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from pytest_brt.execute.events import Event
from pytest_brt.execute.outcome import SANDBOX, Outcome, Scene, broken, of_reports, shortly
from pytest_brt.execute.process import Ended
from pytest_brt.types import TestRun, Verdict

#: Characters.
REASON_LIMIT = 240
OUTPUT_LIMIT = 4000
#: How the reason begins where a changed module was not what the test got.
OTHER_CODE = "other code than the patched"


def verdicts(scene: Scene, ended: Ended) -> tuple[TestRun, ...]:
    """Return what the tests of one process did, one run per item, at least one."""
    events = ended.events
    odd = _oddity(events)
    items = _items(events)
    if not items:
        run = _without_items(scene, ended)
        return (_tampered(run, odd),) if odd else (run,)
    seen = _seen(scene, ended)
    runs = tuple(_item(scene, seen, node, told) for node, told in items.items())
    if odd:
        return tuple(_tampered(run, odd) for run in runs)
    finish = next((event for event in events if event.event == "finish"), None)
    if finish is not None and not ended.timed_out and finish.code != ended.status:
        why = f"{ended.manner()}, but pytest said {finish.code}"
        return tuple(_tampered(run, why) for run in runs)
    return tuple(_verified(scene, seen, run) for run in runs) if scene.touched else runs


@dataclass(frozen=True, slots=True, kw_only=True)
class _Seen:
    """What the whole process says about each of its items."""

    #: The outcome of an item that did not come to its end.
    cut: Outcome
    came_through: bool
    finished: bool
    tail: str
    touched: Event | None
    #: Whether each item ran a changed line itself.
    lines: dict[str, bool | None]
    #: CPU seconds until the items were known.
    loading: float


def _seen(scene: Scene, ended: Ended) -> _Seen:
    ends = (event for event in reversed(ended.events) if event.event == "item_end")
    return _Seen(
        cut=cut_short(scene, ended),
        came_through=came_through(ended),
        finished=any(event.event == "finish" for event in ended.events),
        tail=scene.places.text(ended.tail)[-OUTPUT_LIMIT:],
        touched=next((event for event in ended.events if event.event == "touched"), None),
        lines={end.node.partition("::")[2]: end.lines for end in ends},
        loading=sum(event.cpu for event in ended.events if event.event == "collected"),
    )


def _oddity(events: Sequence[Event]) -> str:
    """Return what no probe of ours does, "" where nothing is amiss."""
    if any(event.event == "trap" for event in events):
        return "events made to end their reader"
    if len({event.pid for event in events if event.event != "garbage"}) > 1:
        return "events from two processes"
    return ""


def _verified(scene: Scene, seen: _Seen, run: TestRun) -> TestRun:
    """Return the run, or INVALID where other code than the patched was imported."""
    told = seen.touched
    if told is None:
        if run.verdict is not Verdict.PASS or not seen.finished:
            return run
        return _invalid(run, "the process did not tell which code it loaded")
    for path, state, origin in told.states:
        if state == "other":
            where = _line(scene.places.text(origin))
            return _invalid(run, f"{OTHER_CODE} {path} was imported: {where}")
    exercised: bool | None = told.lines
    if not any(state == "patched" for _, state, _ in told.states):
        exercised = False
    elif exercised and not scene.target.node:
        exercised = seen.lines.get(run.node)
    reason = run.reason
    if exercised is False and run.verdict in (Verdict.PASS, Verdict.FAIL):
        reason = _line(f"{reason}; patch not exercised")
    return replace(run, exercised=exercised, reason=reason)


def _invalid(run: TestRun, why: str) -> TestRun:
    return replace(run, verdict=Verdict.INVALID, reason=why)


def _items(events: Iterable[Event]) -> dict[str, list[Event]]:
    """Return the events of each item that was begun, by node id."""
    items: dict[str, list[Event]] = {}
    for event in events:
        if event.event == "item":
            items.setdefault(event.node, [])
        elif event.event in ("report", "item_end"):
            items.setdefault(event.node, []).append(event)
    return items


def _item(scene: Scene, seen: _Seen, node: str, told: Sequence[Event]) -> TestRun:
    reports = [event for event in told if event.event == "report"]
    run = TestRun(
        test=scene.target.id,
        node=node.partition("::")[2] or node,
        verdict=Verdict.BROKEN,
        reason="",
        seconds=sum(report.duration for report in reports),
        used_project=next((r.used for r in reversed(reports) if r.when == "call"), None),
        output=next((r.output for r in reversed(reports) if r.output), "")[-OUTPUT_LIMIT:],
        ran=next((event.ran for event in told if event.event == "item_end"), ()),
        cpu=sum(event.cpu for event in told if event.event == "item_end"),
        loading=seen.loading,
    )
    outcome = of_reports(scene, reports)
    ended_well = any(event.event == "item_end" for event in told)
    if not ended_well or (outcome.verdict is Verdict.PASS and not seen.came_through):
        outcome = seen.cut
    run = _with_outcome(run, outcome)
    if run.output or run.verdict is Verdict.PASS:
        return run
    return replace(run, output=seen.tail)


def _with_outcome(run: TestRun, outcome: Outcome) -> TestRun:
    return replace(
        run, verdict=outcome.verdict, reason=_line(outcome.reason), raised=outcome.raised
    )


def _without_items(scene: Scene, ended: Ended) -> TestRun:
    """Return the one run of a target of which no item was begun."""
    run = TestRun(
        test=scene.target.id,
        node=scene.target.node,
        verdict=Verdict.BROKEN,
        reason="",
        seconds=ended.seconds,
        output=scene.places.text(ended.tail)[-OUTPUT_LIMIT:],
    )
    return _with_outcome(run, not_begun(scene, ended))


def _tampered(run: TestRun, why: str) -> TestRun:
    return replace(run, verdict=Verdict.TAMPERED, reason=why)


def _line(text: str) -> str:
    """Return a text on one line, cut to size."""
    line = " ".join(text.split())
    return line if len(line) <= REASON_LIMIT else line[: REASON_LIMIT - 1] + "…"


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
