"""One process of the project: started in the sandbox, heard, and ended with all that it left."""

from __future__ import annotations

import os
import select
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field

from pytest_brt.codec import to_json
from pytest_brt.sandbox.confine import FILES, NETWORKS, filter_program
from pytest_brt.sandbox.events import Event, read_event
from pytest_brt.sandbox.sandbox import Sandbox
from pytest_brt.sandbox.shown import View

#: Bytes that a process may report, and that are kept of what it prints.
_MOST_REPORTED, _MOST_PRINTED = 64 << 20, 16384
#: What the shortest event takes up besides.
_OVERHEAD = 128
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
class Limits:
    """What one test may use up."""

    #: Wall-clock seconds of one test.
    seconds: float = 60.0
    #: Wall-clock seconds of starting and collecting, where `seconds` is not more.
    start_seconds: float = 60.0
    #: Address space of one test process, in MiB.
    memory_mb: int = 2048
    #: Wall-clock seconds of all tests on one tree.
    row_seconds: float = 1800.0


def memory_for(jobs: int) -> int:
    """Return the MiB that each of so many processes gets of half of the machine's memory."""
    machine = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return max(512, (machine >> 21) // jobs)


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
    order: Mapping[str, object],
    memory_mb: int,
) -> ProcessResult:
    """Run a program to its end, with `order` as its input, and return what it reported."""
    result = ProcessResult()
    calls = filter_program((FILES, *NETWORKS))
    reader, writer = os.pipe()
    with os.fdopen(reader, "rb"), tempfile.TemporaryFile() as printed:
        with (
            os.fdopen(writer, "wb"),
            tempfile.TemporaryFile() as stdin,
            tempfile.TemporaryFile() as filtering,
        ):
            stdin.write(to_json({**order, "events": writer}).encode("utf-8"))
            stdin.seek(0)
            filtering.write(calls)
            filtering.seek(0)
            options = ["--seccomp", str(filtering.fileno())] if calls else []
            limits = _LIMITS.format(memory_mb << 10)
            child = subprocess.Popen(
                ["/bin/sh", "-c", limits, "sh", *sandbox.command(argv, view, *options)],
                stdin=stdin,
                stdout=printed,
                stderr=printed,
                pass_fds=(writer, filtering.fileno()),
                start_new_session=True,
                cwd="/",
                env={"PATH": os.environ.get("PATH", os.defpath)},
            )
        try:
            _listen(child, reader, view, deadlines, result)
        finally:
            _end(child)
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

    What it left running may hold the other end of the pipe, so that its own end counts too.
    """
    begun = heard = time.monotonic()
    silence, each = deadlines.start, deadlines.each
    patience = {"begin": each, "statement": each, "finish": _ENDING}
    least_free = min(_LEAST_FREE, shutil.disk_usage(view.copy).free // 4)
    pending, reported = b"", 0
    while not (result.timed_out or result.disk_full or result.flooded):
        ready, _, _ = select.select([reader], [], [], _LOOK)
        data = os.read(reader, 1 << 18) if ready else b""
        now = time.monotonic()
        if data:
            *lines, pending = (pending + data).split(b"\n")
            heard, reported = now, reported + len(data) + _OVERHEAD * len(lines)
            for event in map(read_event, map(view.own_paths, lines)):
                result.events.append(event)
                silence = patience.get(event.event, silence)
        elif ready or child.poll() is not None:
            break
        result.is_overdue = now > begun + deadlines.total
        result.timed_out = result.is_overdue or now > heard + silence
        result.disk_full = shutil.disk_usage(view.copy).free < least_free
        result.flooded = reported > _MOST_REPORTED
    else:
        return
    try:
        child.wait(_ENDING)
    except subprocess.TimeoutExpired:
        result.timed_out = True


def _end(child: subprocess.Popen[bytes]) -> None:
    """End a process with all below it: bubblewrap's namespace goes, our program kills them."""
    if child.poll() is None:
        child.terminate()
        with suppress(subprocess.TimeoutExpired):
            child.wait(_ENDING)
    with suppress(ProcessLookupError):
        os.killpg(child.pid, signal.SIGKILL)
    child.wait()
