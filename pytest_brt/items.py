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
from pytest_brt.ours import Missed, OurItem
from pytest_brt.plan import AttemptKey, Case
from pytest_brt.progress import PROGRESS
from pytest_brt.report.json import attempt_json, localised_json, repair_json, result_json
from pytest_brt.run import Run
from pytest_brt.shown import show
from pytest_brt.types import Patch

T = TypeVar("T")

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

    def _shown(self) -> None:
        # What takes a moment needs no account of it.
        if self.work.plan.strategies[self.key.strategy].asks:
            self.show()

    def start(self) -> None:
        """Start the attempt."""
        self.work.attempt(self.key)

    def wait(self) -> None:
        """Wait for the attempt; a miss says what was looked for."""
        attempt = result_of(self.work.attempt(self.key), self._shown)
        self.seconds = attempt.seconds
        self.keep(attempt_json(attempt))
        if any(judged.judgement.reproduces for judged in attempt.tests):
            return
        possible = sum(judged.judgement.candidate for judged in attempt.tests)
        if possible:
            raise Missed(f"{possible} failing tests may be about the report, none surely is")
        raise Missed("; ".join(attempt.notes) or "no test failed for the reported reason")


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
        """Wait for the row; a patch that does not apply is a miss with its reason."""
        result = result_of(self.work.row(self.case, self.patch))
        self.seconds = result.seconds
        self.keep(result_json(result))
        if not result.applies:
            raise Missed(result.reason)
        if not result.cells:
            raise Missed("no evidence: no candidate test to run on it")


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
        if not repair.fixes:
            raise Missed("; ".join(repair.notes) or "no fix was found")


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
            raise Missed("; ".join(found.notes) or "nothing points to a place")


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
