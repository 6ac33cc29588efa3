"""One process of the project: started in the sandbox, heard, and ended with all that it left."""

from __future__ import annotations

import os
import re
import resource
import select
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import BinaryIO

from pytest_brt.codec import to_json
from pytest_brt.sandbox.events import Event, read_event
from pytest_brt.sandbox.sandbox import Sandbox
from pytest_brt.sandbox.view import View

#: Bytes that a process may tell, and that are kept of what it prints.
_MOST_TOLD, _MOST_PRINTED = 64 << 20, 16384
#: Events of one process.
_MOST_EVENTS = 500_000
#: Bytes that a process must leave free where it writes, or a quarter of what was free.
_LEAST_FREE = 512 << 20
#: Seconds between two looks at that.
_LOOK = 0.25
#: Seconds for ending after the last word, and for ending all that a process left.
_ENDING = 10.0


#: How bubblewrap tells of the process that it shuts in.
_PID = re.compile(rb'"child-pid": (\d+)')


#: Starts a command with descriptors that it takes over.
_Popen = Callable[..., subprocess.Popen[bytes]]


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
    """What one process told, and how it ended."""

    events: list[Event] = field(default_factory=list)
    #: Exit status; minus the signal's number when a signal ended it.
    status: int = 0
    #: It was ended because it was silent, or ran, for too long.
    timed_out: bool = False
    #: The time for all that it runs was over, not that for one part of it.
    is_overdue: bool = False
    #: It was ended because the disk was nearly full, or because it told without end.
    disk_full: bool = False
    flooded: bool = False
    #: The end of what it printed past pytest's own capture.
    output: str = ""
    seconds: float = 0.0

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
    limits: Mapping[str, int] | None = None,
) -> ProcessResult:
    """Run a program to its end, with `order` as its input, and return what it told."""
    started = time.monotonic()
    result = ProcessResult()
    reader, writer = os.pipe()
    try:
        with tempfile.TemporaryFile() as printed:
            stdin = to_json({**(order or {}), "events": writer}).encode("utf-8")
            child = _start(sandbox, argv, view, writer, stdin, limits or {}, printed)
            try:
                os.close(writer)
                _listen(child, reader, view.copy, deadlines, result)
            finally:
                _end(child, sandbox)
            # bubblewrap, and our own program, report a signal as shells do.
            status = child.returncode
            result.status = 128 - status if status > 128 else status
            printed.seek(max(0, printed.seek(0, os.SEEK_END) - _MOST_PRINTED))
            result.output = printed.read().decode("utf-8", "replace")
    finally:
        os.close(reader)
    result.seconds = time.monotonic() - started
    return result


def _start(
    sandbox: Sandbox,
    argv: Sequence[str],
    view: View,
    writer: int,
    stdin: bytes,
    limits: Mapping[str, int],
    printed: BinaryIO,
) -> subprocess.Popen[bytes]:
    """Start the program, which can write events to `writer`; no other descriptor is left to it."""
    start = _start_in_root if sandbox.has_own_root else _start_confined
    with _file(stdin) as order:

        def popen(command: Sequence[str], *descriptors: int) -> subprocess.Popen[bytes]:
            return subprocess.Popen(
                command,
                stdin=order,
                stdout=printed,
                stderr=printed,
                pass_fds=(writer, *descriptors),
                start_new_session=True,
                env={"PATH": os.environ.get("PATH", os.defpath)},
            )

        return start(sandbox, argv, view, writer, limits, popen)


def _start_confined(
    sandbox: Sandbox,
    argv: Sequence[str],
    view: View,
    writer: int,
    limits: Mapping[str, int],
    popen: _Popen,
) -> subprocess.Popen[bytes]:
    """Start the program by ours that confines it, and lowers its limits."""
    with _file(sandbox.order(argv, view, events_fd=writer, limits=limits)) as plan:
        return popen(sandbox.command(argv, view, order_fd=plan.fileno()), plan.fileno())


