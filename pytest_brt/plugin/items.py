"""What pytest collects in our modes: an item is a unit of work, and waits for its result."""

from __future__ import annotations

import warnings
from abc import abstractmethod
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import nullcontext
from typing import Any, TypeVar

import pytest

from pytest_brt.codec import to_json
from pytest_brt.plugin.mode_items import PROGRESS, Missed, OurItem, Status
from pytest_brt.render.answer import bug_tests, of_report, shortcoming
from pytest_brt.render.json import attempt_json, localised_json, repair_json, result_json
from pytest_brt.run.futures import Run
from pytest_brt.run.plan import AttemptKey, Case
from pytest_brt.shown import show
from pytest_brt.types import Attempt, Patch, Verdict

T = TypeVar("T")

REPRODUCED = Status(category="reproduced", letter=".", word="REPRODUCED")
POSSIBLE = Status(category="possibly reproduced", letter="F", word="POSSIBLY REPRODUCED")
NOT_REPRODUCED = Status(category="not reproduced", letter="F", word="NOT REPRODUCED")
PASSING = Status(category="passing", letter=".", word="PASSES")
FAILING = Status(category="failing", letter="F", word="FAILS")
NOT_APPLIED = Status(category="not applied", letter="F", word="DOES NOT APPLY")
NO_PATCH = Status(category="without a patch", letter="F", word="NO PATCH")
NO_PLACE = Status(category="without a place", letter="F", word="NO PLACE")

#: Seconds of silence after which long work is shown to go on.
SIGN_OF_LIFE = 30.0


class Work(OurItem):
    """An item that waits for a future and keeps what it found."""

    def __init__(self, *, run: Run, **kwargs: Any) -> None:  # pytest's own arguments
        super().__init__(**kwargs)
        self.work = run

    def runtest(self) -> None:
        """Wait for the result; raise Missed when there is none to speak of."""
        # A project's `-W error` is about its own code, not about ours.
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            self.wait()

    @abstractmethod
    def start(self) -> None:
        """Have the work done in the background, so that it is ready when its turn comes."""

    @abstractmethod
    def wait(self) -> None:
        """Wait for the work and record it."""

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

    def keep(self, record: object) -> None:
        """Put `record` on the report, where other people's reporters find it."""
        self.user_properties.append(("brt", to_json(record)))


