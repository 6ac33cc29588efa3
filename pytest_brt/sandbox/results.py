"""From what a process reported, and how it ended, to what each of its tests did.

A PASS needs every phase, in order, from one process, with no exception seen and an exit status
that agrees; whatever a test prints counts for nothing.
"""

from __future__ import annotations

import re
import signal
from collections.abc import Sequence
from dataclasses import replace

from pytest_brt.project.layout import is_test_path
from pytest_brt.sandbox.process import Event, ExceptionInfo, ProcessResult, Stop
from pytest_brt.sandbox.shown import View
from pytest_brt.types import Cause, CauseCode, Frame, Raised, TestRun, Verdict
from pytest_brt.types.note import value

#: Characters of a reason.
_MOST_TEXT = 240
#: Status with which pytest ends a fork after its test: interrupted.
_OF_FORKS = 2
#: Limits that a machine has, or its user, by the names of errors: other runs share them.
_OF_MACHINE = frozenset(
    {"EAGAIN", "EDQUOT", "EMFILE", "ENFILE", "ENOMEM", "ENOSPC", "MemoryError"}
)
#: Exceptions that, raised in the test's own frame, say that the test is wrong.
_OWN_FAULTS = frozenset(
    {
        "NameError",
        "ImportError",
        "SyntaxError",
        "SystemExit",
        "_pytest.fixtures.FixtureLookupError",
    }
)
#: How pytest marks what is wrong.
_MARKED = re.compile(r"^(?:ERROR:|E  )(.*)", re.MULTILINE)
#: What failed around a test's body.
_AROUND = {
    "collect": (CauseCode.NOT_COLLECTED, "cannot be collected: "),
    "setup": (CauseCode.OTHER, "setup failed: "),
    "teardown": (CauseCode.OTHER, "teardown failed: "),
}
#: What is known of a test whose process was ended, within which it had some seconds.
_STOPPED = {
    Stop.SILENT: (Verdict.TIMEOUT, CauseCode.SHORT, "did not end within {:g} s"),
    Stop.LATE: (
        Verdict.TIMEOUT, CauseCode.TREE_TOO_SLOW, "the tests together did not end in time",
    ),
    Stop.DISK_FULL: (Verdict.INVALID, CauseCode.SHORT, "the disk was full"),
}  # fmt: skip


