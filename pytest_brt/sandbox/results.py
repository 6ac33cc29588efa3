"""From what a process reported, and how it ended, to what each of its tests did.

A PASS needs every phase, in order, from one process, with no exception seen and an exit status
that agrees; whatever a test prints counts for nothing.
"""

from __future__ import annotations

import re
import signal
from collections.abc import Sequence
from dataclasses import dataclass, replace

from pytest_brt.sandbox.events import Event, Phase
from pytest_brt.sandbox.process import ProcessResult
from pytest_brt.sandbox.shown import View
from pytest_brt.types import Cause, CauseCode, TestRun, Verdict

_MOST_OUTPUT, _MOST_TEXT = 4000, 240
#: Limits that a machine has, or its user, by the names of errors: other runs share them.
_OF_MACHINE = frozenset({"EAGAIN", "EDQUOT", "EMFILE", "ENFILE", "ENOMEM", "ENOSPC", "MemoryError"})
_NO_LIBRARY = "a library is not found, its folder may need --brt-show DIR"
#: Exceptions that, raised in the test's own frame, say that the test is wrong.
_OWN_FAULTS = frozenset(
    {"NameError", "ImportError", "SyntaxError", "SystemExit", "_pytest.fixtures.FixtureLookupError"}
)
#: How pytest says that a conftest raises, and where.
_CONFTEST = re.compile(r"^ImportError while loading conftest .*\n(.+):(\d+): in ", re.MULTILINE)
#: What failed around a test's body.
_AROUND = {
    "collect": (CauseCode.NOT_COLLECTED, "cannot be collected: "),
    "setup": (CauseCode.SETUP, "setup failed: "),
    "teardown": (CauseCode.TEARDOWN, "teardown failed: "),
    "run": (CauseCode.BROKEN_OFF, "broke off the run: "),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """What one process reported of tests, and what must be known besides."""

    result: ProcessResult
    view: View
    #: Seconds that a test had.
    seconds: float
    #: Modules of the project were changed.
    is_patched: bool

    @property
    def collected(self) -> tuple[str, ...] | None:
        """The items that are to be run, None where it did not come to that."""
        event = self.result.first("collected")
        return event.nodes if event else None

    def runs(self) -> dict[str, TestRun]:
        """Return what the items did that were begun, by their nodes.

        What cannot be read counts for the item that was told of last.
        """
        items: dict[str, list[Event]] = {}
        node = ""
        for event in self.result.events:
            node = event.node or node
            if event.event == "begin":
                items.setdefault(node, [])
            if node in items and event.event in ("begin", "end", "joined", "unreadable"):
                items[node].append(event)
        last = next(reversed(items), "")
        return {node: self._run_of(node, items[node], is_last=node == last) for node in items}

    def _run_of(self, name: str, events: Sequence[Event], *, is_last: bool) -> TestRun:
        """Return what an item did.

        One that is to leave nothing runs in a fork, which alone speaks of it, and whose end is
        told as "joined"; all others run in the first process.
        """
        result = self.result
        path, _, node = self.view.name(name).partition("::")
        pids = {event.pid for event in events if event.event != "joined"}
        ends = [event for event in events if event.event == "end"]
        joined = next((event for event in events if event.event == "joined"), None)
        end, is_forked = next(iter(ends), None), result.events[0].pid not in pids
        announced = result.first("finish")
        is_over, status = end is not None, result.status
        if is_forked:
            announced = end if joined else None
            is_over, status = is_over and joined is not None, joined.code if joined else 0
        run = self._of_phases(end.phases, path) if end else None
        if run and run.verdict is Verdict.PASS and not is_forked:  # and its process, or goes on
            is_over = not (result.timed_out if announced else is_last)
        if len(pids) > 1 or len(ends) > 1 or result.flooded:
            run = _tampered("events from two processes, or none that can be read")
        elif announced and not result.timed_out and status != announced.code:
            run = _tampered(f"{status_words(status)}, but pytest said {announced.code}")
        elif run is None or end is None or not is_over:
            late = result.timed_out and not joined
            run = self._ended_early("before the test's end", status, name * is_forked, late=late)
        elif end.other_code:
            text = f"other code than the patched was imported: {end.other_code}"
            run = make_run(Verdict.INVALID, CauseCode.OTHER_CODE, text)
        elif self.is_patched and not end.reached:
            run = replace(run, exercised=False)
        if end is None:
            return replace(run, node=node, output=result.output[-_MOST_OUTPUT:])
        return replace(
            run,
            node=node,
            seconds=end.seconds,
            used_project=end.used,
            output=end.output,
            ran=end.ran,
            cpu=end.cpu,
        )

    def without_items(self, path: str) -> TestRun:
        """Return what became of a file none of whose tests was begun."""
        return replace(self._not_begun(path), output=self.result.output[-_MOST_OUTPUT:])

    def _not_begun(self, path: str) -> TestRun:
        result, printed = self.result, self.result.output
        if not result.events and not result.disk_full:
            text = f"sandbox: could not be set up: {_last_line(printed)}"
            return make_run(Verdict.INVALID, CauseCode.NOT_STARTED, text)
        for event in result.events:
            if event.event == "not_collected" and _concerns(event.node, path):
                return self._of_phases(event.phases, path)
        is_late = result.timed_out
        is_early = not printed.strip() or result.status < 0 or result.first("broken_off")
        if is_late or result.disk_full or is_early:
            return self._ended_early("while being collected", result.status, late=is_late)
        if self.collected is not None:
            return make_run(Verdict.BROKEN, CauseCode.NO_TEST, "no test found")
        text = f"cannot be run: {_last_line(printed) or 'no such test'}"
        if conftest := _CONFTEST.search(printed):
            text = f"{conftest[1]}, line {conftest[2]}, cannot be imported: {_last_line(printed)}"
        return make_run(Verdict.BROKEN, CauseCode.NOT_COLLECTED, text)

    def _of_phases(self, phases: Sequence[Phase], path: str) -> TestRun:
        """Return the verdict that the phases of an item amount to."""
        for phase in phases:
            if phase.outcome == "failed":
                return self._failure(phase, path)
            if phase.outcome == "skipped" and phase.xfail:
                text = phase.reason or "expected to fail"
                return make_run(Verdict.XFAIL, CauseCode.EXPECTED_FAILURE, text)
            if phase.outcome == "skipped":
                return make_run(Verdict.SKIP, CauseCode.SKIPPED, phase.reason)
            if phase.outcome != "passed" or phase.raised is not None:
                return _tampered(f"{phase.when} reported as {phase.outcome!r} though it raised")
        if [phase.when for phase in phases] != ["setup", "call", "teardown"]:
            return _tampered("phases are missing or out of order")
        marked = ", though marked as expected to fail" if phases[1].xfail else ""
        return make_run(Verdict.PASS, CauseCode.PASSED, f"passed{marked}")

    def _failure(self, phase: Phase, path: str) -> TestRun:
        """Return what a phase of a test of the file at `path` comes to, or its collection."""
        info = phase.raised
        verdict, code, words = Verdict.FAIL, CauseCode.RAISED, ""
        if phase.when in _AROUND:
            verdict = Verdict.BROKEN
            code, words = _AROUND[phase.when]
        if info is None:
            return make_run(verdict, code, words + (_last_line(phase.text) or "failed"))
        raised = self.view.raised(info)
        # The innermost frame that is not a library's.
        own = [frame for frame in raised.frames if not frame.path.startswith(("/", "<"))]
        is_tests = not own or not own[-1].project or own[-1].path == path
        if info.denied:
            refused = _NO_LIBRARY if info.denied == "ELIBACC" else info.denied
            words = f"sandbox: {refused}: {words}"
            if phase.when != "collect":
                code = CauseCode.SHORT if info.denied in _OF_MACHINE else CauseCode.DENIED
        elif is_tests and code is CauseCode.RAISED:
            if _OWN_FAULTS.intersection((info.type, *info.bases)):
                verdict, code = Verdict.BROKEN, CauseCode.OWN_ERROR
                words = "error in the test itself: "
            elif info.about_project:
                code, words = CauseCode.MISMATCH, "does not fit the project: "
        first = raised.message.strip().partition("\n")[0]
        text = words + (f"{raised.type}: {first}" if first else raised.type)
        if code is CauseCode.RAISED and (place := raised.in_project):
            text += f" ({place.path}:{place.line})"
        return replace(make_run(verdict, code, text), raised=raised)

    def _ended_early(self, when: str, status: int, node: str = "", *, late: bool) -> TestRun:
        """Return how a process ended too early, or that it took too long."""
        if self.result.disk_full:
            return make_run(Verdict.INVALID, CauseCode.DISK_FULL, "the disk was full")
        for event in self.result.events:
            if event.event == "broken_off" and event.node == node:
                return self._failure(event.phases[0], node)
        if late and self.result.is_overdue:
            return tree_too_slow()
        if late:
            text = f"did not end within {self.seconds:g} s"
            return make_run(Verdict.TIMEOUT, CauseCode.TOO_SLOW, text)
        # The kernel kills what takes too much memory, and others may have taken it.
        code = CauseCode.SHORT if status == -signal.SIGKILL else CauseCode.ENDED
        return make_run(Verdict.CRASH, code, f"{status_words(status)} {when}")


def make_run(verdict: Verdict, code: CauseCode, text: str) -> TestRun:
    """Return a run of which no more is known."""
    line = " ".join(text.split())
    short = line if len(line) <= _MOST_TEXT else f"{line[: _MOST_TEXT - 1]}…"
    return TestRun(test="", node="", verdict=verdict, cause=Cause(code=code, text=short))


def tree_too_slow() -> TestRun:
    """Return a run of which nothing is known, as all of them took too long."""
    text = "the tests together did not end in time"
    return make_run(Verdict.TIMEOUT, CauseCode.TREE_TOO_SLOW, text)


def _tampered(text: str) -> TestRun:
    """Return a run of which something is reported that no plugin of ours reports."""
    return make_run(Verdict.TAMPERED, CauseCode.CONTRADICTION, text)


def status_words(status: int) -> str:
    """Return how a process ended: "killed by SIGSEGV" or "exit status 3".

    >>> status_words(-11)
    'killed by SIGSEGV'
    """
    if status >= 0:
        return f"exit status {status}"
    names = {number.value: number.name for number in signal.Signals}
    return f"killed by {names.get(-status, f'signal {-status}')}"


def _concerns(node: str, file: str) -> bool:
    """Return whether what failed is a file, or a folder or class on the way to its tests."""
    folder = node.partition("::")[0]
    return folder in ("", ".", file) or file.startswith(f"{folder.removesuffix('/__init__.py')}/")


def _last_line(text: str) -> str:
    """Return the last line that says what is wrong: pytest marks them."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    errors = [line for line in lines if line.startswith(("ERROR:", "E  "))]
    last = (errors or lines or [""])[-1]
    return last.removeprefix("ERROR:").removeprefix("E  ").strip()
