"""What rooms that are rebuilt later know of running code: rows of tests, and programs.

A row is one tree and all the tests that are to run on it. Here stand their names for what
`sandbox/` has: it runs the tests.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from pytest_brt.sandbox.conditions import Conditions, Limits
from pytest_brt.sandbox.conditions import Test as TestTarget
from pytest_brt.sandbox.events import Value
from pytest_brt.sandbox.run_tests import Runner
from pytest_brt.sandbox.run_tests import most_severe as worst
from pytest_brt.sandbox.sandbox import Sandbox
from pytest_brt.sandbox.statements import (
    Script as Program,
)
from pytest_brt.sandbox.statements import (
    ScriptResult as Observation,
)
from pytest_brt.sandbox.statements import (
    StatementResult as Observed,
)
from pytest_brt.sandbox.statements import (
    run_statements,
)
from pytest_brt.types import CandidateTest, FileChange, TestRun
from pytest_brt.types.subject import Subject

__all__ = [
    "Engine", "Limits", "LocalEngine", "Observation", "Observed", "Program", "Row",
    "RowResult", "TestTarget", "Value", "target_of", "worst",
]  # fmt: skip


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
    #: PYTHONHASHSEED of the test processes.
    hash_seed: int = 0
    #: Last test first.
    reverse: bool = False
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


class Engine(Protocol):
    """Runs code of the subject on private views of its tree; safe to call from many threads."""

    subject: Subject
    #: What shuts the code in: bubblewrap, landlock or none.
    level: str
    #: Why no stronger isolation can be had, and what this one does not keep.
    remarks: tuple[str, ...]

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


class LocalEngine:
    """Runs rows in sandboxes on this machine; see `Engine`."""

    def __init__(
        self, subject: Subject, sandbox: Sandbox, *, limits: Limits, jobs: int = 1
    ) -> None:
        """Start nothing yet; as many as `jobs` rows run at a time."""
        self.subject = subject
        self.level: str = sandbox.isolation
        self.remarks = sandbox.remarks
        self._runner = Runner(subject, sandbox, limits, jobs=jobs)

    def run(self, row: Row) -> RowResult:
        """Run the targets of `row`; see `Engine.run`."""
        conditions = Conditions(
            changes=row.changes,
            hash_seed=row.hash_seed,
            reverse=row.reverse,
            test_seconds=row.test_seconds,
            seconds=row.seconds,
            watch=row.watch,
        )
        runs = self._runner.run(row.targets, conditions)
        return RowResult(runs=tuple(run for target in row.targets for run in runs[target.id]))

    def observe(self, program: Program) -> Observation:
        """Run the statements of `program`; see `Engine.observe`."""
        return run_statements(self._runner, program)

    def close(self) -> None:
        """Remove what was written."""
        self._runner.close()
