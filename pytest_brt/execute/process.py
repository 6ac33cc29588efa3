"""Processes of the subject: their environment, what they tell, and their end."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

import msgspec

from pytest_brt.code.layout import is_test_path
from pytest_brt.codec import from_json
from pytest_brt.errors import StoreProblem
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

#: Whoever writes to the pipe may be hostile, so what is told has bounds far above those that
#: `inside/` keeps to: of a text in characters, of a node (pytest makes it of parameters) likewise.
Text = Annotated[str, msgspec.Meta(max_length=20_000)]
Node = Annotated[str, msgspec.Meta(max_length=200_000)]
Whole = Annotated[int, msgspec.Meta(ge=-(2**53), le=2**53)]
#: No sum of them is infinite.
Seconds = Annotated[float, msgspec.Meta(ge=-1e9, le=1e9)]
#: Lines of a file as the bits of a hexadecimal number: of a million lines at most.
Bits = Annotated[str, msgspec.Meta(pattern="^[0-9a-f]+$", max_length=250_000)]


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

    type: Text
    message: Text
    bases: Annotated[tuple[Text, ...], msgspec.Meta(max_length=100)] = ()
    #: File, line, function; outermost first.
    frames: Annotated[tuple[tuple[Text, Whole, Text], ...], msgspec.Meta(max_length=100)] = ()
    #: Frames between the innermost and that which `values` are of; -1 when there is none.
    values_at: Whole = -1
    #: Names and values of variables.
    values: Annotated[tuple[tuple[Text, Text], ...], msgspec.Meta(max_length=100)] = ()
    #: Name of the limit that it, or what it came from, speaks of ("EROFS"), or "".
    denied: Text = ""
    #: A TypeError or AttributeError about a name of the project.
    about_project: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """One line from the pipe; which fields are set depends on `event`."""

    event: Text
    pid: Whole = 0
    node: Node = ""
    nodes: tuple[Node, ...] = ()
    when: Text = ""
    outcome: Text = ""
    xfail: bool = False
    wasxfail: Text = ""
    duration: Seconds = 0.0
    raised: ToldException | None = None
    #: Whether the test's body ran code of the project; None when that is not known.
    used: bool | None = None
    skip: Text = ""
    text: Text = ""
    output: Text = ""
    reason: Text = ""
    code: Whole = 0
    index: Whole = -1
    #: What a statement did, but for what it raised.
    observed: Observed | None = None
    #: File and first line of each function that was called.
    called: tuple[tuple[Text, Whole], ...] = ()
    #: Path, state and origin of each file that the patch changed (`inside/touched.py`).
    states: tuple[tuple[Text, Text, Text], ...] = ()
    #: Whether a changed line was executed; None when that was not watched.
    lines: bool | None = None
    #: Path of each watched file, and the lines executed.
    ran: tuple[tuple[Text, Bits], ...] = ()
    #: CPU seconds of a test.
    cpu: Seconds = 0.0
    #: What `inside/check.py` could do: write outside and inside, signal a process outside.
    outside: bool = False
    inside: bool = False
    signal: bool = False
    visible: tuple[Text, ...] = ()
    interfaces: tuple[Text, ...] = ()


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
    #: Bytes of what it told.
    told: int = 0

    @property
    def begun(self) -> tuple[str, ...]:
        """The items of pytest that were begun, in order."""
        return tuple(event.node for event in self.events if event.event == "item")

    def first(self, name: str) -> Event | None:
        """Return the first event of this name."""
        return next((event for event in self.events if event.event == name), None)


def hear_of_ends() -> None:
    """Have the system tell how our processes end, and theirs.

    Who ignores SIGCHLD, as some that start programs do and pass on, is told nothing of it: each
    process seems to have ended well.
    """
    is_main = threading.current_thread() is threading.main_thread()
    if is_main and sys.platform != "win32" and signal.getsignal(signal.SIGCHLD) is signal.SIG_IGN:
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)


def end_group(child: subprocess.Popen[bytes]) -> None:
    """Kill a process, and every process of its group, and wait for it."""
    try:
        os.killpg(child.pid, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        child.kill()
    child.wait()