def _start_in_root(
    sandbox: Sandbox,
    argv: Sequence[str],
    view: View,
    writer: int,
    limits: Mapping[str, int],
    popen: _Popen,
) -> subprocess.Popen[bytes]:
    """Start the program by bubblewrap, which waits until the limits are lower."""
    waiting, go = os.pipe()
    told, info = os.pipe()
    with (
        _file(sandbox.filter) as calls,
        os.fdopen(waiting, "rb"),
        os.fdopen(go, "wb", 0) as release,
        os.fdopen(told, "rb") as answer,
    ):
        filter_fd = calls.fileno() if sandbox.filter else -1
        command = sandbox.command(argv, view, filter_fd=filter_fd, info_fd=info, block_fd=waiting)
        try:
            child = popen(command, calls.fileno(), info, waiting)
        finally:
            os.close(info)
        if pid := _PID.search(answer.read()):
            _lower_limits(int(pid[1]), limits)
        release.write(b"x")
    return child


def _lower_limits(pid: int, limits: Mapping[str, int]) -> None:
    """Lower the limits of a process, as far as they are not lower."""
    for name, value in limits.items():
        kind = getattr(resource, f"RLIMIT_{name}")
        with suppress(ProcessLookupError):  # it could not even start
            hard = resource.prlimit(pid, kind)[1]
            lower = value if hard == resource.RLIM_INFINITY else min(value, hard)
            resource.prlimit(pid, kind, (lower, lower))


def hear_of_ends() -> None:
    """Have the system tell how our processes end.

    Who ignores SIGCHLD, as some that start programs do and pass on, is told nothing of it: each
    process seems to have ended well.
    """
    is_main = threading.current_thread() is threading.main_thread()
    if is_main and signal.getsignal(signal.SIGCHLD) is signal.SIG_IGN:
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)


@contextmanager
def _file(content: bytes) -> Iterator[BinaryIO]:
    """Give an unnamed file to be read from its beginning."""
    with tempfile.TemporaryFile() as file:
        file.write(content)
        file.seek(0)
        yield file


def _listen(
    child: subprocess.Popen[bytes],
    reader: int,
    folder: str,
    deadlines: Deadlines,
    result: ProcessResult,
) -> None:
    """Take in events until the process ends, or has to be ended.

    Only its own end counts: what it left running may hold the other end of the pipe.
    """
    begun = time.monotonic()
    silent_from, silence = begun, deadlines.start
    least_free = min(_LEAST_FREE, _free(folder) // 4)
    pending, told = b"", 0
    ended = os.pidfd_open(child.pid)
    sources = [reader, ended]
    try:
        while True:
            ready, _, _ = select.select(sources, [], [], _LOOK)
            now = time.monotonic()
            data = os.read(reader, 1 << 18) if reader in ready else b""
            if not data and ended in ready:
                return
            if data:
                told += len(data)
                *lines, pending = (pending + data).split(b"\n")
                events = list(map(read_event, lines))
                result.events += events
                silent_from = now
                silence = _silence(events, silence, deadlines)
            elif reader in ready:  # all ends are closed, and the process is not over yet
                sources.remove(reader)
                silence = min(silence, _ENDING)
            result.is_overdue = now > begun + deadlines.total
            result.timed_out = result.is_overdue or now > silent_from + silence
            result.disk_full = _free(folder) < least_free
            result.flooded = told > _MOST_TOLD or len(result.events) > _MOST_EVENTS
            if result.timed_out or result.disk_full or result.flooded:
                return
    finally:
        os.close(ended)


def _silence(events: Sequence[Event], silence: float, deadlines: Deadlines) -> float:
    """Return how long a process may say nothing after some events."""
    for event in events:
        if event.event in ("begin", "statement"):
            silence = deadlines.each
        elif event.event == "finish":
            silence = _ENDING
    return silence


def _free(folder: str) -> int:
    seen = os.statvfs(folder)
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
