"""From what a process told, and how it ended, to what each of its tests did.

A PASS needs every phase, in order, from one process, with no exception seen and an exit status
that agrees; whatever a test prints counts for nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from pytest_brt.sandbox.events import Event, ExceptionInfo
from pytest_brt.sandbox.process import ProcessResult
from pytest_brt.sandbox.project_view import PathMap
from pytest_brt.sandbox.sandbox import Isolation
from pytest_brt.types import Cause, Raised, TestRun, Verdict
from pytest_brt.types.cause import (
    NO_LIBRARY,
    BodyFailed,
    BodyRaised,
    CannotRun,
    DiskFull,
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

_MOST_OUTPUT = 4000
#: Limits that the machine has, or its user, by the names of errors.
_OF_MACHINE = frozenset({"MemoryError", "EFBIG", "EMFILE", "ENFILE", "EAGAIN", "ENOMEM"})
#: What a sandbox refuses besides.
_OF_SANDBOX = frozenset(
    {"EROFS", "EACCES", "EPERM", "ENETUNREACH", "ENETDOWN", "EADDRNOTAVAIL", "ENOSPC", "EDQUOT"}
    | {"gaierror", NO_LIBRARY}
)
#: Exceptions that, raised in the test's own frame, say that the test is wrong.
_OWN_FAULTS = frozenset(
    {"NameError", "ImportError", "SyntaxError", "SystemExit", "_pytest.fixtures.FixtureLookupError"}
)
#: How pytest says that a conftest raises, and where.
_CONFTEST = re.compile(r"^ImportError while loading conftest .*\n(.+):(\d+): in ", re.MULTILINE)


@dataclass(slots=True, kw_only=True)
class Item:
    """What was told of one item of pytest that was begun."""

    node: str
    phases: list[Event] = field(default_factory=list)
    #: That it was through with all its phases.
    end: Event | None = None
    #: How the fork ended in which it ran.
    joined: Event | None = None
    is_forked: bool = False
    #: More than one process told of it.
    is_odd: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """What one process told of the tests of a file, and what must be known besides."""

    test: str
    path: str
    result: ProcessResult
    paths: PathMap
    isolation: Isolation
    #: Seconds that a test had.
    seconds: float
    #: Modules of the project were changed.
    is_patched: bool = False

    def run(self, verdict: Verdict, cause: Cause, raised: Raised | None = None) -> TestRun:
        """Return a run of which no more is known."""
        return TestRun(test=self.test, node="", verdict=verdict, cause=cause, raised=raised)

    def run_of(self, item: Item) -> TestRun:
        """Return what one item did."""
        run = self._of_phases(item.phases)
        odd = self._oddity(item)
        if odd is not None:
            run = self.run(Verdict.TAMPERED, odd)
        elif not _came_through(item, self.result, passed=run.verdict is Verdict.PASS):
            run = self._cut_short(item)
        elif item.end is not None:
            run = self._with_origins(run, item.end)
        printed = [phase.output for phase in item.phases if phase.output]
        if not printed and item.end is None:
            printed = [self.paths.text(self.result.output)]
        collected = self.result.first("collected")
        return replace(
            run,
            node=self.paths.text(item.node.partition("::")[2]),
            seconds=sum(phase.duration for phase in item.phases),
            used_project=next((p.used for p in item.phases[::-1] if p.when == "call"), None),
            output="".join(printed[-1:])[-_MOST_OUTPUT:],
            ran=tuple(_lines_run(item.end.lines if item.end else {}, self.paths)),
            cpu=item.end.cpu if item.end else 0.0,
            loading=collected.cpu if collected else 0.0,
        )

    def without_items(self, file: str) -> TestRun:
        """Return what became of a file, as it was called, none of whose tests was begun."""
        result, printed = self.result, self.paths.text(self.result.output)
        run = self._not_begun(file, printed)
        return replace(run, seconds=result.seconds, output=printed[-_MOST_OUTPUT:])

    def _of_phases(self, phases: Sequence[Event]) -> TestRun:
        """Return the verdict that the phases of an item amount to."""
        for phase in phases:
            hides = phase.outcome == "passed" and phase.raised is not None
            if hides or phase.outcome not in ("passed", "failed", "skipped"):
                return self.run(
                    Verdict.TAMPERED, RaisedYetPassed(when=phase.when, outcome=phase.outcome)
                )
        for phase in phases:
            if phase.outcome == "failed":
                return self._failure(phase)
            if phase.outcome == "skipped" and phase.when != "teardown":
                if phase.xfail:
                    return self.run(Verdict.XFAIL, ExpectedFailure(said=phase.reason))
                return self.run(Verdict.SKIP, Skipped(said=phase.reason))
        if [phase.when for phase in phases] != ["setup", "call", "teardown"]:
            return self.run(Verdict.TAMPERED, Odd(oddity=Oddity.PHASES))
        return self.run(Verdict.PASS, Passed(marked_xfail=phases[1].xfail))

    def _failure(self, phase: Event) -> TestRun:
        if phase.when == "setup":
            return self._around(phase, Phase.SETUP)
        if phase.when == "teardown":
            return self._around(phase, Phase.TEARDOWN)
        info = phase.raised
        if info is None:
            return self.run(Verdict.FAIL, BodyFailed(text=_first_error(phase.text)))
        raised = self.paths.raised(info)
        if denied := self._denied(info):
            return self.run(Verdict.FAIL, BodyRaised(denied=denied), raised)
        # The file of the innermost frame that is not a library's.
        paths = (self.paths.relative(path) for path, _, _ in reversed(info.frames))
        innermost = next(filter(None, paths), None)
        frames = [frame for frame in raised.frames if frame.path == innermost and frame.project]
        if frames and innermost != self.path:
            where = BodyRaised(path=frames[-1].path, line=frames[-1].line)
            return self.run(Verdict.FAIL, where, raised)
        if _OWN_FAULTS.intersection((info.type, *info.bases)):
            return self.run(Verdict.BROKEN, OwnError(), raised)
        return self.run(Verdict.FAIL, BodyRaised(mismatch=info.about_project), raised)

    def _around(self, event: Event, phase: Phase) -> TestRun:
        """Return that something around the body of a test failed."""
        if event.raised is None:
            return self.run(Verdict.BROKEN, PhaseFailed(phase=phase, text=event.text))
        cause = PhaseFailed(phase=phase, denied=self._denied(event.raised))
        return self.run(Verdict.BROKEN, cause, self.paths.raised(event.raised))

    def _denied(self, info: ExceptionInfo) -> str:
        """Return what was refused, "" where the sandbox cannot be the cause."""
        known = _OF_MACHINE
        if self.isolation is not Isolation.NONE:
            known |= _OF_SANDBOX
        return info.denied if info.denied in known else ""

    def _oddity(self, item: Item) -> Cause | None:
        """Return what no plugin of ours tells, if anything."""
        finish = self.result.first("finish")
        if self.result.flooded or item.is_odd:
            return Odd(oddity=Oddity.TWO_PROCESSES)
        if self.result.first("trap"):
            return Odd(oddity=Oddity.TRAP)
        if item.is_forked:
            ended, announced = item.joined, item.end
        else:
            ended, announced = Event(event="", code=self.result.status), finish
        if ended and announced and not self.result.timed_out and ended.code != announced.code:
            return ExitDiffers(status=ended.code, announced=announced.code)
        return None

    def _cut_short(self, item: Item) -> TestRun:
        """Return what becomes of an item that did not come to its end."""
        if self.result.disk_full:
            return self.run(Verdict.INVALID, DiskFull())
        if broken_off := self._broken_off(item.node if item.is_forked else ""):
            return broken_off
        if item.joined is not None:
            return self.run(Verdict.CRASH, ProcessEnded(status=item.joined.code))
        if self.result.timed_out:
            late = TookTooLong(what=Timed.TEST, seconds=self.seconds)
            if self.result.is_overdue:
                late = TookTooLong(what=Timed.ROW, seconds=self.result.seconds)
            return self.run(Verdict.TIMEOUT, late)
        return self.run(Verdict.CRASH, ProcessEnded(status=self.result.status))

    def _broken_off(self, node: str = "") -> TestRun | None:
        """Return what ended pytest's run, or that of a fork, before its end; None for nothing."""
        for event in self.result.events:
            if event.node != node:
                continue
            if event.event == "interrupted":
                kind = event.raised.type if event.raised else "interrupt"
                return self.run(Verdict.BROKEN, RunBrokenOff(by=kind))
            if event.event == "internal_error" and event.raised:
                raised = self.paths.raised(event.raised)
                return self.run(Verdict.BROKEN, PytestFailed(), raised)
        return None

    def _not_begun(self, file: str, printed: str) -> TestRun:
        result = self.result
        if result.disk_full:
            return self.run(Verdict.INVALID, DiskFull())
        if not result.first("start"):
            return self.run(Verdict.INVALID, NotStarted(said=_last_line(printed)))
        if result.timed_out:
            return self.run(Verdict.TIMEOUT, TookTooLong(what=Timed.COLLECTION))
        for event in result.events:
            if event.event in ("file_failed", "file_skipped") and _concerns(event.node, file):
                if event.event == "file_failed":
                    return self._around(event, Phase.COLLECTION)
                return self.run(Verdict.SKIP, Skipped(said=event.text))
        if broken_off := self._broken_off():
            return broken_off
        if result.first("collected"):
            return self.run(Verdict.BROKEN, NoTest())
        if result.status < 0 or not result.output.strip():
            kind = Verdict.CRASH if result.status < 0 else Verdict.BROKEN
            return self.run(kind, ProcessEnded(status=result.status, collecting=True))
        return self.run(Verdict.BROKEN, CannotRun(said=_last_line(printed)))

    def _with_origins(self, run: TestRun, end: Event) -> TestRun:
        """Return the run, or INVALID where other code than the patched was imported."""
        for path, origin in end.origins:
            if self.paths.relative(origin) != path:
                cause = OtherCode(path=path, origin=self.paths.text(origin))
                return replace(run, verdict=Verdict.INVALID, cause=cause)
        # Whether changed lines were executed is not known, where a changed module was imported.
        return replace(run, exercised=None if end.origins or not self.is_patched else False)


