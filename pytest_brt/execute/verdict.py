"""From what a process told, and how it ended, to what its tests did; nothing else is asked.

Rules: the design's classification of outcomes. A PASS needs every phase, in order, from one
process, with no exception seen and an exit status that agrees; whatever a test prints
counts for nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from pytest_brt.execute.engine import TestTarget
from pytest_brt.execute.process import Ended, Event, Places, ToldException
from pytest_brt.types import Cause, Raised, TestRun, Verdict
from pytest_brt.types.cause import (
    NO_LIBRARY,
    BodyFailed,
    BodyRaised,
    CannotRun,
    CodeUntold,
    ExitDiffers,
    ExpectedFailure,
    NoTest,
    NotStarted,
    Odd,
    Oddity,
    OtherCode,
    OwnError,
    Passed,
    Phase,
    PhaseFailed,
    ProcessEnded,
    PytestFailed,
    RaisedYetPassed,
    RunBrokenOff,
    Skipped,
    Timed,
    TookTooLong,
)

#: Characters.
OUTPUT_LIMIT = 4000

#: Which denials each level can be the cause of; elsewhere they are the test's own affair.
_DENIALS = {
    "none": frozenset({"MemoryError", "EFBIG", "EMFILE"}),
    "process": frozenset(
        {"MemoryError", "EFBIG", "EMFILE", "ENFILE", "EAGAIN", "ENOMEM", "ETOOMANYREFS"}
    ),
}
_ALL_DENIALS = _DENIALS["process"] | {
    "EROFS", "EACCES", "EPERM", "ENETUNREACH", "ENETDOWN", "EADDRNOTAVAIL", "ENOSPC",
    "EDQUOT", "gaierror", NO_LIBRARY,
}  # fmt: skip


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
    #: Which lines of some files each test executes was to be told.
    watch: bool = False

    def outcome(self, verdict: Verdict, cause: Cause, raised: Raised | None = None) -> TestRun:
        """Return a run of the target of which no more is known."""
        return TestRun(
            test=self.target.id,
            node=self.target.node,
            verdict=verdict,
            cause=cause,
            raised=raised,
        )


def broken(scene: Scene, event: Event, phase: Phase) -> TestRun:
    """Return the outcome of a test that never got to its body, or through its teardown."""
    if event.raised is None:
        return scene.outcome(Verdict.BROKEN, PhaseFailed(phase=phase, text=event.text))
    denied = event.raised.denied if is_denial(scene, event.raised) else ""
    raised = scene.places.raised(event.raised)
    return scene.outcome(Verdict.BROKEN, PhaseFailed(phase=phase, denied=denied), raised)


def is_denial(scene: Scene, told: ToldException) -> bool:
    """Return whether the exception comes from what the sandbox does not allow."""
    return told.denied in _DENIALS.get(scene.level, _ALL_DENIALS)


#: Exceptions that, raised in the test's own frame, say that the test is wrong.
_OWN_FAULTS = frozenset(
    {"NameError", "ImportError", "SyntaxError", "SystemExit", "_pytest.fixtures.FixtureLookupError"}
)


def of_reports(scene: Scene, reports: Sequence[Event]) -> TestRun:
    """Return the verdict that the reports of one item's phases amount to."""
    setup, calls, teardown = (
        [r for r in reports if r.when == when] for when in ("setup", "call", "teardown")
    )
    for report in reports:
        odd = report.outcome == "passed" and report.raised is not None
        if odd or report.outcome not in ("passed", "failed", "skipped"):
            cause = RaisedYetPassed(when=report.when, outcome=report.outcome)
            return scene.outcome(Verdict.TAMPERED, cause)
    for report in (*setup, *calls):
        if report.outcome == "failed":
            if report.when == "call":
                return _failure(scene, report)
            return broken(scene, report, Phase.SETUP)
    for report in (*setup, *calls):
        if report.outcome == "skipped":
            if report.xfail:
                return scene.outcome(Verdict.XFAIL, ExpectedFailure(said=report.wasxfail))
            return scene.outcome(Verdict.SKIP, Skipped(said=report.skip))
    for report in teardown:
        if report.outcome == "failed":
            return broken(scene, report, Phase.TEARDOWN)
    if not calls or reports[0].when != "setup" or [reports[-1]] != teardown:
        return scene.outcome(Verdict.TAMPERED, Odd(oddity=Oddity.PHASES))
    return scene.outcome(Verdict.PASS, Passed(marked_xfail=calls[-1].xfail))


