"""What a process of the project reports, line by line, through its pipe.

Whoever writes there may be hostile, so a line has a bound, far above those that `inside/` keeps to.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import msgspec

from pytest_brt.codec import from_json
from pytest_brt.errors import StoreProblem
from pytest_brt.types import Raised

#: Bytes of a line; pytest's names of all tests of a large suite are the longest.
_LONGEST = 8 << 20
#: The bits of a number.
_Bits = Annotated[str, msgspec.Meta(pattern="^[0-9a-f]{1,200000}$")]


@dataclass(frozen=True, slots=True, kw_only=True)
class ExceptionInfo:
    """An exception as `inside/_brt_observe.py` describes it."""

    type: str
    message: str
    bases: tuple[str, ...] = ()
    #: File, line, function; outermost first.
    frames: tuple[tuple[str, int, str], ...] = ()
    #: Name of the limit that it, or what it came from, speaks of ("EROFS"), or "".
    denied: str = ""
    #: A TypeError or AttributeError about a name of the project.
    about_project: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Value:
    """The value of an expression, as text."""

    #: Qualified type name, as in "int" or "pkg.core.Thing".
    type: str
    #: Cut at 20,000 characters; "" when repr() itself raised.
    repr: str
    text: str
    #: The value survives eval(repr(value)) == value in the same namespace.
    evaluable: bool = False
    is_none: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class StatementResult:
    """What one statement did."""

    index: int
    value: Value | None = None
    stdout: str = ""
    #: A test database of Django's is there for it to ask.
    database: bool = False
    #: Made of what its event tells of that.
    raised: Raised | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """One line from the pipe; which fields are set depends on `event`."""

    event: str
    pid: int = 0
    node: str = ""
    nodes: tuple[str, ...] = ()
    #: The first part of a test that did not pass ("setup", "call", "teardown"), or the last one;
    #: "collect" where its file cannot be, "run" where something broke off all of it.
    when: str = ""
    outcome: str = ""
    xfail: bool = False
    #: Why it was skipped, or is expected to fail, or how pytest shows its failure.
    text: str = ""
    raised: ExceptionInfo | None = None
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
    #: File and first line of each function that was called.
    called: tuple[tuple[str, int], ...] = ()


def read_event(line: bytes) -> Event:
    """Return the event a line holds; one named "unreadable" of no process when it holds none."""
    try:
        return from_json(line[:_LONGEST], Event)
    except StoreProblem:
        return Event(event="unreadable", pid=-1)
