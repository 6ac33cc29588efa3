"""Finds the commit that fixed a bug: a test that passes here is put into older revisions."""

from __future__ import annotations

import time
from collections.abc import Callable

from pytest_brt.oracle.draft import simple
from pytest_brt.oracle.report_facts import ASSERTIONS
from pytest_brt.patches.history import History
from pytest_brt.render.words import listed
from pytest_brt.sandbox.placing import Test
from pytest_brt.sandbox.run_tests import Runner
from pytest_brt.types import CandidateTest, Fix, TestRun, Verdict


def find_fix(
    history: History,
    engine: Runner,
    test: CandidateTest,
    deadline: float,
    say: Callable[[str], None] = lambda _: None,
) -> Fix | None:
    """Return what made `test` pass, which does so on the working tree; None where none is found.

    It looks back along first parents, twice as far each time, for a revision on which the test
    does not pass, and then between the two; the last one must fail as the report says. Nothing new
    is tried after `deadline`, as `time.monotonic` counts. The working tree is left alone.

    Raises:
        UsageProblem: git cannot tell the history.
        SubjectProblem: the interpreter cannot be started at all.
    """
    line = history.first_parents()

    def has_bug(place: int) -> bool | None:
        say(f"trying {line[place][:10]}")
        return shows_bug(engine.run([Test.of(test)], history.changes_to(line[place]))[0], test)

    if line and history.changes_to(line[0]) and has_bug(0):
        return Fix(code="fixed-here", text="fixed by what is not committed yet")
    newer, older, shows = 0, len(line), False
    while older - newer > 1 and time.monotonic() < deadline:
        place = min(2 * newer + 1, (newer + older) // 2)
        if (state := has_bug(place)) is False:
            newer = place
        else:
            older, shows = place, state is True
    if not shows or older - newer > 1:
        return None
    commit, before = line[newer], line[older]
    files = listed([change.path for change in history.changes_to(commit, before)][:3])
    changed = f", which changed {files}" if files else ""
    text = f"fixed by {commit[:10]} ({history.about(commit)}){changed}"
    return Fix(code="fixed-by", text=text, commit=commit[:10])


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