def _failure(scene: Scene, report: Event) -> TestRun:
    """Return the verdict of a test body that failed."""
    told = report.raised
    if told is None:
        return scene.outcome(Verdict.FAIL, BodyFailed(text=_said(report.text)))
    raised = scene.places.raised(told)
    if is_denial(scene, told):
        return scene.outcome(Verdict.FAIL, BodyRaised(denied=told.denied), raised)
    paths = (scene.places.relative(path) for path, _, _ in reversed(told.frames))
    # The file of the innermost frame that is not a library's.
    where = next(filter(None, paths), None)
    ours = [frame for frame in raised.frames if frame.path == where]
    if where == scene.target.path or not any(frame.project for frame in ours):
        if {told.type, *told.bases} & _OWN_FAULTS:
            return scene.outcome(Verdict.BROKEN, OwnError(), raised)
        return scene.outcome(Verdict.FAIL, BodyRaised(mismatch=told.about_project), raised)
    last = ours[-1]
    return scene.outcome(Verdict.FAIL, BodyRaised(path=last.path, line=last.line), raised)


def _said(text: str) -> str:
    r"""Return what a failure that is only known as text comes to, its exception first.

    >>> _said("    walk(3)\nE   ValueError: 3\nE     is odd\npkg/core.py:4: ValueError")
    'ValueError: 3 (pkg/core.py:4: ValueError)'
    """
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    marked = [line[1:].strip() for line in lines if line.startswith("E  ")]
    return f"{marked[0]} ({lines[-1]})" if marked else text


def verdicts(scene: Scene, ended: Ended) -> tuple[TestRun, ...]:
    """Return what the tests of one process did, one run per item, at least one."""
    items = _items(ended.events)
    runs = tuple(_runs(scene, ended, items))
    if not items:
        output = scene.places.text(ended.tail)[-OUTPUT_LIMIT:]
        runs = (replace(not_begun(scene, ended), seconds=ended.seconds, output=output),)
    odd = _oddity(ended, begun=bool(items))
    if odd is not None:
        return tuple(replace(run, verdict=Verdict.TAMPERED, cause=odd) for run in runs)
    return runs


def _oddity(ended: Ended, *, begun: bool) -> Cause | None:
    """Return what no probe of ours does, if anything; `begun` says if an item was."""
    finish = ended.first("finish")
    if ended.first("trap"):
        return Odd(oddity=Oddity.TRAP)
    if len({event.pid for event in ended.events if event.event != "garbage"}) > 1:
        return Odd(oddity=Oddity.TWO_PROCESSES)
    if begun and finish and not ended.timed_out and finish.code != ended.status:
        return ExitDiffers(status=ended.status, announced=finish.code)
    return None


@dataclass(slots=True, kw_only=True)
class _Item:
    """What was told of one item of pytest that was begun."""

    node: str
    reports: list[Event] = field(default_factory=list)
    #: That it was through with all its phases.
    end: Event | None = None


def _items(events: Iterable[Event]) -> Sequence[_Item]:
    """Return the items that were begun, in order."""
    items: dict[str, _Item] = {}
    for event in events:
        if event.event in ("item", "report", "item_end"):
            item = items.setdefault(event.node, _Item(node=event.node))
            if event.event == "report":
                item.reports.append(event)
            elif event.event == "item_end":
                item.end = item.end or event
    return tuple(items.values())


def _runs(scene: Scene, ended: Ended, items: Iterable[_Item]) -> Iterator[TestRun]:
    """Yield what each item did."""
    through, cut = came_through(ended), cut_short(scene, ended)
    collected, touched = ended.first("collected"), ended.first("touched")
    tail = scene.places.text(ended.tail)[-OUTPUT_LIMIT:]
    for item in items:
        reports, end = item.reports, item.end
        outcome = of_reports(scene, reports)
        if end is None or (outcome.verdict is Verdict.PASS and not through):
            outcome = cut
        said = "" if outcome.verdict is Verdict.PASS else tail
        run = replace(
            outcome,
            node=item.node.partition("::")[2] or item.node,
            seconds=sum(report.duration for report in reports),
            used_project=next((r.used for r in reversed(reports) if r.when == "call"), None),
            output=next((r.output for r in reversed(reports) if r.output), said)[-OUTPUT_LIMIT:],
            ran=end.ran if end else (),
            exercised=end.lines if end and scene.watch else None,
            cpu=end.cpu if end else 0.0,
            loading=collected.cpu if collected else 0.0,
        )
        if touched and scene.touched:
            run = _verified(scene, touched, end.lines if end else None, run)
        elif scene.touched and run.verdict is Verdict.PASS and ended.first("finish"):
            run = _invalid(run, CodeUntold())
        yield run


