"""Processes of the subject: their environment, their start and end, and what they tell."""

from __future__ import annotations

import os
import signal
import subprocess
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

from pytest_brt.code.layout import is_test_path
from pytest_brt.codec import from_json, to_json
from pytest_brt.errors import StoreProblem, SubjectProblem
from pytest_brt.execute.engine import Observed
from pytest_brt.types import Frame, Raised

#: The scripts that run in the subject.
INSIDE = Path(__file__).parent / "inside"
#: What is passed on as it is; everything else (tokens, keys, sockets) is not.
PASSED_ON = (
    "PATH", "LANG", "LANGUAGE", "TZ", "LD_LIBRARY_PATH", "SYSTEMROOT", "COMSPEC", "PATHEXT",
    # How Python reads names of files: ours and the subject's must be the same.
    "PYTHONUTF8", "PYTHONCOERCECLOCALE",
)  # fmt: skip


def scrubbed(extra: Mapping[str, str]) -> dict[str, str]:
    """Return the few variables that are passed on, the locale, and then `extra`."""
    env = {name: os.environ[name] for name in PASSED_ON if name in os.environ}
    env.update({name: value for name, value in os.environ.items() if name.startswith("LC_")})
    env.setdefault("PATH", os.defpath)
    env.setdefault("LANG", "C.UTF-8")
    env.update(extra)
    return env


@dataclass(frozen=True, slots=True, kw_only=True)
class ToldException:
    """An exception as the subject's process describes it (`inside/describe.py`)."""

    type: str
    message: str
    bases: tuple[str, ...] = ()
    #: File, line, function; outermost first.
    frames: tuple[tuple[str, int, str], ...] = ()
    #: Frames between the innermost and that which `values` are of; -1 when there is none.
    values_at: int = -1
    #: Names and values of variables.
    values: tuple[tuple[str, str], ...] = ()
    #: Name of the limit that it, or what it came from, speaks of ("EROFS"), or "".
    denied: str = ""
    #: A TypeError or AttributeError about a name of the project.
    about_project: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """One line from the pipe; which fields are set depends on `event`."""

    event: str
    pid: int = 0
    node: str = ""
    nodes: tuple[str, ...] = ()
    when: str = ""
    outcome: str = ""
    xfail: bool = False
    wasxfail: str = ""
    duration: float = 0.0
    raised: ToldException | None = None
    #: Whether the test's body ran code of the project; None when that is not known.
    used: bool | None = None
    skip: str = ""
    text: str = ""
    output: str = ""
    reason: str = ""
    code: int = 0
    index: int = -1
    #: What a statement did, but for what it raised.
    observed: Observed | None = None
    #: File and first line of each function that was called.
    called: tuple[tuple[str, int], ...] = ()
    #: Path, state and origin of each file that the patch changed (`inside/touched.py`).
    states: tuple[tuple[str, str, str], ...] = ()
    #: Whether a changed line was executed; None when that was not watched.
    lines: bool | None = None
    #: Path of each watched file, and the lines executed, as the bits of a hexadecimal number.
    ran: tuple[tuple[str, str], ...] = ()
    #: CPU seconds of a test.
    cpu: float = 0.0
    #: What `inside/check.py` could do: write outside and inside, signal a process outside.
    outside: bool = False
    inside: bool = False
    signal: bool = False
    visible: tuple[str, ...] = ()
    interfaces: tuple[str, ...] = ()


