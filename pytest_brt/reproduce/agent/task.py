"""What an agent that writes tests is asked to do, and what it has made of it so far."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from pathlib import Path

from pytest_brt.agent.tree import Tree
from pytest_brt.code.index import Index
from pytest_brt.execute.layout import files_of
from pytest_brt.oracle.facts import Facts, read_facts
from pytest_brt.reproduce.prompting.context import Hints
from pytest_brt.reproduce.prompting.fit import Brief
from pytest_brt.reproduce.strategy import Workbench
from pytest_brt.types import CandidateTest, Issue, Step, TestsWritten

#: More are not offered: a path that is looked up is compared with each.
_MOST_FILES = 20_000
_BINARY = (".so", ".pyd", ".png", ".jpg", ".gif", ".gz", ".zip", ".whl", ".db", ".sqlite")


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """What other strategies found of a report before the agent has its turn."""

    hints: Hints
    #: The best test, and why others were not accepted.
    best: str = ""
    refused: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class TestTask:
    """A report that an agent is to write a test for."""

    #: pytest must not take this for a test class.
    __test__ = False

    issue: Issue
    bench: Workbench
    index: Index
    hints: Hints
    #: As records name who runs it.
    strategy: str
    #: What was found before; None where nothing else was tried.
    found: Found | None = None

    @property
    def brief(self) -> Brief:
        """What the prompts are made of."""
        bench = self.bench
        return Brief(
            issue=self.issue,
            hints=self.hints,
            prompts=bench.prompts,
            model=bench.model,
            index=self.index,
        )

    @cached_property
    def facts(self) -> Facts:
        """What the report says of the failure."""
        return read_facts(self.bench.reading(self.issue))

    @cached_property
    def tree(self) -> Tree:
        """The project's files: not only Python, for tests read data, and settings matter."""
        root = Path(self.bench.engine.subject.root)
        names = (name for name in files_of(root) if not name.endswith(_BINARY))
        files = self.index.layout.files | frozenset(islice(names, _MOST_FILES))
        return Tree(root=root, files=files)

    @property
    def new_test_file(self) -> str:
        """The path of a test file that does not exist yet."""
        root = self.bench.folder.path.strip("/")
        name = "test_reported_bug.py"
        return name if root in ("", ".") else f"{root}/{name}"


def _written(steps: Sequence[Step]) -> Iterator[TestsWritten]:
    """Yield what was written into test files, the last first."""
    for step in reversed(steps):
        yield from (one for one in step.effects if isinstance(one, TestsWritten))


def tests_in(path: str, steps: Sequence[Step]) -> tuple[CandidateTest, ...]:
    """Return the agent's own tests in the file `path`, as its last edit left them."""
    return next((one.tests for one in _written(steps) if one.path == path), ())


def all_tests(steps: Sequence[Step]) -> tuple[CandidateTest, ...]:
    """Return the agent's tests as they are in the end, those of the last edited file first."""
    last = {one.path: one.tests for one in reversed([*_written(steps)])}
    return tuple(test for path in _paths(steps) for test in last[path])


def _paths(steps: Sequence[Step]) -> list[str]:
    return list(dict.fromkeys(one.path for one in _written(steps)))


def versions(steps: Sequence[Step]) -> tuple[CandidateTest, ...]:
    """Return every test that the agent ever wrote, the last first, each once."""
    every = (test for one in _written(steps) for test in one.tests)
    return tuple({test.id: test for test in every}.values())
