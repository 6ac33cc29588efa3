"""What happens when a test runs."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum
from typing import ClassVar

from pytest_brt.types.cause import Cause, CauseCode


class Verdict(StrEnum):
    """What one test did on one tree."""

    PASS = "PASS"
    FAIL = "FAIL"
    #: The test itself is wrong: collection, fixture, import or name error in its own frame.
    BROKEN = "BROKEN"
    TIMEOUT = "TIMEOUT"
    CRASH = "CRASH"
    #: What the test process reported contradicts what it did.
    TAMPERED = "TAMPERED"
    SKIP = "SKIP"
    XFAIL = "XFAIL"
    FLAKY = "FLAKY"
    #: The cell says nothing: other code was imported, or the patch did not apply.
    INVALID = "INVALID"


@dataclass(frozen=True, slots=True, kw_only=True)
class Frame:
    """One level of a stack, outermost first in a tuple of them."""

    #: Relative to the project when `project`, else as the interpreter names it.
    path: str
    line: int
    function: str
    #: Whether the code belongs to the project under test (tests and libraries do not).
    project: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Raised:
    """An exception that was seen."""

    #: Qualified name, as in "ValueError" or "pkg.errors.ParseError".
    type: str
    message: str
    #: Qualified names of its base classes, nearest first.
    bases: tuple[str, ...] = ()
    frames: tuple[Frame, ...] = ()
    #: Variables of the last frame of the project: names and values in a few words.
    values: tuple[tuple[str, str], ...] = ()

    @property
    def name(self) -> str:
        """Its type without the module."""
        return self.type.rpartition(".")[2]

    @property
    def in_project(self) -> Frame | None:
        """The last frame of the project, None when it came through none."""
        return next((frame for frame in reversed(self.frames) if frame.project), None)


@dataclass(frozen=True, slots=True, kw_only=True)
class TestRun:
    """What one test did, once, on one tree."""

    #: pytest must not take this for a test class.
    __test__: ClassVar[bool] = False

    test: str
    #: pytest's own name of the item below its file, as in "TestX::test_y[1]".
    node: str
    verdict: Verdict
    cause: Cause
    raised: Raised | None = None
    seconds: float = 0.0
    #: The end of what it printed.
    output: str = ""
    #: False when the patched lines or modules were not reached; None when not known.
    exercised: bool | None = None
    #: Whether its body ran code of the project; None when that is not known.
    used_project: bool | None = None
    #: Of each file that was to be watched: its path, and the lines executed, as the bits of a
    #: hexadecimal number.
    ran: tuple[tuple[str, str], ...] = ()
    #: CPU seconds, which do not depend on what else the machine does; 0 where it did not end.
    cpu: float = 0.0

    @property
    def raised_briefly(self) -> Raised | None:
        """Its exception without frames and values, which would fill the memory for thousands."""
        return replace(self.raised, frames=(), values=()) if self.raised else None

    @property
    def mismatch(self) -> bool:
        """Whether it failed because the test and the project disagree about a name or a call."""
        return self.cause.code is CauseCode.MISMATCH
