"""What a strategy is, and what it is given to work with."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_brt.codec import content_id
from pytest_brt.model.model import Model
from pytest_brt.observe.run_snippets import ObservedReport, run_snippets
from pytest_brt.report.statements import read_report
from pytest_brt.sandbox.run_tests import Runner
from pytest_brt.store import Journal, Once
from pytest_brt.types import Attempt, Issue
from pytest_brt.types.note import value
from pytest_brt.types.report import Reading

if TYPE_CHECKING:
    from pytest_brt.project.index import Index

#: Runs on the unpatched tree that must agree, and tests to keep per issue.
REPEAT, KEEP = 2, 5


def seed_of(*parts: object) -> int:
    """Return a seed that depends on `parts` only: the report, the strategy, the run.

    >>> seed_of("issue", 0) == seed_of("issue", 0)
    True
    """
    return int(content_id(*map(str, parts)), 16) % 2**31


@value
class Workbench:
    """All that an attempt may use; shared by the attempts of one pytest run."""

    engine: Runner
    #: Loaded when it is first asked; raises ModelProblem then when there is none.
    model: Model
    #: Says in a few words what is being done; for `-v`.
    say: Callable[[str], None]
    #: Runs on the unpatched tree that must agree.
    repeat: int = REPEAT
    #: Takes what an attempt has so far: all that is shown of it when the run is interrupted.
    found: Callable[[Attempt], None] = lambda _: None
    #: The model that writes code when another one thinks; None when `model` does both.
    editor: Model | None = None
    #: Samples of one prompt, or runs, that the user wants; None leaves it to the strategy.
    samples: int | None = None
    #: Steps of one dialogue that the user wants; None leaves it to the strategy.
    steps: int | None = None
    #: Product files, as in "pkg/core.py", that the user thinks the bug is in.
    buggy: tuple[str, ...] = ()
    #: The existing test file that tests are written for; "" chooses one.
    host: str = ""
    #: When all must be over, as `time.monotonic` counts; models are not asked any more then.
    deadline: float = math.inf
    #: Where finished pieces of work are kept, for the case that the run is interrupted.
    journal: Journal = field(default_factory=partial(Journal, None))
    #: Keeps the choice of existing tests between runs.
    existing: Journal = field(default_factory=partial(Journal, None))
    #: What the code of the reports does, by their ids.
    reports: Once[str, ObservedReport] = field(default_factory=Once)
    #: Where the project's index is kept between runs; None keeps it in memory.
    cache: Path | None = None

    @property
    def root(self) -> Path:
        """The project's folder."""
        return Path(self.engine.subject.root)

    def open_index(self) -> Index:
        """Return the project's index; close it when done."""
        from pytest_brt.project.index import open_index  # replay alone needs none

        return open_index(self.root, self.cache)

    def facts(self, issue: Issue) -> Reading:
        """Return what a report says."""
        return read_report(issue)

    def observed(self, issue: Issue) -> ObservedReport:
        """Return what the statements of a report do on the unpatched tree.

        Raises:
            SubjectProblem: the subject's interpreter cannot be started.
        """
        return self.reports.get(
            issue.id, lambda: run_snippets(self.facts(issue), self.engine, self.cache)
        )


@value
class Strategy:
    """A way of making tests from an issue."""

    #: Makes the tests of one run: issue, 0-based number of the run, workbench → attempt.
    attempt: Callable[[Issue, int, Workbench], Attempt]
    #: Independent runs per issue; more than one is what `--brt-samples` changes.
    runs: int = 1
    #: Whether it asks a model; without one it cannot be chosen.
    asks: bool = False
    #: Whether it is a paper's: it asks again what an earlier run that ended was answered.
    asks_again: bool = False

    def sampled(self, runs: int | None) -> Strategy:
        """Return it with as many runs as the user wants, None for its own number."""
        return self if runs is None or self.runs == 1 else replace(self, runs=runs)
