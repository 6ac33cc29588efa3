"""The agent that writes tests: the paper's (001, 4.2), and the same with what `auto` found out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from pytest_brt.agents.loop import Agent, run_agent
from pytest_brt.agents.specs import BRT_AGENT
from pytest_brt.agents.write_tests import TestWork
from pytest_brt.oracle.judge import refusal, run_tests
from pytest_brt.project.index import Index
from pytest_brt.render.words import count
from pytest_brt.reproduce.extract import Extractor, in_folder
from pytest_brt.reproduce.order import select
from pytest_brt.reproduce.prompt import Findings, gather
from pytest_brt.reproduce.rate import judge_written
from pytest_brt.reproduce.reduce import reduce_test
from pytest_brt.reproduce.strategy import Workbench, seed_of
from pytest_brt.types import Attempt, CandidateTest, Ending, Issue, Note, Origin, TestsWritten

#: How a dialogue ended, for people.
_ENDED = {
    Ending.FINISH: "the model ended it",
    Ending.STEPS: "its steps ran out",
    Ending.TOKENS: "the context is full",
    Ending.TIME: "time limit reached",
    Ending.LOOP: "stopped: repeated the same action",
    Ending.ERROR: "the model failed",
}

#: Characters of the code that the first messages show, at most.
_CODE = 8_000


def agent(issue: Issue, number: int, bench: Workbench, index: Index) -> Attempt:
    """Make the tests of one run of the paper's agent; nothing is run beforehand.

    Raises:
        ModelProblem: the model cannot be asked even once.
        SubjectProblem: the project's interpreter cannot be started.
    """
    findings = gather(issue, index, buggy=bench.buggy, host=bench.host)
    return write_tests(BRT_AGENT, number, bench, findings)


def write_tests(
    spec: Agent,
    number: int,
    bench: Workbench,
    findings: Findings,
    refused: Sequence[str] = (),
) -> Attempt:
    """Make the tests of one run of an agent, which may be told why others were `refused`."""
    issue, index, model = findings.issue, findings.index, bench.model
    facts, spec = bench.facts(issue), replace(spec, steps=bench.steps or spec.steps)
    seed = seed_of(issue.id, spec.name, number, bench.seed)
    suite = bench.engine.subject.test_root

    def extract(path: str, reply: str) -> tuple[list[CandidateTest], list[str]]:
        host = path if env.on_disk(path) is not None else ""
        extractor = Extractor(issue=issue, index=index, folder=suite, host=host)
        made = extractor.tests(reply, Origin(strategy=spec.name, model=model.name, seed=seed))
        tests = [one.test for one in made]
        if not host:
            folder = path.rpartition("/")[0]
            tests = [in_folder(replace(test, host=""), folder) for test in tests]
        return tests, [text for one in made for text in one.problems]

    env = TestWork(
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
    values = findings.values(min(_CODE, model.context))
    values |= {"new_test": env.new_file, "refused": refused, "in_auto": spec.ends_early}
    trajectory = run_agent(spec, env, spec.opening(values))
    written = [
        test
        for step in reversed(trajectory.steps)
        for effect in step.effects
        if isinstance(effect, TestsWritten)
        for test in effect.tests
        # In `auto` tests that the agent wrote over count too.
        if spec.ends_early or test in env.written[effect.path]
    ]
    tests = list({test.id: test for test in written}.values())
    runs = run_tests(tests, bench.engine, bench.repeat)
    judged = [judge_written(test, runs[test.id], facts) for test in tests]
    small = [reduce_test(one, bench.engine, bench.repeat, facts) for one in judged]
    ending, steps = trajectory.ending, len(trajectory.steps)
    is_good = ending is Ending.FINISH and any(one.judgement.candidate for one in small)
    more = f" ({trajectory.reason})" if trajectory.reason else ""
    text = f"{count(steps, 'step')}: {_ENDED[ending]}{more}"
    note = Note(code="dialogue-ended", text=text if tests else f"{text}; no test was written")
    return Attempt(
        issue=issue.id,
        strategy=spec.name,
        index=number,
        tests=select(small),
        notes=() if is_good else (note,),
        trajectories=(trajectory,),
    )
