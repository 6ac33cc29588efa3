"""Runs tests on the code as it is: those that fail because of the bug, or the whole suite."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated

from pytest_brt.agent.action import Outcome, Refusal
from pytest_brt.agent.loop import Turn
from pytest_brt.agent.running import sort_runs, tell_runs
from pytest_brt.repair.bug import Bug
from pytest_brt.types import TestRun, TestsRan
from pytest_brt.types.cause import TookTooLong

#: The argument of the action that runs tests, and what it is unless the model says more.
Which = Annotated[str, '"failing", or "all" for the whole suite']
FAILING = "failing"
_SUITE = ("all", "suite")
#: Share of the time that is left which the suite may take.
_SHARE = 1 / 3


def tests_outcome(bug: Bug, turn: Turn, which: str) -> Outcome:
    """Return what the failing tests do on the unchanged code, or all tests of the project.

    What of the suite there was no time for is said.

    Raises:
        Refusal: there is no such test.
        SubjectProblem: the interpreter cannot be started at all.
    """
    if which.strip().lower() not in _SUITE:
        return _outcome(bug, bug.failing_runs())
    runs = bug.run_suite(turn.session.seconds() * _SHARE or None)
    if not runs:
        raise Refusal("The project has no tests.")
    late = [r for r in runs if isinstance(r.cause, TookTooLong) and r.cause.is_of_all]
    reached = tuple(run for run in runs if run not in late)
    if not reached:
        raise Refusal("There was no time for the whole suite. Run the failing tests.")
    done = _outcome(bug, reached)
    if not late:
        return done
    files = "one file of tests" if len(late) == 1 else f"{len(late)} files of tests"
    told = f"{done.observation}\nThere was no time for {files}: nothing is known of them."
    return replace(done, observation=told)


def _outcome(bug: Bug, runs: tuple[TestRun, ...]) -> Outcome:
    ran = TestsRan(path="", verdict=sort_runs(runs).verdict)
    return Outcome(observation=tell_runs(runs, bug.names), effects=(ran,))
