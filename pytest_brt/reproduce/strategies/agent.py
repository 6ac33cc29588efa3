"""The agent that writes tests: the paper's (001, 4.2), and the same with what `auto` found out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from pytest_brt.agents.loop import Agent, run_agent
from pytest_brt.agents.specs import BRT_AGENT
from pytest_brt.agents.write_tests import TestWork
from pytest_brt.oracle.judge import refusal, run_tests
from pytest_brt.project.index import Index
from pytest_brt.reproduce.extract import Extractor, in_folder
from pytest_brt.reproduce.order import select
from pytest_brt.reproduce.prompt import Findings, gather
from pytest_brt.reproduce.rate import judge_written
from pytest_brt.reproduce.reduce import reduce_test
from pytest_brt.reproduce.strategy import Workbench, seed_of
from pytest_brt.types import (
    Attempt,
    CandidateTest,
    Ending,
    Issue,
    Origin,
    TestsWritten,
    Trajectory,
)
from pytest_brt.types.attempt import DialogueEnded

#: Characters of the code that the first messages show, at most.
_CODE = 8_000


def agent(issue: Issue, number: int, bench: Workbench, index: Index) -> Attempt:
    """Make the tests of one run of the paper's agent; nothing is run beforehand.

    Raises:
        ModelProblem: the model cannot be asked even once.
        SubjectProblem: the project's interpreter cannot be started.
    """
    return write_tests(BRT_AGENT, number, bench, gather(issue, index, bench))


def write_tests(
    spec: Agent,
    number: int,
    bench: Workbench,
    findings: Findings,
    refused: Sequence[str] = (),
) -> Attempt:
    """Make the tests of one run of an agent, which may be told why others were `refused`."""
    env = _work(spec, number, bench, findings)
    spec = replace(spec, steps=bench.steps or spec.steps)
    values = findings.values(min(_CODE, bench.model.context))
    values |= {"new_test": env.new_file, "refused": refused, "in_auto": spec.ends_early}
    trajectory = run_agent(spec, env, spec.opening(values))
    tests = _tests_of(trajectory, env)
    runs, facts = run_tests(tests, bench.engine, bench.repeat), bench.facts(findings.issue)
    judged = [judge_written(test, runs[test.id], facts) for test in tests]
    small = [reduce_test(one, bench.engine, bench.repeat, facts) for one in judged]
    ending, steps = trajectory.ending, len(trajectory.steps)
    is_good = ending is Ending.FINISH and any(one.judgement.candidate for one in small)
    note = DialogueEnded(ending=ending, steps=steps, said=trajectory.reason, wrote=bool(tests))
    return Attempt(
        issue=findings.issue.id,
        strategy=spec.name,
        index=number,
        tests=select(small),
        notes=() if is_good else (note,),
        trajectories=(trajectory,),
    )


def _work(spec: Agent, number: int, bench: Workbench, findings: Findings) -> TestWork:
    """Return what one run works with."""
    issue, index, model = findings.issue, findings.index, bench.model
    facts, suite = bench.facts(issue), bench.engine.subject.test_root
    seed = seed_of(issue.id, spec.name, number, bench.seed)
    origin = Origin(strategy=spec.name, model=model.name, seed=seed)

    def extract(path: str, reply: str) -> tuple[list[CandidateTest], list[str]]:
        host = path if path in index.layout.files else ""
        extractor = Extractor(issue=issue, index=index, folder=suite, host=host)
        made = extractor.tests(reply, origin)
        tests = [one.test for one in made]
        if not host:
            folder = path.rpartition("/")[0]
            tests = [in_folder(replace(test, host=""), folder) for test in tests]
        return tests, [text for one in made for text in one.problems]

    return TestWork(
        issue=issue,
        index=index,
        model=model,
        editor=bench.editor or model,
        seed=seed,
        say=bench.say,
        engine=bench.engine,
        extract=extract,
        objection=lambda test, runs: refusal(test, runs, facts),
        new_file=f"{suite.strip('./')}/test_reported.py".lstrip("/"),
        ends_early=spec.ends_early,
        may_end=spec.ends_early and bool(findings.test),
    )


def _tests_of(trajectory: Trajectory, env: TestWork) -> list[CandidateTest]:
    """Return the tests that an agent left, the last first; in `auto` those written over, too."""
    effects = [effect for step in trajectory.steps[::-1] for effect in step.effects]
    written = [effect for effect in effects if isinstance(effect, TestsWritten)]
    tests = {test.id: test for effect in written for test in effect.tests}
    last = {test.id for tests in env.written.values() for test in tests}
    return [test for test in tests.values() if env.ends_early or test.id in last]