def items_of(events: Iterable[Event]) -> dict[str, Item]:
    """Return the items that were begun, by their nodes, in order.

    An item that runs in a fork has one process of its own, and all others the first one.
    """
    items: dict[str, Item] = {}
    teller, own = 0, 0
    for event in events:
        if event.event == "start":
            teller = own = own or event.pid
        elif event.event == "fork":
            items[event.node] = Item(node=event.node, is_forked=True)
            teller = 0
        elif event.event == "joined" and event.node in items:
            items[event.node].joined = event
            teller = own
        elif event.event in ("begin", "phase", "end"):
            item = items.setdefault(event.node, Item(node=event.node))
            teller = teller or event.pid
            item.is_forked &= teller != own
            item.is_odd |= event.pid != teller
            if event.event == "phase":
                item.phases.append(event)
            elif event.event == "end":
                item.is_odd |= item.end is not None
                item.end = event
    return items


def _came_through(item: Item, result: ProcessResult, *, passed: bool) -> bool:
    """Return whether an item came to its end, and its process did, or went on to the next."""
    if item.end is None:
        return False
    if item.is_forked:
        return item.joined is not None
    if not passed or result.first("finish"):
        return not (passed and result.timed_out)
    begun = [event.node for event in result.events if event.event in ("begin", "fork")]
    return begun[-1:] != [item.node]


