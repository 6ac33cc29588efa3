"""Runs the tests that an agent wrote, and tells it what they did and what that means."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import PurePosixPath

from pytest_brt.agent.action import Outcome, Refusal
from pytest_brt.agent.running import describe_run, worst_verdict
from pytest_brt.code.layout import is_test_path
from pytest_brt.execute.engine import Row, TestTarget
from pytest_brt.oracle.judge import refusal
from pytest_brt.reproduce.agent.task import TestTask
from pytest_brt.types import CandidateTest, TestRun, TestsRan, Verdict

#: Tests of a whole file that are told in full.
_TESTS = 5
_MEANS = {
    Verdict.PASS: "It passes on the code with the bug: it does not show the bug. Find an input "
    "that reaches the line where it goes wrong.",
    Verdict.BROKEN: "The test itself is wrong. Correct it.",
    Verdict.TIMEOUT: "It did not end in time.",
    Verdict.SKIP: "It was skipped. A test must not be skipped.",
    Verdict.XFAIL: "It is marked to fail. Take the mark away.",
}


def run_test_file(task: TestTask, path: str, tests: Sequence[CandidateTest]) -> Outcome:
    """Run an agent's own `tests` of the file `path`; the whole file where there is none.

    What the report says may be a reason not to accept a test that fails; that is told.

    Raises:
        Refusal: there is no test.
        SubjectProblem: the interpreter cannot be started at all.
    """
    targets = tuple(
        TestTarget(id=test.name, path=test.path, source=test.source, node=test.name)
        for test in tests
    )
    if not targets:
        if not is_test_path(path):
            raise Refusal(f"{path!r} is no test file. Write a test first.")
        targets = (TestTarget(id=path, path=path),)
    runs = task.bench.engine.run(Row(targets=targets)).runs
    if not runs:
        raise Refusal(f"There is no test in {path!r}.")
    told = tell_tests(runs, _names(task, path, tests))
    objection = _objection(task, tests, runs)
    if objection:
        told += f"\nThis test is not accepted: {objection}."
    ran = TestsRan(path=path, verdict=worst_verdict(runs), objection=objection)
    return Outcome(observation=told, effects=(ran,))


def tell_tests(runs: Sequence[TestRun], names: Mapping[str, str] | None = None) -> str:
    """Return what `runs` did as a model is shown it; of many only those that did not pass.

    `names` stand for texts that it does not know, such as the file that its test was run in.
    """
    failing = [run for run in runs if run.verdict is not Verdict.PASS] or list(runs)
    parts = [
        "\n".join(filter(None, [describe_run(run, run.node or run.test), _MEANS.get(run.verdict)]))
        for run in failing[:_TESTS]
    ]
    if len(runs) > len(parts):
        passed = sum(run.verdict is Verdict.PASS for run in runs)
        parts.append(f"{len(runs)} tests in the file, {passed} pass.")
    told = "\n\n".join(parts)
    for text, name in (names or {}).items():
        told = told.replace(text, name)
    return told


def _objection(task: TestTask, tests: Sequence[CandidateTest], runs: Sequence[TestRun]) -> str:
    """Return why no failing test of `tests` would be a candidate, "" when one would."""
    found = [
        refusal(test, (run,), task.facts)
        for test in tests
        for run in runs
        if run.test == test.name and run.verdict is Verdict.FAIL
    ]
    return "" if "" in found else next(iter(found), "")


def _names(task: TestTask, path: str, tests: Sequence[CandidateTest]) -> dict[str, str]:
    """Return what the model calls the files that its tests are run in, and the project's root."""
    root = str(task.tree.root).rstrip("/")
    names = {f"{root}/": ""} if root else {}
    for test in tests:
        if test.path != path:
            names[test.path] = path
            names[PurePosixPath(test.path).stem] = PurePosixPath(path).stem
    return names
