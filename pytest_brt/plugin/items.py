"""What pytest shows as tests in our runs: an item is a unit of work, and waits for its result.

It passes once its work is done, whatever came of that, is skipped where a patch does not apply, and
fails only where we do: what came of all of them is the exit code's, and the summary's, to say.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, wait
from contextlib import nullcontext
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from traceback import StackSummary, TracebackException
from typing import Any, TypeVar

import pytest

from pytest_brt.errors import BrtError, ModelProblem
from pytest_brt.pysource.parse import PARSING
from pytest_brt.render.answer import bug_tests
from pytest_brt.render.ranking import shortcoming
from pytest_brt.run.futures import Run
from pytest_brt.run.plan import AttemptKey, Case
from pytest_brt.run.progress import Progress
from pytest_brt.shown import on_a_line, plain, show
from pytest_brt.types import Attempt, Patch, PatchResult, Repair

T = TypeVar("T")

#: Seconds of silence after which long work is shown to go on.
SIGN_OF_LIFE = 10.0
#: Folders of the packages that run our items.
_RUNNERS = frozenset({"_pytest", "pluggy"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What came of an item: how pytest counts it, as a letter, and with ``-v``."""

    category: str
    letter: str
    word: str
    #: What is not reached with it of what was asked for, "" where all is.
    unmet: str = ""


REPRODUCED = Outcome(category="reproduced", letter=".", word="REPRODUCED")
LIKELY = Outcome(category="possibly reproduced", letter=".", word="POSSIBLY REPRODUCED")
POSSIBLE = Outcome(
    category="possibly reproduced",
    letter="F",
    word="POSSIBLY REPRODUCED",
    unmet="a report was only possibly reproduced",
)
NOT_REPRODUCED = Outcome(
    category="not reproduced",
    letter="F",
    word="NOT REPRODUCED",
    unmet="a report was not reproduced",
)
PASSING = Outcome(category="passing", letter=".", word="PASSES")
FAILING = Outcome(category="failing", letter="x", word="FAILS", unmet="no patch passes")
UNTRIED = Outcome(
    category="not tried", letter="x", word="NOT TRIED", unmet="no patch could be ranked"
)
REFUSED = Outcome(
    category="not applied", letter="x", word="DOES NOT APPLY", unmet="no patch could be ranked"
)
PATCHED = Outcome(category="patched", letter=".", word="PATCHED")
NO_PATCH = Outcome(
    category="without a patch", letter="F", word="NO PATCH", unmet="no patch was found"
)
BREAKING = Outcome(
    category="without a patch",
    letter="F",
    word="NO PATCH",
    unmet="every patch that was found breaks existing tests",
)


class Work(pytest.Item):
    """A piece of work that pytest shows as a test."""

    #: What came of it.
    outcome: Outcome | None = None
    #: Seconds that the work itself took; waiting for others does not count.
    seconds: float | None = None

    def __init__(
        self,
        *,
        case: Case,
        start: Callable[[], Future[Any]],
        judge: Callable[[Any], Outcome],
        progress: Progress,
        **kwargs: Any,
    ) -> None:  # pytest's own arguments
        super().__init__(**kwargs)
        self.case = case
        #: Has the work done in the background, once, so that it is ready when its turn comes.
        self.start = start
        self._judge = judge
        self._progress = progress

    @property
    def goal(self) -> tuple[Any, str]:
        """What it is for; it is reached where one such item reaches it."""
        return getattr(self._judge, "func", self._judge), self.case.issue_id

    def runtest(self) -> None:
        """Wait for the result, and say what came of it."""
        # A project's `-W error` is about its own code, not about ours.
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                result = result_of(self.start(), self.show)
            except ModelProblem as problem:
                if (
                    not self._is_unheard()
                ):  # where no model ever answered, nothing of ours is broken
                    raise
                self._end(NO_PATCH if self.goal[0] is _repair else NOT_REPRODUCED, str(problem))
                return
            self.seconds = result.seconds
            outcome = self._judge(result)
        refused = getattr(result, "refused", None)
        self._end(outcome, refused.text if refused else "")
        if refused:
            pytest.skip(plain(refused.text))

    def _is_unheard(self) -> bool:
        plugin: Any = self.config.pluginmanager.getplugin("brt-session")
        return bool(plugin.unheard)

    def _end(self, outcome: Outcome, reason: str) -> None:
        self.outcome = outcome
        said = f"{outcome.category}: {reason}" if reason else outcome.category
        self.user_properties.append(("brt", plain(said)))

    def show(self) -> None:
        """Show what the work has said since: all with ``-v``, else now and then the last."""
        verbosity = self.config.get_verbosity()
        said = self._progress
        lines = said.taken() if verbosity > 0 else said.sign_of_life(SIGN_OF_LIFE)
        reporter: Any = self.config.pluginmanager.getplugin("terminalreporter")
        capture: Any = self.config.pluginmanager.getplugin("capturemanager")
        if not lines or reporter is None or verbosity < 0:
            return
        with capture.global_and_fixture_disabled() if capture else nullcontext():
            for line in lines:
                show(reporter, f"  {line}")

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        """Show our own errors as one line; anything else is a defect, without pytest's frames."""
        if isinstance(excinfo.value, BrtError):
            return plain(str(excinfo.value))
        if self.config.getoption("tbstyle", "auto") == "auto":
            return _defect(excinfo.value)
        with PARSING:  # pytest parses the source of every frame, while our threads parse too
            return super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Any, int | None, str]:
        """Return the heading of a failure."""
        name = self.name if "::" in self.nodeid else f"patch {self.name}"
        return Path(on_a_line(str(self.path))), None, name


