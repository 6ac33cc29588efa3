"""What the rest of the tool knows of running code: rows of tests, and programs.

A row is one tree and all the tests that are to run on it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Protocol

from pytest_brt.types import CandidateTest, FileChange, Raised, TestRun, Verdict
from pytest_brt.types.subject import Subject


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What one test may use up."""

    #: Wall-clock seconds of one test.
    seconds: float = 60.0
    #: Wall-clock seconds of starting and collecting, where `seconds` is not more.
    start_seconds: float = 60.0
    #: Address space of one test process, in MiB.
    memory_mb: int = 2048
    #: Wall-clock seconds of a whole row.
    row_seconds: float = 1800.0


@dataclass(frozen=True, slots=True, kw_only=True)
class TestTarget:
    """One test, some tests of a file, or one file of tests, to be run in one process."""

    #: pytest must not take this for a test class.
    __test__: ClassVar[bool] = False

    id: str
    #: Test file, relative to the project.
    path: str
    #: Content to put at `path` first; None when the tree already holds it.
    source: str | None = None
    #: Other files to put there.
    support: tuple[FileChange, ...] = ()
    #: Node below the file ("test_a", "TestX::test_y[1]"); "" for all of them, or for `nodes`.
    node: str = ""
    #: The nodes that are meant, where there are several.
    nodes: tuple[str, ...] = ()
    #: Nodes of a whole file to run before its others: the time may not be enough for all.
    first: tuple[str, ...] = ()

    @property
    def arguments(self) -> tuple[str, ...]:
        """What pytest is to be given."""
        names = self.nodes or ((self.node,) if self.node else ())
        return tuple(f"{self.path}::{name}" for name in names) or (self.path,)


def target_of(test: CandidateTest) -> TestTarget:
    """Return `test` as the engine runs it."""
    return TestTarget(
        id=test.id, path=test.path, source=test.source, support=test.support, node=test.name
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """All tests on one tree: the project as it is, with `changes` made to it."""

    changes: tuple[FileChange, ...] = ()
    targets: tuple[TestTarget, ...]
    #: What the tree is called, as by its patch, to those who hear of rows that got in the way.
    name: str = ""
    #: PYTHONHASHSEED of the test processes.
    hash_seed: int = 0
    #: Wall-clock seconds of one test where that is to be less than the engine's limit.
    test_seconds: float | None = None
    #: The same of the whole row.
    seconds: float | None = None
    #: Files of which each test is to tell the lines that it executes; where Python is older than
    #: 3.12, tests that execute much of them take several times as long.
    watch: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class RowResult:
    """What the tests of a row did, in the order of its targets.

    A target with a `node`, or one that could not be collected, has one run; a whole file,
    and `nodes`, have one run per test found in it.
    """

    runs: tuple[TestRun, ...]
    #: Remarks about the row, as in "worker died, tried again".
    notes: tuple[str, ...] = ()
    #: Rows beside which time, memory, processes or files were not enough for some targets, which
    #: then were run again alone; what they did alone is what counts.
    beside: tuple[str, ...] = ()
    seconds: float = 0.0


#: The verdict of several items that count as one: the first of these that occurs.
_WORST = (
    Verdict.TAMPERED, Verdict.INVALID, Verdict.CRASH, Verdict.TIMEOUT, Verdict.FAIL,
    Verdict.BROKEN, Verdict.PASS, Verdict.XFAIL, Verdict.SKIP,
)  # fmt: skip


def worst(runs: Sequence[TestRun]) -> TestRun:
    """Return the run of several, as of one test with several parameters, that says most ill.

    Its seconds, and the lines that it executed, are those of all.
    """
    found = min(runs, key=lambda run: _WORST.index(run.verdict))
    if len(runs) == 1:
        return found
    ran: dict[str, int] = {}
    for path, lines in (pair for run in runs for pair in run.ran):
        ran[path] = ran.get(path, 0) | int(lines, 16)
    return replace(
        found,
        seconds=sum(run.seconds for run in runs),
        cpu=sum(run.cpu for run in runs),
        ran=tuple((path, f"{lines:x}") for path, lines in ran.items()),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Program:
    """Statements to run in one namespace, in order, on a private view of the project."""

    #: Each is one Python statement (possibly compound); an expression's value is recorded.
    statements: tuple[str, ...]
    #: Files that must lie in the working directory, or (relative to it) beside it.
    files: tuple[FileChange, ...] = ()
    #: Changes of the project's tree, as a patch makes them.
    changes: tuple[FileChange, ...] = ()
    #: Share of `Limits.seconds` that one statement gets, but a few seconds in any case; all of them
    #: together get the whole.
    statement_share: float = 1 / 3
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
    #: It used what is there to ask one: a model, or a request of the test client.
    may_ask: bool = False
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
    #: Whether it ended because its time was over.
    timed_out: bool = False
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