def _verified(scene: Scene, touched: Event, lines: bool | None, run: TestRun) -> TestRun:
    """Return the run, or INVALID where other code than the patched was imported.

    `lines` says whether the item itself ran a changed line.
    """
    for path, state, origin in touched.states:
        if state == "other":
            return _invalid(run, OtherCode(path=path, origin=scene.places.text(origin)))
    exercised: bool | None = touched.lines
    if not any(state == "patched" for _, state, _ in touched.states):
        exercised = False
    elif exercised and not scene.target.node:
        exercised = lines
    return replace(run, exercised=exercised)


def _invalid(run: TestRun, cause: Cause) -> TestRun:
    return replace(run, verdict=Verdict.INVALID, cause=cause)


def missing_nodes(ended: Ended) -> tuple[str, ...]:
    """Return the node ids that were collected and never begun."""
    collected, begun = ended.first("collected"), set(ended.begun)
    return tuple(node for node in collected.nodes if node not in begun) if collected else ()


def came_through(ended: Ended) -> bool:
    """Return whether the process finished, or went on to another item that ended it."""
    if ended.first("finish"):
        return not ended.timed_out
    done = {event.node for event in ended.events if event.event == "item_end"}
    return bool(ended.begun) and ended.begun[-1] not in done


def cut_short(scene: Scene, ended: Ended) -> TestRun:
    """Return the outcome of an item that was begun and did not come to its end."""
    if ended.timed_out:
        return scene.outcome(Verdict.TIMEOUT, TookTooLong(what=Timed.TEST, seconds=scene.seconds))
    for event in ended.events:
        if event.event == "interrupted":
            kind = event.raised.type if event.raised else "interrupt"
            return scene.outcome(Verdict.BROKEN, RunBrokenOff(by=kind))
        if event.event == "internal_error" and event.raised:
            raised = scene.places.raised(event.raised)
            return scene.outcome(Verdict.BROKEN, PytestFailed(), raised)
    return scene.outcome(Verdict.CRASH, ProcessEnded(status=ended.status))


def not_begun(scene: Scene, ended: Ended) -> TestRun:
    """Return the outcome of a target of which no item was begun."""
    if ended.timed_out:
        return scene.outcome(Verdict.TIMEOUT, TookTooLong(what=Timed.COLLECTION))
    for event in ended.events:
        if event.event == "sandbox_error":
            return scene.outcome(Verdict.INVALID, NotStarted(said=event.text))
        if event.event == "collect_error":
            return broken(scene, event, Phase.COLLECTION)
        if event.event == "collect_skip":
            return scene.outcome(Verdict.SKIP, Skipped(said=event.reason))
        if event.event in ("interrupted", "internal_error"):
            return cut_short(scene, ended)
    finish = ended.first("finish")
    said = _last_line(scene.places.text(ended.tail))
    if finish is None:
        if ended.status > 0 and ended.tail:
            return scene.outcome(Verdict.BROKEN, CannotRun(said=said))
        kind = Verdict.CRASH if ended.status < 0 else Verdict.BROKEN
        return scene.outcome(kind, ProcessEnded(status=ended.status, collecting=True))
    if ended.first("collected") and finish.code in (0, 5):
        return scene.outcome(Verdict.BROKEN, NoTest())
    return scene.outcome(Verdict.BROKEN, CannotRun(said=said))


#: How pytest says that a conftest raises, and where.
_CONFTEST = re.compile(r"^ImportError while loading conftest .*\n(.+):(\d+): in ", re.MULTILINE)


def _last_line(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    errors = [line for line in lines if line.startswith(("ERROR:", "E  "))]
    chosen = (errors or lines)[-1:]
    said = chosen[0].removeprefix("ERROR:").removeprefix("E  ").strip() if chosen else ""
    broken = _CONFTEST.search(text)
    return f"{broken[1]}, line {broken[2]}, cannot be imported: {said}" if broken else said