class AttemptItem(Work):
    """One run of one strategy on one issue."""

    def __init__(self, *, key: AttemptKey, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.key = key
        self.attempt: Attempt | None = None

    def _shown(self) -> None:
        # What takes a moment needs no account of it.
        if self.work.plan.strategies[self.key.strategy].asks:
            self.show()

    def start(self) -> None:
        """Start the attempt."""
        self.work.attempt(self.key)

    def wait(self) -> None:
        """Wait for the attempt; the last one at a report says no when none reproduced it."""
        self.attempt = result_of(self.work.attempt(self.key), self._shown)
        self.seconds = self.attempt.seconds
        self.keep(attempt_json(self.attempt))
        sure, possible = bug_tests(self.attempt.tests)
        if sure:
            self.status = REPRODUCED
            return
        if self._is_a_means():
            raise Missed("no bug test found")
        others = [item for item in self.session.items if self._has_same_report(item)]
        found = [item.attempt for item in others if isinstance(item, AttemptItem)]
        made = [attempt for attempt in found if attempt is not None]
        if len(made) < len(found) or any(bug_tests(attempt.tests)[0] for attempt in made):
            raise Missed("this run found no bug test; the report is judged by all of them")
        possible = bug_tests(test for attempt in made for test in attempt.tests)[1]
        raise Missed(of_report(made), POSSIBLE if possible else NOT_REPRODUCED)

    def _has_same_report(self, item: pytest.Item) -> bool:
        return isinstance(item, AttemptItem) and item.key.issue == self.key.issue

    def _is_a_means(self) -> bool:
        """Say whether a repair or a place is what was asked for: tests may have been given."""
        return any(
            isinstance(item, RepairItem | LocaliseItem) and item.case.issue_id == self.key.issue
            for item in self.session.items
        )


class PatchItem(Work):
    """One row: all tests on one patch."""

    def __init__(self, *, case: Case, patch: Patch, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.case = case
        self.patch = patch

    def start(self) -> None:
        """Start the row, and the attempts that it needs."""
        self.work.row(self.case, self.patch)

    def wait(self) -> None:
        """Wait for the row; a patch that does not fix the bug says why."""
        result = result_of(self.work.row(self.case, self.patch), self.show)
        self.seconds = result.seconds
        self.keep(result_json(result))
        if not result.applies:
            raise Missed(result.reason, NOT_APPLIED)
        if all(cell.verdict is Verdict.INVALID for cell in result.cells):
            raise Missed("no bug test could be run on it")
        tests = self.work.tests(self.case)
        trusted = {t.test.id: t.judgement.reproduces for t in tests if t.judgement.candidate}
        short = shortcoming(result, trusted)
        if short:
            raise Missed(short, FAILING)
        self.status = PASSING


class RepairItem(Work):
    """One run of one repair strategy on one issue, and the rows of the fixes that it found."""

    def __init__(self, *, case: Case, key: AttemptKey, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.case = case
        self.key = key

    def start(self) -> None:
        """Start the repair, and the attempts that it needs."""
        self.work.repair(self.case, self.key)

    def wait(self) -> None:
        """Wait for the repair and for its rows; a miss says why there is no fix."""
        repair = result_of(self.work.repair(self.case, self.key), self.show)
        self.seconds = repair.seconds
        self.keep(repair_json(repair))
        for row in self.work.rows_of(self.case, repair):
            result_of(row)
        if all(fix.broken for fix in repair.fixes):
            broken = "every fix that passes the bug tests breaks existing tests"
            why = broken if repair.fixes else "; ".join(repair.notes) or "no patch was found"
            raise Missed(why, NO_PATCH)


class LocaliseItem(Work):
    """Where the bug of one issue may be."""

    def __init__(self, *, case: Case, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.case = case

    def start(self) -> None:
        """Start looking, and the attempts that it needs."""
        self.work.localised(self.case)

    def wait(self) -> None:
        """Wait for the places; none at all is a miss."""
        found = result_of(self.work.localised(self.case))
        self.seconds = found.seconds
        self.keep(localised_json(found))
        if not found.places:
            raise Missed("; ".join(found.notes) or "nothing points to a place", NO_PLACE)


class IssueFile(pytest.File):
    """A bug report: one item per attempt, per repair, and one for its places."""

    def __init__(self, *, run: Run, case: Case, localise: bool = False, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.work = run
        self.case = case
        self.localise = localise

    def collect(self) -> Iterator[Work]:
        """Yield ``replay``, or ``agent-00``, ``agent-01``, … where a strategy runs often."""
        plan = self.work.plan
        for key in plan.keys(self.case):
            name = _name(key, plan.strategies[key.strategy].runs)
            yield AttemptItem.from_parent(self, name=name, run=self.work, key=key)
        for key in plan.repair_keys(self.case):
            assert plan.repairs is not None, "it has keys"
            name = _name(key, plan.repairs.strategies[key.strategy].runs)
            yield RepairItem.from_parent(self, name=name, run=self.work, case=self.case, key=key)
        if self.localise:
            yield LocaliseItem.from_parent(self, name="places", run=self.work, case=self.case)


class PatchFile(pytest.File):
    """A file of patches, nearly always one: an item per patch, its row."""

    def __init__(self, *, run: Run, case: Case, patches: tuple[Patch, ...], **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.work = run
        self.case = case
        self.patches = patches

    def collect(self) -> Iterator[PatchItem]:
        """Yield ``epr``, and ``epr-2``, … for further patches in a mailbox."""
        for number, patch in enumerate(self.patches, start=1):
            name = "epr" if number == 1 else f"epr-{number}"
            yield PatchItem.from_parent(self, name=name, run=self.work, case=self.case, patch=patch)


def _name(key: AttemptKey, runs: int) -> str:
    return f"{key.strategy}-{key.index:02}" if runs > 1 else key.strategy


def result_of(future: Future[T], meanwhile: Callable[[], None] = lambda: None) -> T:
    """Return the future's result, in waits short enough for Ctrl-C to be heard.

    `meanwhile` is called in between, and before it returns.
    """
    while True:
        try:
            result = future.result(timeout=0.5)
        except TimeoutError:
            meanwhile()
            if future.done():
                return future.result()
        else:
            meanwhile()
            return result
