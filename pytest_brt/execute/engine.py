"""What the rest of the tool knows of running code: rows of tests, and programs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from pytest_brt.execute.row import Row, RowResult
from pytest_brt.execute.subject import Subject
from pytest_brt.types import FileChange, Raised


@dataclass(frozen=True, slots=True, kw_only=True)
class Program:
    """Statements to run in one namespace, in order, on a private view of the project."""

    #: Each is one Python statement (possibly compound); an expression's value is recorded.
    statements: tuple[str, ...]
    #: Files that must lie in the working directory, or (relative to it) beside it.
    files: tuple[FileChange, ...] = ()
    #: Changes of the project's tree, as a patch makes them.
    changes: tuple[FileChange, ...] = ()
    #: Wall-clock seconds for one statement, and for all of them.
    statement_seconds: float = 20.0
    total_seconds: float = 60.0
    #: Number of the statement from which on it is noted which functions are called.
    calls_from: int | None = None


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
class Caught:
    """A warning that a statement caused."""

    type: str
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Observed:
    """What one statement did."""

    index: int
    value: Value | None = None
    stdout: str = ""
    stderr: str = ""
    warnings: tuple[Caught, ...] = ()
    raised: Raised | None = None
    #: It asked a database of Django's.
    database: bool = False
    seconds: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Observation:
    """What a program did, as far as it came.

    Fewer entries than statements means that statement number ``len(observed)`` ended the
    process or its time; `ended` says how.
    """

    observed: tuple[Observed, ...]
    #: "", or one line: "timed out after 20 s", "killed by SIGSEGV", "exit status 3".
    ended: str = ""
    #: File and first line (decorators included) of each function of the project that was called
    #: from `Program.calls_from` on; nothing where the process did not come to its end.
    called: frozenset[tuple[str, int]] = frozenset()


class Engine(Protocol):
    """Runs code of the subject on private views of its tree; safe to call from many threads."""

    subject: Subject
    #: Isolation level that was reached: ns, landlock, process or none.
    level: str

    def run(self, row: Row) -> RowResult:
        """Run the targets of `row` and say what each did.

        Whatever the tests do, a result comes back: a test that dies is CRASH, one that
        hangs is TIMEOUT.

        Raises:
            SubjectProblem: the interpreter cannot be started at all.
        """
        ...

    def observe(self, program: Program) -> Observation:
        """Run the statements of `program` one by one and say what each did.

        Raises:
            SubjectProblem: the interpreter cannot be started at all.
            SandboxProblem: no process can be had for them.
        """
        ...

    def close(self) -> None:
        """End every process that was started."""
        ...
