"""From what a process reported, and how it ended, to what each of its tests did.

A PASS needs every phase, in order, from one process, with no exception seen and an exit status
that agrees; whatever a test prints counts for nothing.
"""

from __future__ import annotations

import re
import signal
from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from pytest_brt.project.layout import is_test_path
from pytest_brt.sandbox.events import Event, ExceptionInfo
from pytest_brt.sandbox.process import ProcessResult
from pytest_brt.sandbox.view import PathMap
from pytest_brt.types import Cause, CauseCode, Raised, TestRun, Verdict

_MOST_OUTPUT, _MOST_TEXT = 4000, 240
#: Limits that a machine has, or its user, by the names of errors: other runs share them.
_OF_MACHINE = frozenset({"EAGAIN", "EDQUOT", "EMFILE", "ENFILE", "ENOMEM", "ENOSPC", "MemoryError"})
_REFUSED = {"ELIBACC": "sandbox: a library is not found, its folder may need --brt-show DIR"}
#: Exceptions that, raised in the test's own frame, say that the test is wrong.
_OWN_FAULTS = frozenset(
    {"NameError", "ImportError", "SyntaxError", "SystemExit", "_pytest.fixtures.FixtureLookupError"}
)
#: How pytest says that a conftest raises, and where.
_CONFTEST = re.compile(r"^ImportError while loading conftest .*\n(.+):(\d+): in ", re.MULTILINE)
#: What failed around a test's body.
_AROUND = {
    "collect": (CauseCode.NOT_COLLECTED, "cannot be collected"),
    "setup": (CauseCode.SETUP, "setup failed"),
    "teardown": (CauseCode.TEARDOWN, "teardown failed"),
}


@dataclass(slots=True, kw_only=True)
class Item:
    """What was reported of one item of pytest that was begun."""

    node: str
    phases: list[Event] = field(default_factory=list)
    #: That it was through with all its phases.
    ends: list[Event] = field(default_factory=list)
    #: The processes that reported this.
    pids: set[int] = field(default_factory=set)
    is_forked: bool = False
    #: How the fork ended in which it ran.
    joined: Event | None = None
    #: What cannot be read was reported meanwhile.
    is_odd: bool = False


