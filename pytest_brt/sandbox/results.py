"""From what a process reported, and how it ended, to what each of its tests did.

A PASS needs every phase, in order, from one process, with no exception seen and an exit status
that agrees; whatever a test prints counts for nothing.
"""

from __future__ import annotations

import re
import signal
from collections.abc import Sequence
from dataclasses import replace

from pytest_brt.render.words import cut
from pytest_brt.sandbox.process import Event, ProcessResult
from pytest_brt.sandbox.shown import View
from pytest_brt.types import Cause, CauseCode, TestRun, Verdict

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
#: What is said of a test whose process was ended, within which it had some seconds.
_STOPPED = {
    CauseCode.TOO_SLOW: "did not end within {:g} s",
    CauseCode.TREE_TOO_SLOW: "the tests together did not end in time",
    CauseCode.DISK_FULL: "the disk was full",
}


def read_runs(result: ProcessResult) -> dict[str, TestRun]:
    """Return what the items of pytest did that were begun, by their nodes."""
    items: dict[str, list[Event]] = {}
    node = ""
    for event in result.events:
        node = event.node or node
        if event.event == "begin":
            items.setdefault(node, [])
        if node in items:
            items[node].append(event)
        if event.event in ("end", "joined"):
            node = ""
    return {node: _run_of(result, node, events) for node, events in items.items()}


def _run_of(result: ProcessResult, name: str, events: Sequence[Event]) -> TestRun:
    """Return what an item did: it began and ended, in one process, and nothing else is told.

    One that is to leave nothing runs in a fork, which alone speaks of it, and whose end is told as
    "joined"; all others run in the first process.
    """
    kinds = {event.event: event for event in events}
    path, _, node = result.view.name(name).partition("::")
    end, joined = kinds.get("end"), kinds.get("joined")
    own = [event for event in events if event is not joined]
    is_forked = own[0].pid != result.events[0].pid
    if len(own) > 2 or own[0].pid != own[-1].pid:
        run = _make_run(
            Verdict.TAMPERED, "events from two processes, or none that can be read"
        )
    elif end is None or (is_forked and joined is None):
        run = _ended_early(result, "before the test's end", joined)
    elif joined and joined.code != _OF_FORKS:
        run = _make_run(
            Verdict.TAMPERED, f"{status_words(joined.code)}, though pytest was to end it"
        )
    elif end.other_code:
        text = f"other code than the patched was imported: {end.other_code}"
        run = _make_run(Verdict.INVALID, text)
    else:
        run = _outcome(end, path, result.view)
    known = end or Event(event="end", output=result.output)
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


def run_without_items(result: ProcessResult, path: str) -> TestRun:
    """Return what became of a file none of whose tests was begun."""
    events, printed = result.events, result.output
    refused = [e for e in events if e.event == "not_collected" and _concerns(e, path)]
    if not events and result.stop is not CauseCode.DISK_FULL:
        text = f"sandbox: could not be set up: {last_line(printed)}"
        run = _make_run(Verdict.INVALID, text)
    elif refused:
        run = _outcome(refused[0], path, result.view)
    elif result.collected is not None:
        run = _make_run(Verdict.BROKEN, "no test found")
    elif result.has_died:
        run = _ended_early(result, "while being collected")
    else:
        text = f"cannot be run: {last_line(printed)}"
        run = _make_run(Verdict.BROKEN, text, CauseCode.NOT_COLLECTED)
    return replace(run, output=printed)


def _ended_early(result: ProcessResult, when: str, joined: Event | None = None) -> TestRun:
    """Return how a process, or the fork that was `joined`, ended too early or took too long."""
    if result.stop and not joined:
        return stopped_run(result.stop, result.limits.seconds)
    status = joined.code if joined else result.status
    # The kernel kills what takes too much memory, and others may have taken it.
    code = CauseCode.SHORT if status == -signal.SIGKILL else CauseCode.OTHER
    return _make_run(Verdict.CRASH, f"{status_words(status)} {when}", code)


def _outcome(event: Event, path: str, view: View) -> TestRun:
    """Return what is told of a test of the file at `path`, or of its collection."""
    match event.outcome:
        case "failed":
            return _failure(event, path, view)
        case "skipped" if event.xfail:
            text = event.text or "expected to fail"
            return _make_run(Verdict.XFAIL, text)
        case "skipped":
            return _make_run(Verdict.SKIP, event.text)
        case "passed" if event.when == "teardown" and event.raised is None:
            return _make_run(Verdict.PASS, "passed", CauseCode.PASSED)
    return _make_run(
        Verdict.TAMPERED, f"{event.when} reported as {event.outcome!r} though it raised"
    )


def _failure(event: Event, path: str, view: View) -> TestRun:
    """Return what a failure comes to."""
    code, words = _AROUND.get(event.when, (CauseCode.RAISED, ""))
    verdict = Verdict.FAIL if code is CauseCode.RAISED else Verdict.BROKEN
    if event.raised is None:
        return _make_run(verdict, words + (last_line(event.text) or "failed"), code)
    raised = view.locate(event.raised)
    if event.denied:
        words = f"sandbox: {event.denied}: {words}"
        if event.when != "collect":
            code = CauseCode.SHORT if event.denied in _OF_MACHINE else CauseCode.OTHER
    elif code is CauseCode.RAISED and raised.frames and raised.frames[-1].path == path:
        if _OWN_FAULTS.intersection((raised.type, *raised.bases)):
            verdict, code = Verdict.BROKEN, CauseCode.OTHER
            words = "error in the test itself: "
        elif event.about_project:
            code, words = CauseCode.MISMATCH, "does not fit the project: "
    first = raised.message.strip().partition("\n")[0]
    text = words + (f"{raised.type}: {first}" if first else raised.type)
    if code is CauseCode.RAISED and (place := raised.in_project):
        text += f" ({place.path}:{place.line})"
    return replace(_make_run(verdict, text, code), raised=raised)


def _concerns(event: Event, file: str) -> bool:
    """Return whether an event tells of a file, or of a folder or class on the way to its tests."""
    place = event.node.partition("::")[0].removesuffix("/__init__.py")
    return place in ("", ".") or f"{file}/".startswith(f"{place}/")


def _make_run(verdict: Verdict, text: str, code: CauseCode = CauseCode.OTHER) -> TestRun:
    """Return a run of which no more is known."""
    cause = Cause(code=code, text=cut(" ".join(text.split()), _MOST_TEXT))
    return TestRun(test="", node="", verdict=verdict, cause=cause)


def stopped_run(stop: CauseCode, seconds: float = 0.0) -> TestRun:
    """Return a run of which nothing is known but why its process was ended."""
    verdict = Verdict.INVALID if stop is CauseCode.DISK_FULL else Verdict.TIMEOUT
    return _make_run(verdict, _STOPPED[stop].format(seconds), stop)


def status_words(status: int) -> str:
    """Return how a process ended: "killed by SIGSEGV" or "exit status 3".

    >>> status_words(-11)
    'killed by SIGSEGV'
    """
    if status >= 0:
        return f"exit status {status}"
    names = {number.value: number.name for number in signal.Signals}
    return f"killed by {names.get(-status, f'signal {-status}')}"


def last_line(text: str) -> str:
    """Return the last line that says what is wrong."""
    lines = _MARKED.findall(text) or text.strip().splitlines() or [""]
    return str(lines[-1]).strip()
