"""From what a process told, and how it ended, to what its tests did; nothing else is asked.

Rules: the design's classification of outcomes. A PASS needs every phase, in order, from one
process, with no exception seen and an exit status that agrees; whatever a test prints
counts for nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from pytest_brt.execute.events import Event, Told
from pytest_brt.execute.places import Places
from pytest_brt.execute.process import Ended
from pytest_brt.execute.row import TestTarget
from pytest_brt.types import Raised, TestRun, Verdict

#: How the reason of a FAIL begins when the test and the project disagree about a name.
API_MISMATCH = "api-mismatch"
#: How a reason begins when the sandbox, not the project, made the test fail. Such a
#: failure reproduces nothing.
SANDBOX = "sandbox"
REASON_LIMIT = 240
OUTPUT_LIMIT = 4000

#: Which denials each level can be the cause of; elsewhere they are the test's own affair.
_DENIALS = {
    "none": frozenset({"MemoryError", "EFBIG", "EMFILE"}),
    "process": frozenset({"MemoryError", "EFBIG", "EMFILE", "EAGAIN", "ENOMEM"}),
}
_ALL_DENIALS = _DENIALS["process"] | {
    "EROFS", "EACCES", "EPERM", "ENETUNREACH", "ENETDOWN", "EADDRNOTAVAIL", "ENOSPC",
    "EDQUOT", "gaierror",
}  # fmt: skip

#: Exceptions that, raised in the test's own frame, say that the test is wrong.
_OWN_FAULTS = frozenset(
    {"NameError", "ImportError", "SyntaxError", "SystemExit", "_pytest.fixtures.FixtureLookupError"}
)

#: The verdict of several items that count as one: the first of these that occurs.
_WORST = (
    Verdict.TAMPERED, Verdict.INVALID, Verdict.CRASH, Verdict.TIMEOUT, Verdict.FAIL,
    Verdict.BROKEN, Verdict.PASS, Verdict.XFAIL, Verdict.SKIP,
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Scene:
    """What must be known besides the events."""

    target: TestTarget
    places: Places
    #: Isolation level, see `Engine.level`.
    level: str = "process"
    #: Seconds a test was given.
    seconds: float = 60.0
    #: Modules of the project were changed, and the process must have told what it loaded.
    touched: bool = False


def verdicts(scene: Scene, ended: Ended) -> tuple[TestRun, ...]:
    """Return what the tests of one process did, one run per item, at least one."""
    events = ended.events
    pids = {event.pid for event in events if event.event != "garbage"}
    items = _items(events)
    if not items:
        run = _without_items(scene, ended)
        return (_tampered(run, "events from two processes"),) if len(pids) > 1 else (run,)
    runs = tuple(_item(scene, ended, node, told) for node, told in items.items())
    if len(pids) > 1:
        return tuple(_tampered(run, "events from two processes") for run in runs)
    finish = next((event for event in events if event.event == "finish"), None)
    if finish is not None and not ended.timed_out and finish.code != ended.status:
        why = f"{ended.manner()}, but pytest said {finish.code}"
        return tuple(_tampered(run, why) for run in runs)
    return tuple(_verified(scene, ended, run) for run in runs) if scene.touched else runs


def _verified(scene: Scene, ended: Ended, run: TestRun) -> TestRun:
    """Return the run, or INVALID where other code than the patched was imported."""
    told = next((event for event in ended.events if event.event == "touched"), None)
    if told is None:
        if run.verdict is not Verdict.PASS or not any(e.event == "finish" for e in ended.events):
            return run
        return _invalid(run, "the process did not tell which code it loaded")
    for path, state, origin in told.states:
        if state == "other":
            where = _line(scene.places.text(origin))
            return _invalid(run, f"other code than the patched {path} was imported: {where}")
    exercised: bool | None = told.lines
    if not any(state == "patched" for _, state, _ in told.states):
        exercised = False
    elif exercised and not scene.target.node:
        exercised = _own_lines(ended, run)
    reason = run.reason
    if exercised is False and run.verdict in (Verdict.PASS, Verdict.FAIL):
        reason = _line(f"{reason}; patch not exercised")
    return replace(run, exercised=exercised, reason=reason)


def _own_lines(ended: Ended, run: TestRun) -> bool | None:
    """Return whether a test, of several in one process, ran a changed line itself."""
    ends = (event for event in ended.events if event.event == "item_end")
    return next((end.lines for end in ends if end.node.partition("::")[2] == run.node), None)


def _invalid(run: TestRun, why: str) -> TestRun:
    return replace(run, verdict=Verdict.INVALID, reason=why)


def merge(runs: Sequence[TestRun], target: TestTarget) -> TestRun:
    """Return one run for all items of a target that names a single test."""
    found = worst(runs)
    return replace(found, node=target.node or found.node)


def worst(runs: Sequence[TestRun]) -> TestRun:
    """Return the run of several, as of one test with several parameters, that says most ill.

    Its seconds are those of all.
    """
    found = min(runs, key=lambda run: _WORST.index(run.verdict))
    return replace(found, seconds=sum(run.seconds for run in runs))


def finished_nodes(ended: Ended) -> frozenset[str]:
    """Return the node ids that need not run again: begun, whether they came through or not."""
    return frozenset(event.node for event in ended.events if event.event == "item")


def missing_nodes(ended: Ended) -> tuple[str, ...]:
    """Return the node ids that were collected and never begun."""
    begun = finished_nodes(ended)
    for event in ended.events:
        if event.event == "collected":
            return tuple(node for node in event.nodes if node not in begun)
    return ()


def _items(events: Iterable[Event]) -> dict[str, list[Event]]:
    """Return the events of each item that was begun, by node id."""
    items: dict[str, list[Event]] = {}
    for event in events:
        if event.event == "item":
            items.setdefault(event.node, [])
        elif event.event in ("report", "item_end"):
            items.setdefault(event.node, []).append(event)
    return items


def _item(scene: Scene, ended: Ended, node: str, told: Sequence[Event]) -> TestRun:
    reports = [event for event in told if event.event == "report"]
    run = TestRun(
        test=scene.target.id,
        node=node.partition("::")[2] or node,
        verdict=Verdict.BROKEN,
        reason="",
        seconds=sum(report.duration for report in reports),
        output=next((r.output for r in reversed(reports) if r.output), "")[-OUTPUT_LIMIT:],
    )
    verdict, reason, raised = _outcome(scene, reports)
    ended_well = any(event.event == "item_end" for event in told)
    if not ended_well or (verdict is Verdict.PASS and not _came_through(ended)):
        verdict, reason, raised = _cut_short(scene, ended)
    output = run.output or scene.places.text(ended.tail)[-OUTPUT_LIMIT:]
    if verdict is Verdict.PASS:
        output = run.output
    return replace(run, verdict=verdict, reason=_line(reason), raised=raised, output=output)


def _came_through(ended: Ended) -> bool:
    """Return whether the process finished, or went on to another item that ended it."""
    if any(event.event == "finish" for event in ended.events):
        return not ended.timed_out
    begun = [event.node for event in ended.events if event.event == "item"]
    done = {event.node for event in ended.events if event.event == "item_end"}
    return bool(begun) and begun[-1] not in done


def _cut_short(scene: Scene, ended: Ended) -> tuple[Verdict, str, Raised | None]:
    if ended.timed_out:
        return Verdict.TIMEOUT, f"did not end within {scene.seconds:g} s", None
    for event in ended.events:
        if event.event == "interrupted":
            kind = event.raised.type if event.raised else "interrupt"
            return Verdict.BROKEN, f"broke off the run ({kind})", None
        if event.event == "internal_error" and event.raised:
            raised = scene.places.raised(event.raised)
            return Verdict.BROKEN, f"pytest itself failed: {_short(raised)}", raised
    return Verdict.CRASH, f"{ended.manner()} before the test's end", None


def _outcome(scene: Scene, reports: Sequence[Event]) -> tuple[Verdict, str, Raised | None]:
    """Return the verdict that the reports of one item's phases amount to."""
    phases = {
        when: [r for r in reports if r.when == when] for when in ("setup", "call", "teardown")
    }
    setup, calls, teardown = phases["setup"], phases["call"], phases["teardown"]
    for report in reports:
        odd = report.outcome == "passed" and report.raised is not None
        if odd or report.outcome not in ("passed", "failed", "skipped"):
            return (
                Verdict.TAMPERED,
                f"{report.when} reported as {report.outcome!r} though it raised",
                None,
            )
    for report in (*setup, *calls):
        if report.outcome == "failed":
            if report.when == "call":
                return _failure(scene, report)
            return _wrong(scene, report, "setup failed")
    for report in (*setup, *calls):
        if report.outcome == "skipped":
            if report.xfail:
                return Verdict.XFAIL, report.wasxfail or "expected to fail", None
            return Verdict.SKIP, report.skip or "skipped", None
    for report in teardown:
        if report.outcome == "failed":
            return _wrong(scene, report, "teardown failed")
    if [report.when for report in reports if report.outcome == "passed"][:1] != ["setup"] or not (
        calls and len(teardown) == 1 and reports[-1] is teardown[0]
    ):
        return Verdict.TAMPERED, "phases are missing or out of order", None
    if calls[-1].xfail:
        return Verdict.PASS, "passed, though marked as expected to fail", None
    return Verdict.PASS, "passed", None