def read_event(line: bytes) -> Event:
    """Return the event a line holds; one named "garbage" when it holds none.

    The subject's code can write to the pipe, so anything may come. What is nested so deeply that
    it cannot be read was made to end its reader, and is named "trap".
    """
    try:
        return from_json(line, Event)
    except StoreProblem as problem:
        if isinstance(problem.__cause__, RecursionError):
            return Event(event="trap")
        return Event(event="garbage", text=line[:200].decode("utf-8", "replace"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Places:
    """Maps paths of the private view to paths of the project."""

    #: Where the process saw the project.
    tree: str
    #: Where the project is.
    root: str
    #: Folders below the view that hold libraries all the same (an environment in the tree).
    libraries: tuple[str, ...] = ()

    def relative(self, path: str) -> str | None:
        """Return a path relative to the project, or None when it lies elsewhere."""
        for base in (self.tree, os.path.realpath(self.tree)):
            if path.startswith(base + os.sep):
                if any(path.startswith(folder + os.sep) for folder in self.libraries):
                    return None
                return path[len(base) + 1 :].replace(os.sep, "/")
        return None

    def frame(self, path: str, line: int, function: str) -> Frame:
        """Return one level of a stack, its path relative where it is the project's."""
        name = self.relative(path)
        return Frame(
            path=path if name is None else name,
            line=line,
            function=function,
            project=name is not None and not is_test_path(name),
        )

    def raised(self, told: ToldException) -> Raised:
        """Return an exception with its paths made the project's."""
        frames = tuple(self.frame(*frame) for frame in told.frames)
        projects = [frame.project for frame in reversed(frames)]
        last = projects.index(True) if True in projects else None
        return Raised(
            type=told.type,
            message=self.text(told.message),
            bases=told.bases,
            frames=frames,
            values=told.values if told.values_at == last else (),
        )

    def text(self, text: str) -> str:
        """Return a text in which the private view is called by the project's own path."""
        return text if self.tree == self.root else text.replace(self.tree, self.root)


#: Bytes of output that are kept: the end of it.
TAIL = 16_384
#: Bytes of events that are read before a process is held to be running wild.
EVENTS_LIMIT = 64 * 1024 * 1024
#: Events of one process.
EVENTS_MOST = 100_000
CHUNK = 65_536
#: Seconds between two looks at a process.
PAUSE = 0.02


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
    #: CPU seconds, with those of processes that it waited for; 0 where that is not known.
    cpu: float = 0.0

    @property
    def begun(self) -> tuple[str, ...]:
        """The items of pytest that were begun, in order."""
        return tuple(event.node for event in self.events if event.event == "item")

    def first(self, name: str) -> Event | None:
        """Return the first event of this name."""
        return next((event for event in self.events if event.event == name), None)


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

    `command` is the interpreter with its options. What the script is given, `spec` and the
    descriptor on which it tells events, lies in a file in `folder`, which it must be able to read.

    Raises:
        SubjectProblem: it cannot be started.
    """
    begin = time.monotonic()
    place = folder / "spec.json"
    reader, writer = os.pipe()
    try:
        with tempfile.TemporaryFile() as output:
            place.write_text(to_json({**spec, "fd": writer}), encoding="utf-8")
            whole = [*command, str(INSIDE / "start.py"), script, str(place)]
            child = _start(whole, env, cwd, output, writer)
            try:
                events, timed_out = _follow(child, reader, deadlines)
            finally:
                end_group(child)
            output.seek(max(0, output.seek(0, os.SEEK_END) - TAIL))
            return Ended(
                events=events,
                status=child.returncode,
                timed_out=timed_out,
                tail=output.read(TAIL).decode("utf-8", "replace"),
                seconds=time.monotonic() - begin,
            )
    finally:
        os.close(reader)


def _start(
    command: Sequence[str], env: Mapping[str, str], cwd: str, output: IO[bytes], writer: int
) -> subprocess.Popen[bytes]:
    """Start a group of processes; only it has the end `writer` of its pipe from then on."""
    try:
        return subprocess.Popen(
            command,
            env=dict(env),
            cwd=cwd,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            pass_fds=(writer,),
            start_new_session=True,
        )
    except OSError as error:
        raise SubjectProblem(
            f"cannot start {command[0]!r}: {error.strerror} (choose another: --brt-python)"
        ) from error
    finally:
        os.close(writer)


def end_group(child: subprocess.Popen[bytes]) -> None:
    """Kill a process, and every process of its group, and wait for it."""
    try:
        os.killpg(child.pid, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        child.kill()
    child.wait()


def _follow(
    child: subprocess.Popen[bytes], reader: int, deadlines: Deadlines
) -> tuple[tuple[Event, ...], bool]:
    """Return what a process tells until its end or its deadline, and whether that passed."""
    os.set_blocking(reader, False)
    last = time.monotonic() + deadlines.total
    deadline = min(last, time.monotonic() + deadlines.start)
    events: list[Event] = []
    pending, received = bytearray(), 0
    while received <= EVENTS_LIMIT and len(events) <= EVENTS_MOST:
        is_over = child.poll() is not None  # asked first: what it told is there then
        try:
            data = os.read(reader, CHUNK)
        except BlockingIOError:
            data = b""
        if data:
            received += len(data)
            pending += data
        elif is_over:
            return tuple(events), False
        elif time.monotonic() >= deadline:
            break
        else:
            time.sleep(PAUSE)
        if b"\n" in data:
            *lines, rest = bytes(pending).split(b"\n")
            pending = bytearray(rest)
            for event in map(read_event, lines):
                events.append(event)
                if event.event in deadlines.events:
                    deadline = min(last, time.monotonic() + deadlines.events[event.event])
    return tuple(events), True