def _lines_run(lines: object, paths: PathMap) -> Iterator[tuple[str, str]]:
    """Yield path and lines, as the bits of a hexadecimal number, of the files watched."""
    for path, numbers in dict(lines).items():  # type: ignore[call-overload]
        name = paths.relative(path)
        if name is not None:
            yield name, f"{sum(1 << number for number in numbers):x}"


def _concerns(node: str, file: str) -> bool:
    """Return whether what failed is a file, or a folder or class on the way to its tests."""
    folder = node.partition("::")[0]
    return folder in ("", ".", file) or file.startswith(f"{folder.removesuffix('/__init__.py')}/")


def _first_error(text: str) -> str:
    r"""Return what a failure that is only known as text comes to, its exception first.

    >>> _first_error("    walk(3)\nE   ValueError: 3\nE     is odd\npkg/core.py:4: ValueError")
    'ValueError: 3 (pkg/core.py:4: ValueError)'
    """
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    marked = [line[1:].strip() for line in lines if line.startswith("E  ")]
    return f"{marked[0]} ({lines[-1]})" if marked else text


def _last_line(text: str) -> str:
    """Return the line in which pytest says why it cannot run."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    errors = [line for line in lines if line.startswith(("ERROR:", "E  "))]
    last = (errors or lines or [""])[-1]
    said = last.removeprefix("ERROR:").removeprefix("E  ").strip()
    conftest = _CONFTEST.search(text)
    return f"{conftest[1]}, line {conftest[2]}, cannot be imported: {said}" if conftest else said