def _wrong(scene: Scene, report: Event, what: str) -> tuple[Verdict, str, Raised | None]:
    if report.raised is None:
        return Verdict.BROKEN, f"{what}: {report.text}", None
    raised = scene.places.raised(report.raised)
    prefix = f"{SANDBOX}: {report.raised.denied}: " if _is_denial(scene, report.raised) else ""
    return Verdict.BROKEN, f"{prefix}{what}: {_short(raised)}", raised


def _failure(scene: Scene, report: Event) -> tuple[Verdict, str, Raised | None]:
    """Return the verdict of a test body that failed."""
    told = report.raised
    if told is None:
        return Verdict.FAIL, report.text or "failed", None
    raised = scene.places.raised(told)
    where = deepest(scene.places, told)
    short = _short(raised)
    if _is_denial(scene, told):
        return Verdict.FAIL, f"{SANDBOX}: {told.denied}: {short}", raised
    own = where is None or where == scene.target.path or _own_code(raised, where)
    if own:
        if {told.type, *told.bases} & _OWN_FAULTS:
            return Verdict.BROKEN, f"error in the test itself: {short}", raised
        if told.about_project:
            return Verdict.FAIL, f"{API_MISMATCH}: {short}", raised
        return Verdict.FAIL, short, raised
    last = [frame for frame in raised.frames if frame.path == where][-1]
    return Verdict.FAIL, f"{short} ({last.path}:{last.line})", raised


