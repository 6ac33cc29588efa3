"""Processes of the subject: their environment, their start and end, and all they start."""

from __future__ import annotations

import os
import selectors
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from pytest_brt.codec import to_json
from pytest_brt.errors import SubjectProblem
from pytest_brt.execute.events import Event, read_event

#: The scripts that run in the subject.
INSIDE = Path(__file__).parent / "inside"
#: What is passed on as it is; everything else (tokens, keys, sockets) is not.
PASSED_ON = (
    "PATH",
    "LANG",
    "LANGUAGE",
    "TZ",
    "LD_LIBRARY_PATH",
    # How Python reads names of files: ours and the subject's must be the same.
    "PYTHONUTF8",
    "PYTHONCOERCECLOCALE",
    "SYSTEMROOT",
    "COMSPEC",
    "PATHEXT",
)


def scrubbed(extra: Mapping[str, str]) -> dict[str, str]:
    """Return the few variables that are passed on, the locale, and then `extra`."""
    env = {name: os.environ[name] for name in PASSED_ON if name in os.environ}
    env.update({name: value for name, value in os.environ.items() if name.startswith("LC_")})
    env.setdefault("PATH", os.defpath)
    env.setdefault("LANG", "C.UTF-8")
    env.update(extra)
    return env


#: Bytes of output that are kept: the end of it.
TAIL = 16_384
#: Bytes of events that are read before a process is held to be running wild.
EVENTS_LIMIT = 64 * 1024 * 1024
#: Events of one process.
EVENTS_MOST = 100_000
CHUNK = 65_536


@dataclass(frozen=True, slots=True, kw_only=True)
class Deadlines:
    """How long a process may take, in wall-clock seconds."""

    #: Until the first event that sets another deadline.
    start: float
    #: For all of it, whatever the events say.
    total: float
    #: After each event of these names, until the next.
    events: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """How a process went."""

    events: tuple[Event, ...]
    #: Exit status; minus the signal's number when a signal ended it.
    status: int
    #: The deadline passed and it was killed.
    timed_out: bool
    #: The end of what it printed past pytest's own capture.
    tail: str
    seconds: float

    def manner(self) -> str:
        """Return in words how it ended."""
        return manner_of(self.status)


def manner_of(status: int) -> str:
    """Return in words how a process ended.

    >>> manner_of(-11), manner_of(3)
    ('killed by SIGSEGV', 'exit status 3')
    """
    if status >= 0:
        return f"exit status {status}"
    try:
        return f"killed by {signal.Signals(-status).name}"
    except ValueError:
        return f"killed by signal {-status}"


def run_script(
    command: Sequence[str],
    script: str,
    spec: Mapping[str, object],
    folder: Path,
    *,
    env: Mapping[str, str],
    cwd: str,
    deadlines: Deadlines,
) -> Ended:
    """Run a script of `inside/` to its end or its deadline, and kill what is left of it.

    Args:
        command: the interpreter and its options.
        script: the name of the script.
        spec: what it is given, in a file that is put into `folder`; the descriptor on
            which it tells events is added.
        folder: one that the process may read.
        env: the whole environment.
        cwd: working directory.
        deadlines: how long it may take.

    Raises:
        SubjectProblem: it cannot be started.
    """
    reader, writer = os.pipe()
    os.set_blocking(reader, False)
    begin = time.monotonic()
    place = folder / "spec.json"
    try:
        place.write_text(to_json({**spec, "fd": writer}), encoding="utf-8")
        try:
            child = subprocess.Popen(
                [*command, str(INSIDE / "start.py"), script, str(place)],
                env=dict(env),
                cwd=cwd,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                pass_fds=(writer,),
                start_new_session=True,
            )
        except OSError as error:
            raise SubjectProblem(
                f"cannot start {command[0]!r}: {error.strerror} (choose another: --brt-python)"
            ) from error
        finally:
            os.close(writer)
        with child:
            watch = _Watch(child, reader, deadlines)
            try:
                watch.follow()
            finally:
                end_group(child)
        return Ended(
            events=tuple(watch.events),
            status=child.returncode,
            timed_out=watch.timed_out,
            tail=watch.tail.decode("utf-8", "replace"),
            seconds=time.monotonic() - begin,
        )
    finally:
        os.close(reader)


def end_group(child: subprocess.Popen[bytes]) -> None:
    """Kill a process, and every process of its group, and wait for it."""
    try:
        os.killpg(child.pid, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        child.kill()
    child.wait()


class _Watch:
    """Reads what a process tells and prints until it ends or its deadline passes."""

    def __init__(self, child: subprocess.Popen[bytes], reader: int, deadlines: Deadlines) -> None:
        self.child = child
        self.after = deadlines.events
        self.last = time.monotonic() + deadlines.total
        self.deadline = min(self.last, time.monotonic() + deadlines.start)
        self.events: list[Event] = []
        self.tail = b""
        self.timed_out = False
        self.pending = bytearray()
        self.received = 0
        self.reader = reader

    def follow(self) -> None:
        assert self.child.stdout is not None
        output = self.child.stdout.fileno()
        os.set_blocking(output, False)
        with selectors.DefaultSelector() as selector:
            selector.register(self.reader, selectors.EVENT_READ)
            selector.register(output, selectors.EVENT_READ)
            while selector.get_map():
                if self.child.poll() is not None:
                    self.drain(output)
                    return
                wait = min(self.deadline - time.monotonic(), 0.05 if self.quiet else 1.0)
                if wait <= 0:
                    self.timed_out = True
                    return
                for key, _ in selector.select(wait):
                    if not self.read(key.fd):
                        selector.unregister(key.fd)
            self.await_exit()

    @property
    def quiet(self) -> bool:
        """Whether the process said that it is done: it ends at any moment."""
        return bool(self.events) and self.events[-1].event == "finish"

    def await_exit(self) -> None:
        """Wait for the end of a process that has closed its pipes."""
        try:
            self.child.wait(max(0.0, self.deadline - time.monotonic()))
        except subprocess.TimeoutExpired:
            self.timed_out = True

    def drain(self, output: int) -> None:
        """Read what an ended process has left in its pipes."""
        for descriptor in (self.reader, output):
            while self.read(descriptor):
                pass

    def read(self, descriptor: int) -> bool:
        """Read once; return whether there may be more."""
        try:
            data = os.read(descriptor, CHUNK)
        except BlockingIOError:
            return self.child.poll() is None
        if not data:
            return False
        if descriptor != self.reader:
            self.tail = (self.tail + data)[-TAIL:]
            return True
        self.received += len(data)
        if self.received > EVENTS_LIMIT or len(self.events) > EVENTS_MOST:
            self.deadline = 0.0
            return False
        self.pending += data
        if b"\n" not in data:
            return True
        *lines, rest = bytes(self.pending).split(b"\n")
        self.pending = bytearray(rest)
        for line in lines:
            event = read_event(line)
            self.events.append(event)
            self.extend(event)
        return True

    def extend(self, event: Event) -> None:
        seconds = self.after.get(event.event)
        if seconds is not None:
            self.deadline = min(self.last, time.monotonic() + seconds)
