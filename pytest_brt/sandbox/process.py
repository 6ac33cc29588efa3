"""One process of the project: started in the sandbox, heard, and ended with all that it left."""

from __future__ import annotations

import os
import select
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import IO, Annotated

import msgspec

from pytest_brt.codec import from_json, to_json
from pytest_brt.errors import StoreProblem
from pytest_brt.sandbox.confine import FILES, NETWORKS, filter_program
from pytest_brt.sandbox.sandbox import Sandbox
from pytest_brt.sandbox.shown import View
from pytest_brt.sandbox.workspace import IN_MEMORY
from pytest_brt.types import CauseCode, Raised
from pytest_brt.types.note import value

#: Bytes of a line; pytest's names of all tests of a large suite are the longest.
_LONGEST = 8 << 20
#: The bits of a number.
_Bits = Annotated[str, msgspec.Meta(pattern="^[0-9a-f]{1,200000}$")]
#: Bytes that a process may report, and that are kept of what it prints.
_MOST_REPORTED, _MOST_PRINTED = 64 << 20, 16384
#: What the shortest event takes up besides.
_OVERHEAD = 128
#: Bytes that a process must leave free where it writes, or a quarter of what was free; in memory,
#: those that it may write.
_LEAST_FREE = 512 << 20
#: Seconds between two looks at that.
_LOOK = 0.25
#: Seconds for ending after the last event, and for ending all that a process left.
_ENDING = 10.0

#: No dump of a crash, files of 256 MiB, 1024 open ones; what is lower already stays.
_LIMITS = (
    'for limit in "v {}" "c 0" "f 524288" "n 1024"; do ulimit -$limit 2>/dev/null; done; '
    'exec "$@"'
)


@value
class Limits:
    """What a process, and each test in it, may use up."""

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


@value
class Value:
    """The value of an expression, as text."""

    #: Qualified type name, as in "int" or "pkg.core.Thing".
    type: str
    #: Cut at 20,000 characters; "" when repr() itself raised.
    repr: str
    #: The value survives eval(repr(value)) == value in the same namespace.
    evaluable: bool = False


@value
class StatementResult:
    """What one statement did."""

    value: Value | None = None
    stdout: str = ""
    #: A test database of Django's is there for it to ask.
    database: bool = False
    raised: Raised | None = None


@value
class Event:
    """One line from the pipe; which fields are set depends on `event`."""

    event: str
    pid: int = 0
    node: str = ""
    nodes: tuple[str, ...] = ()
    #: The first part of a test that did not pass ("setup", "call", "teardown"), or the last one;
    #: "collect" where its file cannot be.
    when: str = ""
    outcome: str = ""
    xfail: bool = False
    #: Why it was skipped, or is expected to fail, or how pytest shows its failure.
    text: str = ""
    raised: Raised | None = None
    #: Name of the limit that the exception, or what it came from, speaks of ("EROFS"), or "".
    denied: str = ""
    #: It is a TypeError or AttributeError about a name of the project.
    about_project: bool = False
    #: Whether the test's body ran code of the project; None when that is not known.
    used: bool | None = None
    output: str = ""
    code: int = 0
    #: Wall-clock and CPU seconds.
    seconds: float = 0.0
    cpu: float = 0.0
    #: Of each watched file its path and the lines that were executed.
    ran: tuple[tuple[str, _Bits], ...] = ()
    #: Whether a changed module was imported, and from where if that is not the patched file.
    reached: bool | None = None
    other_code: str = ""
    observed: StatementResult | None = None
    #: Of an interpreter: what it is, the names of pytest's plugins, and where it imports from.
    version: str = ""
    plugins: tuple[str, ...] = ()
    paths: tuple[str, ...] = ()
    #: File and first line of each function that was called.
    called: tuple[tuple[str, int], ...] = ()


@dataclass(slots=True, kw_only=True)
class ProcessResult:
    """What one process reported, and how it ended."""

    #: What it saw, and what it might use up.
    view: View
    limits: Limits
    events: list[Event] = field(default_factory=list)
    #: Exit status; minus the signal's number when a signal ended it.
    status: int = 0
    #: Why it was ended, None where it ended by itself.
    stop: CauseCode | None = None
    #: The end of what it printed past pytest's own capture.
    output: str = ""

    def first(self, name: str) -> Event | None:
        """Return the first event of this name."""
        return next((event for event in self.events if event.event == name), None)

    @property
    def collected(self) -> tuple[str, ...] | None:
        """The items of pytest that are to be run, None where it did not come to that."""
        event = self.first("collected")
        return event.nodes if event else None

    @property
    def has_died(self) -> bool:
        """Whether it ended before pytest had collected tests, or said why it cannot."""
        was_ended = self.stop is not None or self.status < 0
        return self.collected is None and (was_ended or not self.output.strip())


