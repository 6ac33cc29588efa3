"""Finds the commit that made a test fail: the test is put into each revision that is tried."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

from pytest_brt.execute.engine import Engine, Row, TestTarget
from pytest_brt.revisions.commits import History, Revision
from pytest_brt.types import Raised, TestRun, Verdict


class RevisionState(StrEnum):
    """What a revision is, as the test tells."""

    GOOD = "good"
    BAD = "bad"
    #: The test cannot be run there, or fails of something else: neither good nor bad.
    UNTESTABLE = "untestable"


@dataclass(frozen=True, slots=True, kw_only=True)
class Bisection:
    """What was found."""

    #: The commits of which one made the test fail, oldest first; a single one when it is found.
    suspects: tuple[Revision, ...] = ()
    #: Why nothing was searched, or "".
    problem: str = ""


def bisect(
    history: History,
    engine: Engine,
    target: TestTarget,
    good: Revision,
    bad: Revision,
    say: Callable[[Revision, RevisionState, TestRun], None],
) -> Bisection:
    """Return which commit after `good`, along first parents up to `bad`, made `target` fail.

    The target has its source, to be put into any revision. How it fails on `bad` is what is looked
    for; `say` is told of each revision tried, what it is, and what the test did.

    Raises:
        UsageProblem: `good` is no ancestor of `bad`.
        SubjectProblem: the interpreter cannot be started at all.
    """
    commits = history.between(good, bad)
    if not commits:
        return Bisection(problem="there is no commit between the two")

    def look(revision: Revision, wanted: Raised | None) -> tuple[RevisionState, TestRun]:
        changes = history.changes_to(revision)
        run = engine.run(Row(changes=changes, targets=(target,))).runs[0]
        state = judge(run, wanted)
        say(revision, state, run)
        return state, run

    state, run = look(bad, None)
    failure = run.raised
    if state is not RevisionState.BAD:
        return Bisection(problem=f"the test does not fail on {bad.short}")
    if look(good, failure)[0] is not RevisionState.GOOD:
        return Bisection(problem=f"the test does not pass on {good.short}")
    return Bisection(suspects=_narrow(commits, lambda revision: look(revision, failure)[0]))


def _narrow(
    commits: tuple[Revision, ...], look: Callable[[Revision], RevisionState]
) -> tuple[Revision, ...]:
    """Return the commits of which one is the first bad one; the last is known to be bad."""
    low, high = -1, len(commits) - 1  # good before `low + 1`, bad at `high`
    untestable: set[int] = set()
    while places := [place for place in range(low + 1, high) if place not in untestable]:
        middle = min(places, key=lambda place: abs(place - (low + high) / 2))
        state = look(commits[middle])
        if state is RevisionState.GOOD:
            low = middle
        elif state is RevisionState.BAD:
            high = middle
        else:
            untestable.add(middle)
    return commits[low + 1 : high + 1]


def judge(run: TestRun, wanted: Raised | None) -> RevisionState:
    """Return what a run says about a revision.

    A failure is bad when it raises what is looked for. A test that is broken there, because what
    it uses is not written yet, says nothing about the bug: that is not bad.
    """
    if run.verdict is Verdict.PASS:
        return RevisionState.GOOD
    if run.verdict is not Verdict.FAIL:
        return RevisionState.UNTESTABLE
    if wanted is None or (run.raised is not None and run.raised.type == wanted.type):
        return RevisionState.BAD
    return RevisionState.UNTESTABLE
