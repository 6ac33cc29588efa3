"""One process of the project: started in the sandbox, heard, and ended with all that it left."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import tempfile
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field

from pytest_brt.codec import to_json
from pytest_brt.sandbox.events import Event, read_event
from pytest_brt.sandbox.sandbox import Sandbox
from pytest_brt.sandbox.view import View

#: Bytes that a process may report, and that are kept of what it prints.
_MOST_REPORTED, _MOST_PRINTED = 64 << 20, 16384
#: Events of one process.
_MOST_EVENTS = 500_000
#: Bytes that a process must leave free where it writes, or a quarter of what was free.
_LEAST_FREE = 512 << 20
#: Seconds between two looks at that.
_LOOK = 0.25
#: Seconds for ending after the last event, and for ending all that a process left.
_ENDING = 10.0
#: No dump of a crash, files of 256 MiB, 1024 open ones; what is lower already stays.
_LIMITS = (
    'for limit in "v {}" "c 0" "f 524288" "n 1024"; do ulimit -$limit 2>/dev/null; done; exec "$@"'
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Deadlines:
    """Wall-clock seconds after which a process is ended."""

    #: Of silence before its first test or statement, and after.
    start: float
    each: float
    #: Of all of it.
    total: float


@dataclass(slots=True, kw_only=True)
class ProcessResult:
    """What one process reported, and how it ended."""

    events: list[Event] = field(default_factory=list)
    #: Exit status; minus the signal's number when a signal ended it.
    status: int = 0
    #: It was ended because it was silent for too long, or because its time was over.
    timed_out: bool = False
    is_overdue: bool = False
    #: It was ended because the disk was nearly full, or because it reported without end.
    disk_full: bool = False
    flooded: bool = False
    #: The end of what it printed past pytest's own capture.
    output: str = ""

    def first(self, name: str) -> Event | None:
        """Return the first event of this name."""
        return next((event for event in self.events if event.event == name), None)


def run_process(
    sandbox: Sandbox,
    argv: Sequence[str],
    view: View,
    deadlines: Deadlines,
    *,
    order: Mapping[str, object] | None = None,
    memory_mb: int = 2048,
) -> ProcessResult:
    """Run a program to its end, with `order` as its input, and return what it reported."""
    result = ProcessResult()
    reader, writer = os.pipe()
    with ExitStack() as held:
        held.callback(os.close, reader)
        printed, stdin, plan = (held.enter_context(tempfile.TemporaryFile()) for _ in range(3))
        with os.fdopen(writer, "wb"):
            stdin.write(to_json({**(order or {}), "events": writer}).encode("utf-8"))
            plan.write(sandbox.plan(argv, view, writer))
            for file in (stdin, plan):
                file.seek(0)
            limits = _LIMITS.format(memory_mb << 10)
            child = subprocess.Popen(
                ["/bin/sh", "-c", limits, "sh", *sandbox.command(argv, view, plan.fileno())],
                stdin=stdin,
                stdout=printed,
                stderr=printed,
                pass_fds=(writer, plan.fileno()),
                start_new_session=True,
                env={"PATH": os.environ.get("PATH", os.defpath)},
            )
        try:
            _listen(child, reader, view, deadlines, result)
        finally:
            _end(child, sandbox)
        # bubblewrap, and our own program, report a signal as shells do.
        status = child.returncode
        result.status = 128 - status if status > 128 else status
        printed.seek(max(0, printed.seek(0, os.SEEK_END) - _MOST_PRINTED))
        result.output = view.own_paths(printed.read()).decode("utf-8", "replace")
    return result


def _listen(
    child: subprocess.Popen[bytes],
    reader: int,
    view: View,
    deadlines: Deadlines,
    result: ProcessResult,
) -> None:
    """Take in events until the process ends, or has to be ended.

    Only its own end counts: what it left running may hold the other end of the pipe.
    """
    begun = heard = time.monotonic()
    silence = deadlines.start
    least_free = min(_LEAST_FREE, _free(view) // 4)
    pending, reported = b"", 0
    ended = os.pidfd_open(child.pid)
    sources = [reader, ended]
    with os.fdopen(ended, "rb"):
        while not (result.timed_out or result.disk_full or result.flooded):
            ready, _, _ = select.select(sources, [], [], _LOOK)
            now = time.monotonic()
            data = os.read(reader, 1 << 18) if reader in ready else b""
            if data:
                heard, reported = now, reported + len(data)
                *lines, pending = (pending + data).split(b"\n")
                for event in map(read_event, map(view.own_paths, lines)):
                    result.events.append(event)
                    if event.event in ("begin", "statement"):
                        silence = deadlines.each
                    elif event.event == "finish":
                        silence = _ENDING
            elif ended in ready:
                return
            elif reader in ready:  # all ends are closed, and the process is not over yet
                sources.remove(reader)
                silence = min(silence, _ENDING)
            result.is_overdue = now > begun + deadlines.total
            result.timed_out = result.is_overdue or now > heard + silence
            result.disk_full = _free(view) < least_free
            result.flooded = reported > _MOST_REPORTED or len(result.events) > _MOST_EVENTS


def _free(view: View) -> int:
    seen = os.statvfs(view.copy)
    return seen.f_bavail * seen.f_frsize


def _end(child: subprocess.Popen[bytes], sandbox: Sandbox) -> None:
    """End a process with all below it: with bubblewrap's their whole namespace goes."""
    if not sandbox.has_own_root and child.poll() is None:
        child.terminate()  # our own program then ends all that is below it
        with suppress(subprocess.TimeoutExpired):
            child.wait(_ENDING)
    with suppress(ProcessLookupError):
        os.killpg(child.pid, signal.SIGKILL)
    child.wait()
