"""Finds the commit that fixed a bug: a test that passes here is put into older revisions."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import StrEnum

from pytest_brt.execute.engine import Engine, Row, target_of
from pytest_brt.oracle.draft import simple
from pytest_brt.oracle.report_facts import ASSERTIONS
from pytest_brt.revisions.commits import History, Revision
from pytest_brt.types import CandidateTest, TestRun, Verdict
from pytest_brt.types.fixed import Fix, FixedAmong, FixedBy, FixedHere, NeverSeen

#: Untestable revisions in a row, on the way back, after which the rest is not tried.
_MOST_UNTESTABLE = 3
#: Files of a commit that are told.
_FILES = 3


class RevisionState(StrEnum):
    """What a revision is, as the test tells."""

    FIXED = "fixed"
    BUGGY = "buggy"
    #: The test cannot be run there, or fails of something else.
    UNTESTABLE = "untestable"


def find_fix(
    history: History,
    engine: Engine,
    test: CandidateTest,
    deadline: float,
    say: Callable[[str], None] = lambda _: None,
) -> Fix | None:
    """Return what made `test` pass, which does so on the working tree; None where nothing ran.

    It looks back along first parents, twice as far each time, for a revision on which the test
    fails as the report says, and then between the two; nothing new is tried after `deadline`, as
    `time.monotonic` counts. The working tree is left alone.

    Raises:
        UsageProblem: git cannot tell the history.
        SubjectProblem: the interpreter cannot be started at all.
    """
    search = _Search(history, engine, test, deadline, say, history.first_parents())
    is_changed = bool(search.line) and bool(history.changes_to(search.line[0]))
    if is_changed and search.state(0) is RevisionState.BUGGY:
        return FixedHere()
    return search.fix()


@dataclass(slots=True)
class _Search:
    """The revisions from the newest to the oldest, and what is known of them."""

    history: History
    engine: Engine
    test: CandidateTest
    deadline: float
    say: Callable[[str], None]
    line: tuple[Revision, ...]
    states: dict[int, RevisionState] = field(default_factory=dict)

    @property
    def is_over(self) -> bool:
        return time.monotonic() >= self.deadline

    def state(self, place: int) -> RevisionState:
        """Return what the revision at `place` is; it is tried once."""
        if place not in self.states:
            revision = self.line[place]
            changes = self.history.changes_to(revision)
            run = self.engine.run(Row(changes=changes, targets=(target_of(self.test),))).runs[0]
            self.states[place] = state_of(run, self.test)
            self.say(f"{revision.short}: {self.states[place]}")
        return self.states[place]

    def fix(self) -> Fix | None:
        """Return what is found."""
        fixed, buggy = self._back()
        if buggy is not None:
            return self._between(fixed, buggy)
        tried = [place for place, it in self.states.items() if it is RevisionState.FIXED]
        if not tried:
            return None
        oldest = self.history.described(self.line[max(tried)])
        return NeverSeen(revisions=len(tried), oldest=f"{oldest.short} {oldest.about}")

    def _back(self) -> tuple[int, int | None]:
        """Return the oldest revision known to be fixed, and a buggy one behind it, or None."""
        fixed, place, untestable = 0, 1, 0
        while place < len(self.line) and not self.is_over and untestable < _MOST_UNTESTABLE:
            state = self.state(place)
            if state is RevisionState.BUGGY:
                return fixed, place
            if state is RevisionState.FIXED:
                fixed = place
            untestable = untestable + 1 if state is RevisionState.UNTESTABLE else 0
            last = len(self.line) - 1
            place = last if place < last < 2 * place else 2 * place
        return fixed, None

    def _between(self, fixed: int, buggy: int) -> Fix:
        """Return which of the revisions after the buggy one, up to the fixed one, did it."""
        while places := self._untried(fixed, buggy):
            middle = min(places, key=lambda place: abs(place - (fixed + buggy) / 2))
            state = self.state(middle)
            if state is RevisionState.FIXED:
                fixed = middle
            elif state is RevisionState.BUGGY:
                buggy = middle
        first, last = (self.history.described(self.line[p]) for p in (buggy - 1, fixed))
        if first == last:
            files = self.history.changed_files(last)[:_FILES]
            return FixedBy(commit=last.short, about=last.about, files=files)
        return FixedAmong(first=first.short, last=last.short, commits=buggy - fixed)

    def _untried(self, fixed: int, buggy: int) -> list[int]:
        if self.is_over:
            return []
        return [place for place in range(fixed + 1, buggy) if place not in self.states]


def state_of(run: TestRun, test: CandidateTest) -> RevisionState:
    """Return what a run of the test says about a revision.

    A failure is the bug when it raises what the report shows, or where the test is about a value
    when its assertion fails. A test that is broken there, because what it uses is not written yet,
    says nothing.
    """
    if run.verdict is Verdict.PASS:
        return RevisionState.FIXED
    if run.verdict is not Verdict.FAIL or run.raised is None:
        return RevisionState.UNTESTABLE
    wanted = {simple(test.expects.type)} if test.expects else ASSERTIONS
    is_wanted = simple(run.raised.type) in wanted
    return RevisionState.BUGGY if is_wanted else RevisionState.UNTESTABLE
