"""What pytest collects in our modes: an item is a unit of work, and waits for its result."""

from __future__ import annotations

import warnings
from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, wait
from contextlib import nullcontext
from functools import partial
from typing import Any, TypeVar

import pytest

from pytest_brt.errors import ModelProblem
from pytest_brt.plugin.collection import PROGRESS, GoalMissed, OwnItem, Status
from pytest_brt.render.answer import answer_issue, bug_tests
from pytest_brt.render.ranking import shortcoming
from pytest_brt.run.futures import Run
from pytest_brt.run.plan import AttemptKey, Case
from pytest_brt.shown import on_a_line, show
from pytest_brt.types import Attempt, Patch, PatchResult, Repair

T = TypeVar("T")

REPRODUCED = Status(category="reproduced", letter=".", word="REPRODUCED")
LIKELY = Status(category="possibly reproduced", letter=".", word="POSSIBLY REPRODUCED")
POSSIBLE = Status(
    category="possibly reproduced",
    letter="F",
    word="POSSIBLY REPRODUCED",
    unmet="a report was only possibly reproduced",
)
NOT_REPRODUCED = Status(category="not reproduced", letter="F", word="NOT REPRODUCED")
PASSING = Status(category="passing", letter=".", word="PASSES")
#: A candidate that does not fix the bug is what a ranking is for: no failure of the run.
FAILING = Status(category="failing", letter="x", word="FAILS", unmet="no patch passes")
NOT_APPLIED = Status(category="not applied", letter="x", word="DOES NOT APPLY")
NO_PATCH = Status(category="without a patch", letter="F", word="NO PATCH")
DISPUTED = Status(
    category="without a patch",
    letter="F",
    word="NO PATCH",
    unmet="every patch that was found breaks existing tests",
)

#: Seconds of silence after which long work is shown to go on.
SIGN_OF_LIFE = 10.0


class Work(OwnItem):
    """An item that waits for a future and keeps what it found."""

    #: What is not reached where nothing better came of any such item of a report.
    nothing: str
    #: Whether the goal was reached, and what was not.
    met = False
    unmet = ""

    def __init__(
        self, *, run: Run, case: Case, start: Callable[[], Future[Any]], **kwargs: Any
    ) -> None:  # pytest's own arguments
        super().__init__(**kwargs)
        self.work = run
        self.case = case
        #: Has the work done in the background, once, so that it is ready when its turn comes.
        self.start = start

    @abstractmethod
    def tell(self, result: Any) -> None:
        """Record the result; raise GoalMissed where the answer is no."""

    def runtest(self) -> None:
        """Wait for the result; raise GoalMissed when there is none to speak of."""
        # A project's `-W error` is about its own code, not about ours.
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            result = result_of(self.start(), self.show)
            self.seconds = result.seconds
            try:
                self.tell(result)
            except GoalMissed as missed:
                self.unmet = missed.status.unmet if missed.status else ""
                raise
            self.met = True

    def show(self) -> None:
        """Show what the work has said since: all with ``-v``, else now and then the last."""
        verbosity = self.config.get_verbosity()
        progress = self.config.stash[PROGRESS]
        lines = progress.taken() if verbosity > 0 else progress.sign_of_life(SIGN_OF_LIFE)
        reporter: Any = self.config.pluginmanager.getplugin("terminalreporter")
        capture: Any = self.config.pluginmanager.getplugin("capturemanager")
        if not lines or reporter is None or verbosity < 0:
            return
        with capture.global_and_fixture_disabled() if capture else nullcontext():
            for line in lines:
                show(reporter, f"  {line}")


