"""Finds the commit that fixed a bug: a test that passes here is put into older revisions."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field

from pytest_brt.execute.engine import Engine, Row, target_of
from pytest_brt.oracle.draft import simple
from pytest_brt.oracle.report_facts import ASSERTIONS
from pytest_brt.patches.history import History, Revision
from pytest_brt.render.words import listed
from pytest_brt.types import CandidateTest, Fix, TestRun, Verdict

#: Untestable revisions in a row, on the way back, after which the rest is not tried.
_MOST_UNTESTABLE = 3
#: Files of a commit that are shown.
_FILES = 3


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
    search = _Search(history, engine, test, say, history.first_parents())
    line = search.line
    if line and history.changes_to(line[0]) and search.has_bug(0):
        return Fix(code="fixed-here", text="fixed by what is not committed yet")
    fixed, place = 0, 1
    while (
        place < len(line) and time.monotonic() < deadline and search.untestable < _MOST_UNTESTABLE
    ):
        if search.has_bug(place):
            break
        fixed = place if search.states[place] is False else fixed
        place = len(line) - 1 if place < len(line) - 1 < 2 * place else 2 * place
    else:
        tried = [place for place, has_bug in search.states.items() if has_bug is False]
        if not tried:
            return None
        oldest = history.described(line[max(tried)])
        older = "an older revision" if len(tried) == 1 else f"{len(tried)} older revisions"
        text = f"nor in {older}, back to {oldest.short} {oldest.about}"
        return Fix(code="never-seen", text=text)
    buggy = place
    while time.monotonic() < deadline:
        untried = [place for place in range(fixed + 1, buggy) if place not in search.states]
        if not untried:
            break
        middle = min(untried, key=lambda place: abs(place - (fixed + buggy) / 2))
        has_bug = search.has_bug(middle)
        if has_bug is not None:
            fixed, buggy = (fixed, middle) if has_bug else (middle, buggy)
    first, last = (history.described(line[place]) for place in (buggy - 1, fixed))
    if first != last:
        text = f"fixed by one of the {buggy - fixed} commits from {first.short} to {last.short}"
        return Fix(code="fixed-among", text=text)
    files = history.changed_files(last)[:_FILES]
    changed = f", which changed {listed(files)}" if files else ""
    text = f"fixed by {last.short} ({last.about}){changed}"
    return Fix(code="fixed-by", text=text, commit=last.short)


@dataclass(slots=True)
class _Search:
    """The revisions from the newest to the oldest, and whether each has the bug, where known."""

    history: History
    engine: Engine
    test: CandidateTest
    say: Callable[[str], None]
    line: tuple[Revision, ...]
    states: dict[int, bool | None] = field(default_factory=dict)
    #: How many of the last revisions tried cannot be tested.
    untestable: int = 0

    @property
    def is_hopeless(self) -> bool:
        return self.untestable >= _MOST_UNTESTABLE

    def has_bug(self, place: int) -> bool | None:
        """Return whether a revision has the bug, None where the test cannot say."""
        revision = self.line[place]
        row = Row(changes=self.history.changes_to(revision), targets=(target_of(self.test),))
        state = shows_bug(self.engine.run(row).runs[0], self.test)
        self.states[place] = state
        self.untestable = self.untestable + 1 if state is None else 0
        words = {True: "has the bug", False: "fixed", None: "cannot be tested"}
        self.say(f"{revision.short}: {words[state]}")
        return state


def shows_bug(run: TestRun, test: CandidateTest) -> bool | None:
    """Return whether a run of the test shows the bug; None where it says nothing.

    A failure is the bug when it raises what the report shows, or where the test is about a value
    when its assertion fails. A test that is broken there, because what it uses is not written yet,
    says nothing.
    """
    if run.verdict is Verdict.PASS:
        return False
    if run.verdict is not Verdict.FAIL or run.raised is None:
        return None
    wanted = {simple(test.expects.type)} if test.expects else ASSERTIONS
    return True if simple(run.raised.type) in wanted else None
