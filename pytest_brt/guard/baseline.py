"""What the project's existing tests do on the unpatched tree, and which lines they execute there.

Whole files are run, and what pytest collects in them is the list of tests.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from pytest_brt.code.collected import Collected
from pytest_brt.execute.engine import Engine, Row, TestTarget, worst
from pytest_brt.once import Once
from pytest_brt.types import Cause, FailsBefore, Raised, TestRun, Verdict
from pytest_brt.types.cause import TookTooLong

#: Seconds that each test takes besides its own: telling of it.
_LEAST = 0.01
#: How many times as long as alone what runs may take at most. In a container the load may be that
#: of the whole machine, of which we have a small part.
_MOST_CROWDED = 4.0


@dataclass(frozen=True, slots=True, kw_only=True)
class SuiteFile:
    """A file whose tests are to be run."""

    path: str


@dataclass(frozen=True, slots=True, kw_only=True)
class BaselineTest:
    """What an existing test does on the unpatched tree."""

    #: As pytest names it, without parameters: "tests/test_a.py::TestX::test_y".
    name: str
    path: str
    verdict: Verdict
    cause: Cause
    raised: Raised | None
    #: CPU seconds, or wall-clock ones where the process did not end by itself.
    seconds: float
    #: By path, the lines of the watched files that it executes, as the bits of a number.
    ran: Mapping[str, int]
    #: Whether that is all that it executes: it started no process, in which more may have run.
    is_watched: bool = False

    @property
    def node(self) -> str:
        """The test below its file."""
        return self.name.removeprefix(f"{self.path}::")


@dataclass(frozen=True, slots=True, kw_only=True)
class BaselineFile:
    """What the tests of a file do on the unpatched tree."""

    path: str
    #: In the order in which they ran.
    tests: tuple[BaselineTest, ...] = ()
    #: CPU seconds of loading it.
    loading: float = 0.0
    #: Tests that were not run: the time was over.
    left: int = 0
    #: Whether it was tried at all.
    is_known: bool = False
    #: Why none of its tests could be run at all; the test named is the file.
    refused: FailsBefore | None = None

    @property
    def seconds(self) -> float:
        """What all of it took."""
        return self.loading + sum(test.seconds for test in self.tests)

    @property
    def is_whole(self) -> bool:
        """Whether all that it holds is known."""
        return not self.left and self.is_known


class Baseline:
    """Runs files of tests on the unpatched tree, each once; safe to call from many threads."""

    def __init__(self, engine: Engine, collected: Collected) -> None:
        self._engine = engine
        #: What the project takes for tests; our runs find those with usual names as well.
        self._collected = collected
        self._known: Once[tuple[SuiteFile, frozenset[str]], BaselineFile] = Once()

    def run(
        self, files: Sequence[SuiteFile], watch: frozenset[str], *, seconds: float, each: float
    ) -> tuple[BaselineFile, ...]:
        """Return what the tests of some files do, and what they execute of the files to `watch`.

        Those that nobody has run yet are run in one row, for at most `seconds`, no test for more
        than `each`. Whoever asks for a file that another thread is running waits for that alone.

        Raises:
            SubjectProblem: the interpreter cannot be started at all.
        """
        return self._known.get_all(
            ((file, watch) for file in files),
            lambda keys: self._run([file for file, _ in keys], watch, seconds, each),
        )

    def _run(
        self, files: Sequence[SuiteFile], watch: frozenset[str], seconds: float, each: float
    ) -> tuple[BaselineFile, ...]:
        crowding = _crowding()
        row = Row(
            targets=tuple(
                TestTarget(id=f"{number}", path=file.path) for number, file in enumerate(files)
            ),
            test_seconds=max(1.0, each) * crowding,
            seconds=max(1.0, seconds) * crowding,
            watch=tuple(sorted(watch)),
        )
        runs: list[list[TestRun]] = [[] for _ in files]
        for run in self._engine.run(row).runs:
            if not run.node or self._collected.has_node(run.node):
                runs[int(run.test)].append(run)
        return tuple(
            _learnt(file, found, crowding) for file, found in zip(files, runs, strict=True)
        )


def cases_by_test(path: str, runs: Iterable[TestRun]) -> dict[str, list[TestRun]]:
    """Return what each test of a file did, by its name: a run for each of its parameters."""
    by_test: dict[str, list[TestRun]] = {}
    for run in runs:
        if run.node:
            by_test.setdefault(f"{path}::{run.node.partition('[')[0]}", []).append(run)
    return by_test


def _learnt(file: SuiteFile, runs: Sequence[TestRun], crowding: float) -> BaselineFile:
    done = [run for run in runs if not _is_row_over(run)]
    by_test = cases_by_test(file.path, done)
    each = {name: worst(cases) for name, cases in by_test.items()}
    whole = [run for run in done if not run.node]
    return BaselineFile(
        path=file.path,
        tests=tuple(
            BaselineTest(
                name=name,
                path=file.path,
                verdict=run.verdict,
                cause=run.cause,
                raised=run.raised_briefly,
                seconds=_LEAST + (run.cpu or run.seconds / crowding),
                ran={path: int(lines, 16) for path, lines in run.ran},
                is_watched=run.exercised is not None and run.used_project is not None,
            )
            for name, run in each.items()
        ),
        loading=max((run.loading for run in runs), default=0.0),
        left=len(runs) - len(done),
        is_known=bool(done),
        refused=_refusal(file.path, whole),
    )


def _refusal(path: str, runs: Sequence[TestRun]) -> FailsBefore | None:
    """Return why a file as a whole could not be run."""
    if not runs:
        return None
    return FailsBefore(test=path, cause=runs[0].cause, raised=runs[0].raised_briefly)


def _is_row_over(run: TestRun) -> bool:
    return isinstance(run.cause, TookTooLong) and run.cause.is_of_all


def _crowding() -> float:
    """Return how many times as long as alone what runs now may take: others want the CPUs too."""
    waiting = os.getloadavg()[0] if hasattr(os, "getloadavg") else 0.0
    return min(max(1.0, waiting / (os.cpu_count() or 1)), _MOST_CROWDED)