def items_of(events: Iterable[Event]) -> dict[str, Item]:
    """Return the items that were begun, by their nodes, in order.

    An item that runs in a fork has one process of its own, and all others the first one.
    """
    items: dict[str, Item] = {}
    own, current = 0, Item(node="")
    for event in events:
        if event.event == "unreadable":
            current.is_odd = True
        elif event.event == "start":
            own = own or event.pid
        elif event.event in ("fork", "joined", "begin", "phase", "end"):
            current = items.setdefault(event.node, Item(node=event.node))
            if event.event == "fork":
                current.is_forked = True
            elif event.event == "joined":
                current.joined = event
            else:
                current.pids.add(event.pid)
                current.phases += [event] if event.event == "phase" else []
                current.ends += [event] if event.event == "end" else []
    for item in items.values():
        item.is_forked &= own not in item.pids  # there may have been too many processes for it
        reporters = item.pids if item.is_forked else {own, *item.pids}
        item.is_odd |= len(reporters) > 1 or len(item.ends) > 1
    return items


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """What one process reported of tests, and what must be known besides."""

    result: ProcessResult
    paths: PathMap
    #: Seconds that a test had.
    seconds: float
    #: Modules of the project were changed.
    is_patched: bool = False

    @property
    def collected(self) -> tuple[str, ...] | None:
        """The items that are to be run, None where it did not come to that."""
        event = self.result.first("collected")
        return event.nodes if event else None

    def runs(self) -> dict[str, TestRun]:
        """Return what the items did that were begun, by their nodes."""
        items = items_of(self.result.events)
        last, finish = next(reversed(items), ""), self.result.first("finish")
        return {
            node: self._run_of(item, finish, is_last=node == last) for node, item in items.items()
        }

    def without_items(self, path: str) -> TestRun:
        """Return what became of a file none of whose tests was begun."""
        printed = self.paths.text(self.result.output)
        run = self._not_begun(path, printed)
        return replace(run, seconds=self.result.seconds, output=printed[-_MOST_OUTPUT:])

    def _run_of(self, item: Item, finish: Event | None, *, is_last: bool) -> TestRun:
        end = item.ends[0] if item.ends else None
        path, _, node = self.paths.text(item.node).partition("::")
        run = self._of_phases(item.phases, path)
        is_over = end is not None and (item.joined is not None or not item.is_forked)
        if not item.is_forked and run.verdict is Verdict.PASS:  # and its process, or goes on
            is_over &= not (self.result.timed_out if finish else is_last)
        if why_not := self._contradiction(item, finish):
            run = _run(Verdict.TAMPERED, CauseCode.CONTRADICTION, why_not)
        elif not is_over:
            is_late = self.result.timed_out and not item.joined
            late = f"did not end within {self.seconds:g} s" if is_late else ""
            status = item.joined.code if item.joined else self.result.status
            place = item.node if item.is_forked else ""
            run = self._ended_early(status, late, "before the test's end", place)
        elif end is not None:
            run = self._with_origins(run, end)
        printed = [phase.output for phase in item.phases if phase.output]
        if not printed and end is None:
            printed = [self.paths.text(self.result.output)]
        lines = end.lines.items() if end else ()
        named = ((self.paths.relative(file), numbers) for file, numbers in lines)
        return replace(
            run,
            node=node,
            seconds=sum(phase.duration for phase in item.phases),
            used_project=next((p.used for p in item.phases[::-1] if p.when == "call"), None),
            output="".join(printed[-1:])[-_MOST_OUTPUT:],
            ran=tuple((file, f"{sum(1 << n for n in lines):x}") for file, lines in named if file),
            cpu=end.cpu if end else 0.0,
        )

    def _of_phases(self, phases: list[Event], path: str) -> TestRun:
        """Return the verdict that the phases of an item amount to."""
        for phase in phases:
            hides = phase.outcome == "passed" and phase.raised is not None
            if hides or phase.outcome not in ("passed", "failed", "skipped"):
                said = f"{phase.when} reported as {phase.outcome!r} though it raised"
                return _run(Verdict.TAMPERED, CauseCode.CONTRADICTION, said)
        for phase in phases:
            if phase.outcome == "failed":
                return self._failure(phase, path)
            if phase.outcome == "skipped" and phase.when != "teardown":
                if phase.xfail:
                    text = phase.reason or "expected to fail"
                    return _run(Verdict.XFAIL, CauseCode.EXPECTED_FAILURE, text)
                return _run(Verdict.SKIP, CauseCode.SKIPPED, phase.reason or "skipped")
        if [phase.when for phase in phases] != ["setup", "call", "teardown"]:
            said = "phases are missing or out of order"
            return _run(Verdict.TAMPERED, CauseCode.CONTRADICTION, said)
        marked = ", though marked as expected to fail" if phases[1].xfail else ""
        return _run(Verdict.PASS, CauseCode.PASSED, f"passed{marked}")

    def _failure(self, phase: Event, path: str) -> TestRun:
        """Return what a phase of a test of the file at `path` comes to, or its collection."""
        info = phase.raised
        if phase.when in _AROUND:
            code, words = _AROUND[phase.when]
            text = f"{words}: {'' if info else phase.text}"
            return self._raising(Verdict.BROKEN, code, text, info)
        if info is None:
            return _run(Verdict.FAIL, CauseCode.RAISED, _last_line(phase.text) or "failed")
        # The innermost frame that is not a library's.
        paths = [self.paths.relative(name) for name, _, _ in info.frames]
        innermost = next(filter(None, reversed(paths)), path)
        if (innermost == path or is_test_path(innermost)) and not info.denied:
            if _OWN_FAULTS.intersection((info.type, *info.bases)):
                words = "error in the test itself: "
                return self._raising(Verdict.BROKEN, CauseCode.OWN_ERROR, words, info)
            if info.about_project:
                words = "does not fit the project: "
                return self._raising(Verdict.FAIL, CauseCode.MISMATCH, words, info)
        return self._raising(Verdict.FAIL, CauseCode.RAISED, "", info)

    def _raising(
        self, verdict: Verdict, code: CauseCode, words: str, info: ExceptionInfo | None
    ) -> TestRun:
        """Return a run that an exception ended, with words before it."""
        if info is None:
            return _run(verdict, code, words)
        raised = self.paths.raised(info)
        if info.denied and code is not CauseCode.NOT_COLLECTED:
            code = CauseCode.SHORT if info.denied in _OF_MACHINE else CauseCode.DENIED
        if info.denied:
            words = f"{_REFUSED.get(info.denied, f'sandbox: {info.denied}')}: {words}"
        text = words + briefly(raised)
        if code is CauseCode.RAISED and (place := raised.in_project):
            text += f" ({place.path}:{place.line})"
        return replace(_run(verdict, code, text), raised=raised)

    def _contradiction(self, item: Item, announced: Event | None) -> str:
        """Return what no plugin of ours reports, if anything."""
        if self.result.flooded or item.is_odd:
            return "events from two processes, or none that can be read"
        status = self.result.status
        if item.is_forked:
            announced = next(iter(item.ends), None) if item.joined else None
            status = item.joined.code if item.joined else 0
        if announced and not self.result.timed_out and status != announced.code:
            return f"{status_words(status)}, but pytest said {announced.code}"
        return ""

    def _ended_early(self, status: int, late: str, when: str, node: str = "") -> TestRun:
        """Return how a process ended too early; `late` says that it took too long."""
        if self.result.disk_full:
            return _run(Verdict.INVALID, CauseCode.DISK_FULL, "the disk was full")
        for event in self.result.events:
            if event.event == "broken_off" and event.node == node:
                words = "broke off the run: "
                return self._raising(Verdict.BROKEN, CauseCode.BROKEN_OFF, words, event.raised)
        if late and self.result.is_overdue:
            text = "the tests together did not end in time"
            return _run(Verdict.TIMEOUT, CauseCode.TREE_TOO_SLOW, text)
        if late:
            return _run(Verdict.TIMEOUT, CauseCode.TOO_SLOW, late)
        # The kernel kills what takes too much memory, and others may have taken it.
        code = CauseCode.SHORT if status == -signal.SIGKILL else CauseCode.ENDED
        return _run(Verdict.CRASH, code, f"{status_words(status)} {when}")

    def _not_begun(self, path: str, printed: str) -> TestRun:
        result = self.result
        if not result.first("start") and not result.disk_full:
            text = f"sandbox: could not be set up: {_last_line(printed)}"
            return _run(Verdict.INVALID, CauseCode.NOT_STARTED, text)
        for event in result.events:
            if event.event == "file_failed" and _concerns(event.node, path):
                return self._failure(event, path)
            if event.event == "file_skipped" and _concerns(event.node, path):
                return _run(Verdict.SKIP, CauseCode.SKIPPED, event.text or "skipped")
        is_early = not printed.strip() or result.status < 0 or result.first("broken_off")
        if result.timed_out or result.disk_full or is_early:
            late = "did not end while being collected" if result.timed_out else ""
            return self._ended_early(result.status, late, "while being collected")
        if self.collected is not None:
            return _run(Verdict.BROKEN, CauseCode.NO_TEST, "no test found")
        return _run(Verdict.BROKEN, CauseCode.NOT_COLLECTED, _why_not_collected(printed))

    def _with_origins(self, run: TestRun, end: Event) -> TestRun:
        """Return the run, or INVALID where other code than the patched was imported."""
        for path, origin in end.origins:
            if self.paths.relative(origin) != path:
                where = self.paths.text(origin)
                text = f"other code than the patched {path} was imported: {where}"
                return _run(Verdict.INVALID, CauseCode.OTHER_CODE, text)
        # Whether changed lines were executed is not known, where a changed module was imported.
        return replace(run, exercised=None if end.origins or not self.is_patched else False)


