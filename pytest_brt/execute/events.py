"""What the processes of the subject tell, as it crosses the pipe."""

from __future__ import annotations

from dataclasses import dataclass

from pytest_brt.codec import from_json
from pytest_brt.errors import StoreProblem


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
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
class ToldValue:
    """A value as the subject's process describes it."""

    type: str
    repr: str
    text: str
    is_none: bool = False


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
    raised: Told | None = None
    #: Whether the test's body ran code of the project; None when that is not known.
    used: bool | None = None
    skip: str = ""
    text: str = ""
    output: str = ""
    reason: str = ""
    code: int = 0
    index: int = -1
    value: ToldValue | None = None
    stdout: str = ""
    stderr: str = ""
    warnings: tuple[tuple[str, str], ...] = ()
    database: bool = False
    seconds: float = 0.0
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