def _defect(error: BaseException) -> str:
    """Return an exception that nobody expected, with the frames from our own code on."""
    told = TracebackException.from_exception(error)
    link: TracebackException | None = told
    while link is not None:
        link.stack = StackSummary.from_list(
            [frame for frame in link.stack if not _RUNNERS & set(Path(frame.filename).parts)]
        )
        link = link.__cause__ or link.__context__
    head = "internal error in pytest-brt: please report it with what follows (--tb=long shows more)"
    return f"{head}\n\n{''.join(told.format())}"


class Cases(pytest.Collector):
    """Makes the items of a run: one for each run of a strategy at a report, and for each patch."""

    def __init__(
        self, *, items: Callable[[pytest.Collector], Iterator[Work]], **kwargs: Any
    ) -> None:
        super().__init__(**kwargs)
        self._items = items

    def collect(self) -> Iterator[Work]:
        """Yield its items."""
        return self._items(self)


def work_on(
    parent: pytest.Collector, run: Run, progress: Progress, case: Case, patch: Patch | None
) -> Iterator[tuple[str, Callable[..., Work]]]:
    """Yield the name of each item of a report or a patch, "" for the file's, and what makes it."""
    make = partial(Work.from_parent, parent, case=case, progress=progress)
    if patch is not None:
        judge = partial(_patch, run, case)
        yield "", partial(make, start=partial(run.row, case, patch), judge=judge)
        return
    plan = run.plan
    for key in plan.keys(case):
        name = _name(key, plan.strategies[key.strategy].runs)
        yield name, partial(make, start=partial(run.attempt, key), judge=_attempt)
    for key in plan.repair_keys(case):
        assert plan.repairs is not None, "it has keys"
        name = _name(key, plan.repairs.strategies[key.strategy].runs)
        start = partial(run.repair, case, key)
        yield name, partial(make, start=start, judge=partial(_repair, run, case))


def _name(key: AttemptKey, runs: int) -> str:
    return f"{key.strategy}-{key.index:02}" if runs > 1 else key.strategy


def _attempt(result: Attempt) -> Outcome:
    sure, possible = bug_tests(result.tests)
    if sure:
        return REPRODUCED if any(test.judgement.reproduces for test in sure) else LIKELY
    return POSSIBLE if possible else NOT_REPRODUCED


def _patch(run: Run, case: Case, result: PatchResult) -> Outcome:
    if result.refused is not None:
        return REFUSED
    if not (result.verdicts or result.passes_own):
        return UNTRIED
    tests = [judged for judged in run.tests(case) if judged.judgement.candidate]
    trusted = {judged.test.id: judged.judgement.counts for judged in tests}
    return FAILING if shortcoming(result, trusted) else PASSING


def _repair(run: Run, case: Case, result: Repair) -> Outcome:
    for row in [run.row(case, fix.patch) for fix in result.fixes]:
        result_of(row)
    if not result.fixes:
        return NO_PATCH
    return BREAKING if all(fix.broken for fix in result.fixes) else PATCHED


def unmet_goals(items: Iterable[pytest.Item]) -> list[str]:
    """Return what was not reached of what the items were for.

    The goals are, for each report, a bug test, a patch that passes, and a fix; what is repaired
    need not be reproduced too, as tests may have been given.
    """
    goals: dict[tuple[Any, str], list[str]] = {}
    for item in items:
        if isinstance(item, Work) and item.outcome is not None:
            goals.setdefault(item.goal, []).append(item.outcome.unmet)
    repaired = {issue for kind, issue in goals if kind is _repair}
    missed = [
        # What comes nearest to the goal is said.
        max(said, key=_ORDER.index)
        for (kind, issue), said in goals.items()
        if all(said) and not (kind is _attempt and issue in repaired)
    ]
    return list(dict.fromkeys(missed))


_ORDER = [one.unmet for one in (NOT_REPRODUCED, POSSIBLE, UNTRIED, FAILING, NO_PATCH, BREAKING)]


def result_of(future: Future[T], meanwhile: Callable[[], None] = lambda: None) -> T:
    """Return the future's result, in waits short enough for Ctrl-C to be heard.

    `meanwhile` is called in between, and before it returns.
    """
    while not future.done():
        wait([future], timeout=0.5)
        meanwhile()
    meanwhile()
    return future.result()
