"""What a process of the project reports, line by line, through its pipe.

Whoever writes there may be hostile, so what is read has bounds far above those that `inside/`
keeps to.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import msgspec

from pytest_brt.codec import from_json
from pytest_brt.errors import StoreProblem
from pytest_brt.types import Raised

_Text = Annotated[str, msgspec.Meta(max_length=20_000)]
#: pytest makes it of parameters.
_Node = Annotated[str, msgspec.Meta(max_length=200_000)]
_Whole = Annotated[int, msgspec.Meta(ge=-(2**53), le=2**53)]
#: No sum of them is infinite.
_Seconds = Annotated[float, msgspec.Meta(ge=-1e9, le=1e9)]
#: The bits of a number.
_Bits = Annotated[str, msgspec.Meta(pattern="^[0-9a-f]{1,200000}$")]
_Few = msgspec.Meta(max_length=100)


@dataclass(frozen=True, slots=True, kw_only=True)
class ExceptionInfo:
    """An exception as `inside/describe.py` describes it."""

    type: _Text
    message: _Text
    bases: Annotated[tuple[_Text, ...], _Few] = ()
    #: File, line, function; outermost first.
    frames: Annotated[tuple[tuple[_Text, _Whole, _Text], ...], _Few] = ()
    #: Names and values of variables of the project's last frame.
    values: Annotated[tuple[tuple[_Text, _Text], ...], _Few] = ()
    #: Name of the limit that it, or what it came from, speaks of ("EROFS"), or "".
    denied: _Text = ""
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

    index: _Whole
    value: Value | None = None
    stdout: _Text = ""
    #: It asked a database of Django's.
    database: bool = False
    #: It used what is there to ask one: a model, or a request of the test client.
    may_ask: bool = False
    #: Made of what its event tells of that.
    raised: Raised | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Phase:
    """What the set-up, the body or the end of a test did, or collecting its file ("collect")."""

    when: _Text
    outcome: _Text = ""
    xfail: bool = False
    reason: _Text = ""
    raised: ExceptionInfo | None = None
    #: What pytest says of a failure without an exception.
    text: _Text = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """One line from the pipe; which fields are set depends on `event`."""

    event: _Text
    pid: _Whole = 0
    node: _Node = ""
    nodes: tuple[_Node, ...] = ()
    phases: Annotated[tuple[Phase, ...], _Few] = ()
    raised: ExceptionInfo | None = None
    #: Whether the test's body ran code of the project; None when that is not known.
    used: bool | None = None
    text: _Text = ""
    output: _Text = ""
    code: _Whole = 0
    #: Wall-clock and CPU seconds.
    seconds: _Seconds = 0.0
    cpu: _Seconds = 0.0
    #: Of each watched file its path and the lines that were executed.
    ran: tuple[tuple[_Text, _Bits], ...] = ()
    #: Whether a changed module was imported, and from where if that is not the patched file.
    reached: bool = False
    other_code: _Text = ""
    observed: StatementResult | None = None
    #: File and first line of each function that was called.
    called: tuple[tuple[_Text, _Whole], ...] = ()


def read_event(line: bytes) -> Event:
    """Return the event a line holds; one named "unreadable" of no process when it holds none."""
    try:
        return from_json(line, Event)
    except StoreProblem:
        return Event(event="unreadable", pid=-1)
