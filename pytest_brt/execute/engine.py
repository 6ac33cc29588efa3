"""What the rest of the tool knows of running code: rows of tests, and programs."""

from __future__ import annotations

from typing import Protocol

from pytest_brt.execute.observation import Observation, Program
from pytest_brt.execute.row import Row, RowResult
from pytest_brt.execute.subject import Subject


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
