"""Finds the commit that fixed a bug: a test that passes here is put into older revisions."""

from __future__ import annotations

import time
from collections.abc import Callable

from pytest_brt.oracle.report_facts import ASSERTIONS
from pytest_brt.patches.history import History
from pytest_brt.render.words import listed
from pytest_brt.sandbox.placing import Test
from pytest_brt.sandbox.run_tests import Runner
from pytest_brt.types import CandidateTest, Fix, TestRun, Verdict

#: Untestable revisions in a row, on the way back, after which the rest is not tried.
_MOST_UNTESTABLE = 3
#: Steps back, each twice as long as the last one.
_MOST_STEPS = 64
_WORDS = {True: "has the bug", False: "fixed", None: "cannot be tested"}
#: Files of a commit that are shown.
_FILES = 3


def find_fix(
    history: History,
    engine: Runner,
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
    line = history.first_parents()
    states: dict[int, bool | None] = {}

    def has_bug(place: int) -> bool | None:
        """Return whether a revision has the bug, None where the test cannot say."""
        run = engine.run([Test.of(test)], history.changes_to(line[place]))[0]
        states[place] = shows_bug(run, test)
        say(f"{line[place].short}: {_WORDS[states[place]]}")
        return states[place]

    if line and history.changes_to(line[0]) and has_bug(0):
        return Fix(code="fixed-here", text="fixed by what is not committed yet")
    steps = {min(1 << power, len(line) - 1) for power in range(len(line))[:_MOST_STEPS]}
    for place in sorted(steps - {0}):
        hopeless = [*states.values()][-_MOST_UNTESTABLE:] == [None] * _MOST_UNTESTABLE
        if hopeless or time.monotonic() >= deadline or has_bug(place):
            break
    fixed = [place for place, state in states.items() if state is False]
    buggy = max(states, key=lambda place: states[place] is True, default=0)
    if not states.get(buggy):
        if not fixed:
            return None
        oldest = history.described(line[max(fixed)])
        older = "an older revision" if len(fixed) == 1 else f"{len(fixed)} older revisions"
        text = f"nor in {older}, back to {oldest.short} {oldest.about}"
        return Fix(code="never-seen", text=text)
    newer = max(fixed, default=0)
    while time.monotonic() < deadline:
        untried = [place for place in range(newer + 1, buggy) if place not in states]
        if not untried:
            break
        middle = min(untried, key=lambda place: abs(place - (newer + buggy) / 2))
        if (state := has_bug(middle)) is not None:
            newer, buggy = (newer, middle) if state else (middle, buggy)
    first, last = (history.described(line[place]) for place in (buggy - 1, newer))
    if first != last:
        text = f"fixed by one of the {buggy - newer} commits from {first.short} to {last.short}"
        return Fix(code="fixed-among", text=text)
    files = history.changed_files(last)[:_FILES]
    changed = f", which changed {listed(files)}" if files else ""
    text = f"fixed by {last.short} ({last.about}){changed}"
    return Fix(code="fixed-by", text=text, commit=last.short)


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
    wanted = {test.expects.name} if test.expects else ASSERTIONS
    return True if run.raised.name in wanted else None