@value
class Reading:
    """What one process reported of tests, and what must be known besides."""

    result: ProcessResult
    view: View
    #: Seconds that a test had.
    seconds: float

    @property
    def collected(self) -> tuple[str, ...] | None:
        """The items that are to be run, None where it did not come to that."""
        event = self.result.first("collected")
        return event.nodes if event else None

    @property
    def has_died(self) -> bool:
        """Whether it ended before pytest had collected tests, or said why it cannot."""
        result = self.result
        was_ended = result.stop is not None or result.status < 0
        return self.collected is None and (was_ended or not result.output.strip())

    def runs(self) -> dict[str, TestRun]:
        """Return what the items did that were begun, by their nodes."""
        items: dict[str, list[Event]] = {}
        node = ""
        for event in self.result.events:
            node = event.node or node
            if event.event == "begin":
                items.setdefault(node, [])
            if node in items:
                items[node].append(event)
            if event.event in ("end", "joined"):
                node = ""
        return {node: self._run_of(node, events) for node, events in items.items()}

    def _run_of(self, name: str, events: Sequence[Event]) -> TestRun:
        """Return what an item did: it began and ended, in one process, and nothing else is told.

        One that is to leave nothing runs in a fork, which alone speaks of it, and whose end is
        told as "joined"; all others run in the first process.
        """
        kinds = {event.event: event for event in events}
        path, _, node = self.view.name(name).partition("::")
        end, joined = kinds.get("end"), kinds.get("joined")
        own = [event for event in events if event is not joined]
        is_forked = own[0].pid != self.result.events[0].pid
        if len(own) > 2 or own[0].pid != own[-1].pid:
            run = _tampered("events from two processes, or none that can be read")
        elif end is None or (is_forked and joined is None):
            run = self._ended_early("before the test's end", joined)
        elif joined and joined.code != _OF_FORKS:
            run = _tampered(f"{status_words(joined.code)}, though pytest was to end it")
        elif end.other_code:
            text = f"other code than the patched was imported: {end.other_code}"
            run = make_run(Verdict.INVALID, CauseCode.OTHER, text)
        else:
            run = self._outcome(end, path)
        known = end or Event(event="end", output=self.result.output)
        return replace(
            run,
            node=node,
            seconds=known.seconds,
            used_project=known.used,
            exercised=known.reached,
            output=known.output,
            ran=known.ran,
            cpu=known.cpu,
        )

    def without_items(self, path: str) -> TestRun:
        """Return what became of a file none of whose tests was begun."""
        events, printed = self.result.events, self.result.output
        refused = [e for e in events if e.event == "not_collected" and _concerns(e, path)]
        if not events and self.result.stop is not Stop.DISK_FULL:
            text = f"sandbox: could not be set up: {_last_line(printed)}"
            run = make_run(Verdict.INVALID, CauseCode.OTHER, text)
        elif refused:
            run = self._outcome(refused[0], path)
        elif self.collected is not None:
            run = make_run(Verdict.BROKEN, CauseCode.OTHER, "no test found")
        elif self.has_died:
            run = self._ended_early("while being collected")
        else:
            text = f"cannot be run: {_last_line(printed)}"
            run = make_run(Verdict.BROKEN, CauseCode.NOT_COLLECTED, text)
        return replace(run, output=printed)

    def _ended_early(self, when: str, joined: Event | None = None) -> TestRun:
        """Return how a process, or the fork that was `joined`, ended too early or took too long."""
        if self.result.stop and not joined:
            return stopped_run(self.result.stop, self.seconds)
        status = joined.code if joined else self.result.status
        # The kernel kills what takes too much memory, and others may have taken it.
        code = CauseCode.SHORT if status == -signal.SIGKILL else CauseCode.OTHER
        return make_run(Verdict.CRASH, code, f"{status_words(status)} {when}")

    def _outcome(self, event: Event, path: str) -> TestRun:
        """Return what is told of a test of the file at `path`, or of its collection."""
        match event.outcome:
            case "failed":
                return self._failure(event, path)
            case "skipped" if event.xfail:
                text = event.text or "expected to fail"
                return make_run(Verdict.XFAIL, CauseCode.OTHER, text)
            case "skipped":
                return make_run(Verdict.SKIP, CauseCode.OTHER, event.text)
            case "passed" if event.when == "teardown" and event.raised is None:
                return make_run(Verdict.PASS, CauseCode.OTHER, "passed")
        return _tampered(f"{event.when} reported as {event.outcome!r} though it raised")

    def _failure(self, event: Event, path: str) -> TestRun:
        """Return what a failure comes to."""
        code, words = _AROUND.get(event.when, (CauseCode.RAISED, ""))
        verdict = Verdict.FAIL if code is CauseCode.RAISED else Verdict.BROKEN
        info = event.raised
        if info is None:
            return make_run(verdict, code, words + (_last_line(event.text) or "failed"))
        raised = exception_of(info, self.view)
        if info.denied:
            words = f"sandbox: {info.denied}: {words}"
            if event.when != "collect":
                code = CauseCode.SHORT if info.denied in _OF_MACHINE else CauseCode.OTHER
        elif code is CauseCode.RAISED and [frame.path for frame in raised.frames[-1:]] == [
            path
        ]:
            if _OWN_FAULTS.intersection((info.type, *info.bases)):
                verdict, code = Verdict.BROKEN, CauseCode.OTHER
                words = "error in the test itself: "
            elif info.about_project:
                code, words = CauseCode.MISMATCH, "does not fit the project: "
        first = raised.message.strip().partition("\n")[0]
        text = words + (f"{raised.type}: {first}" if first else raised.type)
        if code is CauseCode.RAISED and (place := raised.in_project):
            text += f" ({place.path}:{place.line})"
        return replace(make_run(verdict, code, text), raised=raised)


def exception_of(info: ExceptionInfo, view: View) -> Raised:
    """Return an exception with its paths made the project's."""
    frames: list[Frame] = []
    for path, line, function in info.frames:
        name = view.relative(path)
        is_project = name is not None and not is_test_path(name)
        frames.append(
            Frame(path=name or path, line=line, function=function, project=is_project)
        )
    return Raised(
        type=view.name(info.type),
        message=view.name(info.message),
        bases=info.bases,
        frames=tuple(frames),
    )


def _concerns(event: Event, file: str) -> bool:
    """Return whether an event tells of a file, or of a folder or class on the way to its tests."""
    place = event.node.partition("::")[0].removesuffix("/__init__.py")
    return place in ("", ".") or f"{file}/".startswith(f"{place}/")


def make_run(verdict: Verdict, code: CauseCode, text: str) -> TestRun:
    """Return a run of which no more is known."""
    line = " ".join(text.split())
    short = line if len(line) <= _MOST_TEXT else f"{line[: _MOST_TEXT - 1]}…"
    return TestRun(test="", node="", verdict=verdict, cause=Cause(code=code, text=short))


def stopped_run(stop: Stop, seconds: float = 0.0) -> TestRun:
    """Return a run of which nothing is known but why its process was ended."""
    verdict, code, text = _STOPPED[stop]
    return make_run(verdict, code, text.format(seconds))


def _tampered(text: str) -> TestRun:
    """Return a run of which something is reported that no plugin of ours reports."""
    return make_run(Verdict.TAMPERED, CauseCode.OTHER, text)


def status_words(status: int) -> str:
    """Return how a process ended: "killed by SIGSEGV" or "exit status 3".

    >>> status_words(-11)
    'killed by SIGSEGV'
    """
    if status >= 0:
        return f"exit status {status}"
    names = {number.value: number.name for number in signal.Signals}
    return f"killed by {names.get(-status, f'signal {-status}')}"


def _last_line(text: str) -> str:
    """Return the last line that says what is wrong."""
    lines = _MARKED.findall(text) or text.strip().splitlines() or [""]
    return str(lines[-1]).strip()