def _run(verdict: Verdict, code: CauseCode, text: str) -> TestRun:
    """Return a run of which no more is known."""
    cause = Cause(code=code, text=shorten(" ".join(text.split())))
    return TestRun(test="", node="", verdict=verdict, cause=cause)


def status_words(status: int) -> str:
    """Return how a process ended: "killed by SIGSEGV" or "exit status 3".

    >>> status_words(-11)
    'killed by SIGSEGV'
    """
    if status >= 0:
        return f"exit status {status}"
    names = {number.value: number.name for number in signal.Signals}
    return f"killed by {names.get(-status, f'signal {-status}')}"


def briefly(raised: Raised) -> str:
    """Return an exception on one line, without more than the first of its message."""
    first = raised.message.strip().splitlines()[:1]
    return f"{raised.type}: {first[0]}" if first else raised.type


def shorten(line: str) -> str:
    """Return a line cut to size."""
    return line if len(line) <= _MOST_TEXT else f"{line[: _MOST_TEXT - 1]}…"


def _concerns(node: str, file: str) -> bool:
    """Return whether what failed is a file, or a folder or class on the way to its tests."""
    folder = node.partition("::")[0]
    return folder in ("", ".", file) or file.startswith(f"{folder.removesuffix('/__init__.py')}/")


def _why_not_collected(printed: str) -> str:
    line = _last_line(printed)
    conftest = _CONFTEST.search(printed)
    if conftest:
        return f"{conftest[1]}, line {conftest[2]}, cannot be imported: {line}"
    return f"cannot be run: {line or 'no such test'}"


def _last_line(text: str) -> str:
    """Return the last line that says what is wrong: pytest marks them."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    errors = [line for line in lines if line.startswith(("ERROR:", "E  "))]
    last = (errors or lines or [""])[-1]
    return last.removeprefix("ERROR:").removeprefix("E  ").strip()