def _own_code(raised: Raised, where: str) -> bool:
    return not any(frame.project for frame in raised.frames if frame.path == where)


def deepest(places: Places, told: Told) -> str | None:
    """Return the file of the innermost frame that is not a library's, relative; None if none."""
    for path, _, _ in reversed(told.frames):
        name = places.relative(path)
        if name is not None:
            return name
    return None


def _is_denial(scene: Scene, told: Told) -> bool:
    return told.denied in _DENIALS.get(scene.level, _ALL_DENIALS)


def _without_items(scene: Scene, ended: Ended) -> TestRun:
    """Return the one run of a target of which no item was begun."""
    node = scene.target.node
    verdict, reason, raised = _not_begun(scene, ended)
    return TestRun(
        test=scene.target.id,
        node=node,
        verdict=verdict,
        reason=_line(reason),
        raised=raised,
        seconds=ended.seconds,
        output=scene.places.text(ended.tail)[-OUTPUT_LIMIT:],
    )


def _not_begun(scene: Scene, ended: Ended) -> tuple[Verdict, str, Raised | None]:
    if ended.timed_out:
        return Verdict.TIMEOUT, "did not end while being collected", None
    for event in ended.events:
        if event.event == "sandbox_error":
            return Verdict.INVALID, f"{SANDBOX}: could not be set up: {event.text}", None
        if event.event == "collect_error":
            told = event.raised
            if told is None:
                return Verdict.BROKEN, f"cannot be collected: {event.text}", None
            raised = scene.places.raised(told)
            prefix = f"{SANDBOX}: {told.denied}: " if _is_denial(scene, told) else ""
            return Verdict.BROKEN, f"{prefix}cannot be collected: {_short(raised)}", raised
        if event.event == "collect_skip":
            return Verdict.SKIP, event.reason, None
        if event.event in ("interrupted", "internal_error"):
            return _cut_short(scene, ended)
    finish = next((event for event in ended.events if event.event == "finish"), None)
    if finish is None:
        if ended.status > 0 and ended.tail:
            return (
                Verdict.BROKEN,
                f"cannot be run: {_last_line(scene.places.text(ended.tail))}",
                None,
            )
        kind = Verdict.CRASH if ended.status < 0 else Verdict.BROKEN
        return kind, f"{ended.manner()} while being collected", None
    if any(event.event == "collected" for event in ended.events) and finish.code in (0, 5):
        return Verdict.BROKEN, "no test found", None
    return (
        Verdict.BROKEN,
        f"cannot be run: {_last_line(scene.places.text(ended.tail)) or 'no such test'}",
        None,
    )


def _tampered(run: TestRun, why: str) -> TestRun:
    return replace(run, verdict=Verdict.TAMPERED, reason=why)


def _short(raised: Raised) -> str:
    first = raised.message.strip().splitlines()[:1]
    return f"{raised.type}: {first[0]}" if first else raised.type


def _last_line(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    errors = [line for line in lines if line.startswith(("ERROR:", "E  "))]
    chosen = (errors or lines)[-1:]
    return chosen[0].removeprefix("ERROR:").removeprefix("E  ").strip() if chosen else ""


def _line(text: str) -> str:
    """Return a text on one line, cut to size."""
    line = " ".join(text.split())
    return line if len(line) <= REASON_LIMIT else line[: REASON_LIMIT - 1] + "…"
