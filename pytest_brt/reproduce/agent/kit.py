"""What the tools of one run of the agent have at hand, and what its steps have made so far."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from pytest_brt.agent.action import changed_files
from pytest_brt.agent.paths import Paths
from pytest_brt.code.index import Index
from pytest_brt.code.layout import leads_out
from pytest_brt.codec import from_json, to_json
from pytest_brt.execute.layout import files_of
from pytest_brt.model.base import Model, Sampling
from pytest_brt.reproduce.prompting.context import Hints
from pytest_brt.reproduce.prompting.fit import Brief
from pytest_brt.reproduce.strategy import Workbench
from pytest_brt.types import CandidateTest, Issue, Step

#: More are not offered: a path that is looked up is compared with each.
_MOST_FILES = 20_000
_BINARY = (".so", ".pyd", ".png", ".jpg", ".gif", ".gz", ".zip", ".whl", ".db", ".sqlite")
#: Fact of an edit: the tests that stand in its file now, ready to be run.
TESTS = "tests"


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """What other ways found of a report before the agent has its turn."""

    hints: Hints
    #: The best test, and why others were not accepted.
    best: str = ""
    refused: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Kit:
    """Everything that the tools share."""

    issue: Issue
    bench: Workbench
    index: Index
    hints: Hints
    sampling: Sampling
    #: What other ways found before, in `auto`: the models are told of it then.
    found: Found | None = None

    @property
    def strategy(self) -> str:
        """As records name who runs it."""
        return "auto-agent" if self.found else "agent"

    @property
    def editor(self) -> Model:
        """The model that writes code."""
        return self.bench.editor or self.bench.model

    @property
    def brief(self) -> Brief:
        """What the prompts of the model that decides are made of."""
        bench = self.bench
        return Brief(issue=self.issue, hints=self.hints, prompts=bench.prompts, model=bench.model)

    def original(self, path: str) -> bytes | None:
        """Return the file as the project has it; None when it does not."""
        root = Path(self.bench.engine.subject.root)
        if leads_out(root, path):
            return None
        try:
            return (root / path).read_bytes()
        except OSError:
            return None

    def content(self, path: str, steps: Sequence[Step]) -> bytes | None:
        """Return the file as it is after `steps`; None when there is none."""
        change = changed_files(steps).get(path)
        return change.content if change else self.original(path)


def paths_of(kit: Kit) -> Paths:
    """Return the project's files that can be looked at.

    Not only Python: tests read data, and settings decide what they do.
    """
    root = Path(kit.bench.engine.subject.root)
    names = (name for name in files_of(root) if not name.endswith(_BINARY))
    return Paths(kit.index.layout.files | frozenset(islice(names, _MOST_FILES)))


def remembered(tests: Sequence[CandidateTest]) -> tuple[str, str]:
    """Return the fact that holds `tests`."""
    return (TESTS, to_json(tuple(tests)))


def _edits(steps: Sequence[Step]) -> Iterator[tuple[str, tuple[CandidateTest, ...]]]:
    """Yield the files that were edited, the last first, with the agent's own tests in each."""
    for step in reversed(steps):
        if step.fact(TESTS):
            yield step.argument("path"), from_json(step.fact(TESTS), tuple[CandidateTest, ...])


def tests_in(path: str, steps: Sequence[Step]) -> tuple[CandidateTest, ...]:
    """Return the agent's own tests in the file `path`, as its last edit left them."""
    return next((tests for edited, tests in _edits(steps) if edited == path), ())


def all_tests(steps: Sequence[Step]) -> tuple[CandidateTest, ...]:
    """Return the agent's tests as they are in the end, those of the last edited file first."""
    found: dict[str, tuple[CandidateTest, ...]] = {}
    for path, tests in _edits(steps):
        found.setdefault(path, tests)
    return tuple(test for tests in found.values() for test in tests)


def versions(steps: Sequence[Step]) -> tuple[CandidateTest, ...]:
    """Return every test that the agent ever wrote, the last first, each once."""
    every = (test for _, tests in _edits(steps) for test in tests)
    return tuple({test.id: test for test in every}.values())
