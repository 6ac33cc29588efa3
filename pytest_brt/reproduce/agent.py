"""The agent that writes tests (paper 001, 4.2)."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from itertools import chain

from pytest_brt.agents.loop import Agent, run_agent
from pytest_brt.agents.prompts import cut, describe_runs, render
from pytest_brt.agents.workspace import Observation, Refused, Workspace, cat, code_search
from pytest_brt.oracle.judge import refusal
from pytest_brt.project.pytest_config import USUAL
from pytest_brt.pysource.parse import decode
from pytest_brt.render.words import count
from pytest_brt.reproduce.extract import read_tests
from pytest_brt.reproduce.order import judge_tests, select
from pytest_brt.reproduce.prompt import Findings
from pytest_brt.reproduce.strategy import Workbench, seed_of
from pytest_brt.sandbox.placing import Test
from pytest_brt.sandbox.run_tests import most_severe
from pytest_brt.types import (
    Attempt,
    CandidateTest,
    Ending,
    FileChange,
    Note,
    Origin,
    Verdict,
)

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
_SHOWN = 8_000
#: Tokens of the answer of the model that writes code.
_CODE = 512


@dataclass(kw_only=True)
class TestWork(Workspace):
    """What an agent that writes tests works with."""

    __test__ = False

    bench: Workbench
    #: A test file that does not exist yet.
    new_file: str
    #: The tests written last into each file, by path.
    written: dict[str, list[CandidateTest]] = field(default_factory=dict)


def edit(
    env: TestWork, path: str, prompt: str = "", code: tuple[str, ...] = ()
) -> Observation:
    """Write a test into a test file.

    Say in "prompt" what it calls, with which values, and what it asserts; or write the whole test
    with its imports in a block of code.
    """
    if not any(kind.has_file(path) for kind in (USUAL, env.index.collected)):
        raise Refused(
            f"{path!r} is not a test file, and only test files can be edited. Write the test into "
            f"{env.new_file!r} or another test file."
        )
    reply = f"```python\n{code[0]}```\n" if code else _written(env, path, prompt)
    old = env.on_disk(path)
    folder = path.rpartition("/")[0]
    origin = Origin(strategy="agent", model=env.model.name)
    tests = read_tests(reply, env.issue, env.index, origin, folder, path if old else "")
    if not tests:
        raise Refused(
            "The answer had no test in it. Say in the prompt what the test must call."
        )
    env.written[path] = tests
    sources = [(test.source or "").rstrip("\n") for test in tests]
    content = [decode(old).rstrip("\n")] if old else []
    env.changed[path] = "\n\n\n".join([*content, *sources, ""]).encode()
    change = FileChange(path=path, content=env.changed[path])
    return Observation(render("written", path=path, tests=tests), changes=(change,))


def _written(env: TestWork, path: str, change: str) -> str:
    """Return the editor's answer, which holds the test (requirement 36 of the paper)."""
    (reply,) = env.ask(
        env.editor,
        "edit",
        _CODE,
        path=path,
        content=cut(decode(env.read(path)), env.editor.context * 3 // 2),
        package=next(iter(env.index.packages), ""),
        change=change,
    )
    return reply.text


def test(env: TestWork, path: str) -> Observation:
    """Run your test in a file."""
    own = {test.id: test for test in env.written.get(path, ())}
    if not own:
        raise Refused(f"There is no test of yours in {path}. Write one with edit first.")
    runs, facts = (
        env.bench.engine.run([*map(Test.of, own.values())]),
        env.bench.facts(env.issue),
    )
    verdict = most_severe(runs).verdict
    # Of several tests one that stands is enough.
    refusals = [
        refusal(own[run.test], (run,), facts) for run in runs if run.verdict is verdict
    ]
    objection = min(refusals, key=len) if verdict is Verdict.FAIL else ""
    text = render("tested", runs=describe_runs(runs), verdict=verdict, objection=objection)
    return Observation(text, verdict=verdict)


def finish(env: TestWork) -> Observation:
    """End: the test fails for the reported reason."""
    if not any(step.verdict for step in env.steps):
        raise Refused("There is no test yet that ran. Write one with edit, and run it.")
    return Observation("Done.", is_over=True)


#: BRT Agent and Passerine are one agent on two sides of the tree (paper 001, 4.2 and 5.1.2).
BRT_AGENT = Agent(
    prompt="agent",
    tools=(cat, code_search, edit, test, finish),
    temperature=0.2,
    runs=20,
)


def write_tests(number: int, bench: Workbench, findings: Findings) -> Attempt:
    """Make the tests of one run of the agent.

    Raises:
        ModelProblem: the model cannot be asked even once.
        SubjectProblem: the project's interpreter cannot be started.
    """
    issue = findings.issue
    env = TestWork(
        issue=issue,
        index=findings.index,
        model=bench.model,
        editor=bench.editor or bench.model,
        seed=seed_of(issue.id, "agent", number),
        say=bench.say,
        bench=bench,
        new_file=f"{bench.engine.subject.test_root.strip('./')}/test_reported.py".lstrip(
            "/"
        ),
    )
    values = findings.values(min(_SHOWN, bench.model.context))
    spec = replace(BRT_AGENT, steps=bench.steps or BRT_AGENT.steps)
    done = run_agent(spec, env, spec.opening({**values, "new_test": env.new_file}))
    tests = [*chain.from_iterable(env.written.values())]
    judged = select(judge_tests(tests[::-1], bench, issue))
    is_good = done.ending is Ending.FINISH and any(
        one.judgement.candidate for one in judged
    )
    text = f"{count(len(done.steps), 'step')}: {done.reason or _ENDED[done.ending]}"
    return Attempt(
        issue=issue.id,
        strategy="agent",
        index=number,
        tests=judged,
        notes=() if is_good else (Note(code="dialogue-ended", text=text),),
        trajectories=(done,),
    )
