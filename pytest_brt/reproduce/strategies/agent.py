"""The agent that writes tests: the paper's (001, 4.2), and the same with what `auto` found out."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from pytest_brt.agents.look import cat, code_search
from pytest_brt.agents.loop import Agent, run_agent
from pytest_brt.agents.outcomes import describe_runs
from pytest_brt.agents.prompts import cut, render
from pytest_brt.agents.workspace import Observation, Refused, Workspace
from pytest_brt.oracle.judge import refusal, run_tests
from pytest_brt.project.pytest_config import USUAL
from pytest_brt.pysource.parse import decode
from pytest_brt.render.words import count
from pytest_brt.reproduce.extract import Extractor
from pytest_brt.reproduce.order import select
from pytest_brt.reproduce.prompt import Findings
from pytest_brt.reproduce.rate import judge_written
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
    origin: Origin
    #: Whether a written test runs at once, and the first that stands ends the dialogue.
    ends_early: bool
    #: A test file that does not exist yet.
    new_file: str
    #: The tests written last into each file, by path.
    written: dict[str, list[CandidateTest]] = field(default_factory=dict)


def edit(env: TestWork, path: str, prompt: str = "", code: tuple[str, ...] = ()) -> Observation:
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
    extractor = Extractor(env.issue, env.index, path.rpartition("/")[0], path if old else "")
    made = extractor.tests(reply, env.origin)
    if not made:
        raise Refused("The answer had no test in it. Say in the prompt what the test must call.")
    env.written[path] = [one.test for one in made]
    content = [decode(old).rstrip("\n")] if old else []
    content += [(one.test.source or "").rstrip("\n") for one in made]
    env.changed[path] = "\n\n\n".join([*content, ""]).encode()
    changes = (FileChange(path=path, content=env.changed[path]),)
    ran = test(env, path) if env.ends_early else Observation("")
    text = render("written", path=path, made=made, ran=ran.text)
    return replace(ran, text=text, changes=changes)


def _written(env: TestWork, path: str, change: str) -> str:
    """Return the editor's answer, which holds the test (requirement 36 of the paper)."""
    values = {
        "path": path,
        "content": cut(decode(env.read(path)), env.editor.context * 3 // 2),
        "package": next(iter(env.index.packages), ""),
        "change": change,
    }
    return env.ask(env.editor, "edit", _CODE, **values)[0].text


def test(env: TestWork, path: str) -> Observation:
    """Run your test in a file."""
    own = {test.id: test for test in env.written.get(path, ())}
    if not own:
        raise Refused(f"There is no test of yours in {path}. Write one with edit first.")
    runs = env.bench.engine.run([*map(Test.of, own.values())])
    verdict, facts = most_severe(runs).verdict, env.bench.facts(env.issue)
    failing = [run for run in runs if run.verdict is Verdict.FAIL]
    # Of several tests one that stands is enough.
    refusals = [refusal(own[run.test], (run,), facts) for run in failing]
    objection = min(refusals, key=len, default="")
    told = {"runs": describe_runs(runs), "verdict": verdict, "objection": objection}
    return Observation(
        render("tested", **told),
        verdict=verdict,
        is_over=env.ends_early and verdict is Verdict.FAIL and not objection,
    )


def finish(env: TestWork) -> Observation:
    """End: the test fails for the reported reason."""
    if not any(step.verdict for step in env.steps):
        raise Refused("There is no test yet that ran. Write one with edit, and run it.")
    return Observation("Done.", is_over=True)


#: BRT Agent and Passerine are one agent on two sides of the tree (paper 001, 4.2 and 5.1.2).
BRT_AGENT = Agent(
    name="agent",
    prompt="agent",
    tools=(cat, code_search, edit, test, finish),
    steps=25,
    temperature=0.2,
    runs=20,
)
#: The one of `auto`, which knows what was found before.
AUTO_AGENT = replace(BRT_AGENT, name="auto-agent", steps=15, top_k=40, ends_early=True)


def write_tests(spec: Agent, number: int, bench: Workbench, findings: Findings) -> Attempt:
    """Make the tests of one run of an agent.

    Raises:
        ModelProblem: the model cannot be asked even once.
        SubjectProblem: the project's interpreter cannot be started.
    """
    issue = findings.issue
    seed = seed_of(issue.id, spec.name, number, bench.seed)
    env = TestWork(
        issue=issue,
        index=findings.index,
        model=bench.model,
        editor=bench.editor or bench.model,
        seed=seed,
        say=bench.say,
        bench=bench,
        origin=Origin(strategy=spec.name, model=bench.model.name, seed=seed),
        ends_early=spec.ends_early,
        new_file=f"{bench.engine.subject.test_root.strip('./')}/test_reported.py".lstrip("/"),
    )
    values = findings.values(min(_SHOWN, bench.model.context))
    values |= {"new_test": env.new_file, "in_auto": spec.ends_early}
    spec = replace(spec, steps=bench.steps or spec.steps)
    done = run_agent(spec, env, spec.opening(values))
    tests = [test for tests in env.written.values() for test in tests][::-1]
    runs = run_tests(tests, bench.engine, bench.repeat)
    judged = [judge_written(test, runs[test.id], bench.facts(issue)) for test in tests]
    is_good = done.ending is Ending.FINISH and any(one.judgement.candidate for one in judged)
    text = f"{count(len(done.steps), 'step')}: {done.reason or _ENDED[done.ending]}"
    return Attempt(
        issue=issue.id,
        strategy=spec.name,
        index=number,
        tests=select(judged),
        notes=() if is_good else (Note(code="dialogue-ended", text=text),),
        trajectories=(done,),
    )