def run_process(
    sandbox: Sandbox,
    argv: Sequence[str],
    view: View,
    limits: Limits,
    order: Mapping[str, object],
) -> ProcessResult:
    """Run a program to its end, with `order` as its input, and return what it reported."""
    result = ProcessResult(view=view, limits=limits)
    calls = filter_program((FILES, *NETWORKS))
    reader, writer = os.pipe()
    with os.fdopen(reader, "rb"), tempfile.TemporaryFile() as printed:
        with (
            os.fdopen(writer, "wb"),
            _file_of(to_json({**order, "events": writer}).encode("utf-8")) as stdin,
            _file_of(calls) as filtering,
        ):
            options = ["--seccomp", str(filtering.fileno())] if calls else []
            command = sandbox.command(argv, view, *options)
            child = subprocess.Popen(
                ["/bin/sh", "-c", _LIMITS.format(limits.memory_mb << 10), "sh", *command],
                stdin=stdin,
                stdout=printed,
                stderr=printed,
                pass_fds=(writer, filtering.fileno()),
                start_new_session=True,
                cwd="/",
                env={"PATH": os.environ.get("PATH", os.defpath)},
            )
        try:
            result.stop = _listen(child, reader, view, limits, result.events)
        finally:
            _end(child)
        # bubblewrap, and our own program, report a signal as shells do.
        status = child.returncode
        result.status = 128 - status if status > 128 else status
        printed.seek(max(0, printed.seek(0, os.SEEK_END) - _MOST_PRINTED))
        result.output = view.own_paths(printed.read()).decode("utf-8", "replace")
    return result


@contextmanager
def _file_of(data: bytes) -> Iterator[IO[bytes]]:
    """Give an open file without a name that is read from its start."""
    with tempfile.TemporaryFile() as file:
        file.write(data)
        file.seek(0)
        yield file


def _listen(
    child: subprocess.Popen[bytes],
    reader: int,
    view: View,
    limits: Limits,
    events: list[Event],
) -> CauseCode | None:
    """Take in events until the process ends, or has to be ended, and return why it has.

    What it left running may hold the other end of the pipe, so that its own end counts too. One
    that reports without end is no process of ours any more.
    """
    begun = heard = time.monotonic()
    each, silence = limits.seconds, max(limits.seconds, limits.start_seconds)
    patience = {"begin": each, "statement": each, "finish": _ENDING}
    folder = os.path.dirname(view.copy)  # a test may move the copy away
    free = shutil.disk_usage(folder).free
    least_free = min(_LEAST_FREE, free // 4)
    if view.copy.startswith(f"{IN_MEMORY}/"):
        least_free = free - _LEAST_FREE  # what it writes there is taken from all
    pending, reported, has_ended = b"", 0, False
    while reported < _MOST_REPORTED and len(pending) <= _LONGEST:
        ready, _, _ = select.select([reader], [], [], 0 if has_ended else _LOOK)
        data = os.read(reader, 1 << 18) if ready else b""
        now = time.monotonic()
        if data:
            *lines, pending = (pending + data).split(b"\n")
            reported += len(data) + _OVERHEAD * len(lines)
            heard = now if lines else heard
            for event in map(read_event, map(view.own_paths, lines)):
                events.append(event)
                silence = patience.get(event.event, silence)
        elif has_ended:
            return None
        else:
            with suppress(subprocess.TimeoutExpired):
                child.wait(_LOOK if ready else 0)
                has_ended = True  # what it wrote since the last look is still to be read
        if now > begun + limits.row_seconds:
            return CauseCode.TREE_TOO_SLOW
        if now > heard + silence:
            return CauseCode.TOO_SLOW
        if shutil.disk_usage(folder).free < least_free:
            return CauseCode.DISK_FULL
    return None


def read_event(line: bytes) -> Event:
    """Return the event a line holds; one named "unreadable" of no process when it holds none."""
    try:
        return from_json(line[:_LONGEST], Event)
    except StoreProblem:
        return Event(event="unreadable", pid=-1)


def _end(child: subprocess.Popen[bytes]) -> None:
    """End a process with all below it: bubblewrap's namespace goes, our program kills them."""
    child.terminate()
    with suppress(subprocess.TimeoutExpired):
        child.wait(_ENDING)
    with suppress(ProcessLookupError):
        os.killpg(child.pid, signal.SIGKILL)
    child.wait()