class AttemptItem(Work):
    """One run of one strategy on one issue."""

    nothing = "a report was not reproduced"

    def __init__(self, *, key: AttemptKey, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.key = key
        self.attempt: Attempt | None = None

    def runtest(self) -> None:
        """Wait for the attempt; where no model ever answered, nothing of ours is broken."""
        try:
            super().runtest()
        except ModelProblem as problem:
            if self.work.workbench.model.usage.unheard:  # which the last line says, once for all
                raise GoalMissed(str(problem), NOT_REPRODUCED) from problem
            raise

    def tell(self, result: Attempt) -> None:
        """Keep the attempt; the last one at a report says no when none reproduced it."""
        self.attempt = result
        sure, possible = bug_tests(result.tests)
        if sure:
            said = any(test.judgement.reproduces for test in sure)
            self.status = REPRODUCED if said else LIKELY
            return
        works = [item for item in self.session.items if isinstance(item, Work)]
        alike = [item for item in works if item.case.issue_id == self.key.issue]
        # A repair is what was asked for then, and tests may have been given.
        if any(isinstance(item, RepairItem) for item in alike):
            raise GoalMissed("no bug test found")
        found = [item.attempt for item in alike if isinstance(item, AttemptItem)]
        made = [attempt for attempt in found if attempt is not None]
        if len(made) < len(found) or any(bug_tests(attempt.tests)[0] for attempt in made):
            raise GoalMissed("this run found no bug test; the report is judged by all of them")
        possible = bug_tests(test for attempt in made for test in attempt.tests)[1]
        raise GoalMissed(answer_issue(made).text, POSSIBLE if possible else NOT_REPRODUCED)


class PatchItem(Work):
    """One row: all tests on one patch. Its id is the name of the patch."""

    nothing = "no patch could be ranked"

    def reportinfo(self) -> tuple[Any, int | None, str]:
        """Return the heading of a failure."""
        path, line, name = super().reportinfo()
        return path, line, f"patch {name}"

    def tell(self, result: PatchResult) -> None:
        """Keep the row; a patch that does not fix the bug says why."""
        if result.refused is not None:
            raise GoalMissed(result.refused.text, NOT_APPLIED)
        if not (result.verdicts or result.passes_own):
            raise GoalMissed("no bug test could be run on it")
        tests = self.work.tests(self.case)
        trusted = {t.test.id: t.judgement.counts for t in tests if t.judgement.candidate}
        short = shortcoming(result, trusted)
        if short:
            raise GoalMissed(short, FAILING)
        self.status = PASSING


class RepairItem(Work):
    """One run of one repair strategy on one issue, and the rows of the fixes that it found."""

    nothing = "no patch was found"

    def tell(self, result: Repair) -> None:
        """Keep the repair, and wait for its rows; a miss says why there is no fix."""
        for row in [self.work.row(self.case, fix.patch) for fix in result.fixes]:
            result_of(row)
        if not result.fixes:
            raise GoalMissed("; ".join(result.notes) or self.nothing, NO_PATCH)
        if all(fix.broken for fix in result.fixes):
            raise GoalMissed("every fix that passes the bug tests breaks existing tests", DISPUTED)


def unmet_goals(items: Iterable[pytest.Item]) -> list[str]:
    """Return what was not reached of what the items were for.

    The goals are, for each report, a bug test, a patch that passes, and a fix.
    """
    goals: dict[tuple[type[Work], str], list[Work]] = {}
    for item in items:
        if isinstance(item, Work):
            goals.setdefault((type(item), item.case.issue_id), []).append(item)
    found = []
    order = (AttemptItem, PatchItem, RepairItem)
    for kind, issue in sorted(goals, key=lambda goal: order.index(goal[0])):
        works = goals[kind, issue]
        # What is repaired need not be reproduced too: tests may have been given.
        instead = (RepairItem, issue) in goals
        if any(work.met for work in works) or (kind is AttemptItem and instead):
            continue
        found.append(next((work.unmet for work in works if work.unmet), kind.nothing))
    return list(dict.fromkeys(found))


def of_issue(parent: pytest.File, run: Run, case: Case) -> Iterator[Work]:
    """Yield ``replay``, or ``agent-00``, ``agent-01``, … where it runs often."""
    plan = run.plan
    for key in plan.keys(case):
        name = _name(key, plan.strategies[key.strategy].runs)
        start = partial(run.attempt, key)
        yield AttemptItem.from_parent(parent, name=name, run=run, case=case, start=start, key=key)
    for key in plan.repair_keys(case):
        assert plan.repairs is not None, "it has keys"
        name = _name(key, plan.repairs.strategies[key.strategy].runs)
        repair = partial(run.repair, case, key)
        yield RepairItem.from_parent(parent, name=name, run=run, case=case, start=repair)


def of_patch(parent: pytest.File, run: Run, case: Case, patch: Patch) -> PatchItem:
    """Return the item of a patch, which is called as its file is."""
    item: PatchItem = PatchItem.from_parent(
        parent,
        name=on_a_line(patch.name),
        nodeid=parent.nodeid,
        run=run,
        case=case,
        start=partial(run.row, case, patch),
    )
    return item


def _name(key: AttemptKey, runs: int) -> str:
    return f"{key.strategy}-{key.index:02}" if runs > 1 else key.strategy


def result_of(future: Future[T], meanwhile: Callable[[], None] = lambda: None) -> T:
    """Return the future's result, in waits short enough for Ctrl-C to be heard.

    `meanwhile` is called in between, and before it returns.
    """
    while not future.done():
        wait([future], timeout=0.5)
        meanwhile()
    meanwhile()
    return future.result()
