"""Tools with which an agent writes tests: edit, test, finish (paper 001, 4.2.3)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from pytest_brt.agents.outcomes import describe_runs
from pytest_brt.agents.prompts import system_and_user
from pytest_brt.agents.shown import cut, report_text
from pytest_brt.agents.workspace import Observation, Refused, Workspace
from pytest_brt.edit.source_text import new_file
from pytest_brt.model.request import Request
from pytest_brt.project.pytest_config import USUAL
from pytest_brt.pysource.parse import decode
from pytest_brt.sandbox.placing import Test
from pytest_brt.sandbox.run_tests import Runner, most_severe
from pytest_brt.types import (
    CandidateTest,
    Effect,
    Finished,
    TestRun,
    TestsRan,
    TestsWritten,
    Verdict,
)

#: Tokens of the answer of the model that writes code, and characters of a test that is told.
_CODE, _TOLD = 512, 1500
_ADVICE = {
    Verdict.PASS: "It passes on the code with the bug: it does not show the bug. Find an input "
    "that reaches the line where it goes wrong.",
    Verdict.BROKEN: "The test itself is wrong. Correct it.",
}


@dataclass(kw_only=True)
class TestWork(Workspace):
    """What an agent that writes tests works with."""

    __test__ = False

    engine: Runner
    #: Makes tests of a reply with code, for a test file: path and reply → tests, problems.
    extract: Callable[[str, str], tuple[list[CandidateTest], list[str]]]
    #: Says why a test that ran cannot be a bug test, "" where it can.
    objection: Callable[[CandidateTest, tuple[TestRun, ...]], str]
    #: A test file that does not exist yet.
    new_file: str
    #: Whether a written test runs at once, and the first that stands ends the dialogue.
    ends_early: bool = False
    #: Whether the dialogue may end without a test of its own: a good one is known.
    may_end: bool = False
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
    tests, problems = env.extract(path, reply)
    if not tests:
        raise Refused("The answer had no test in it. Say in the prompt what the test must call.")
    env.changed[path] = _placed(env, path, tests)
    env.written[path] = tests
    names = ", ".join(test.name for test in tests)
    shown = [cut((test.source or "").rstrip("\n"), _TOLD) for test in tests]
    told = "\n".join([f"Written: {names} in {path}.", *problems, *shown])
    effects: tuple[Effect, ...] = (TestsWritten(path=path, tests=tuple(tests)),)
    if env.ends_early:
        ran = test(env, path)
        told, effects = f"{told}\n{ran.text}", (*effects, *ran.effects)
        if any(isinstance(effect, TestsRan) and effect.stands for effect in ran.effects):
            effects = (*effects, Finished())
    return Observation(told, effects)


def _written(env: TestWork, path: str, change: str) -> str:
    """Return the editor's answer, which holds the test (requirement 36 of the paper)."""
    editor = env.editor
    messages = system_and_user(
        "edit",
        title=env.issue.title,
        report=report_text(env.issue, editor.context),
        path=path,
        content=cut(decode(env.read(path)), editor.context * 3 // 2),
        package=next(iter(env.index.packages), ""),
        change=change,
    )
    longest, seed = min(_CODE, editor.context // 4), env.next_seed()
    request = Request(messages=messages, temperature=0.2, top_k=0, seed=seed, max_tokens=longest)
    return editor.text(request)


def _placed(env: TestWork, path: str, tests: list[CandidateTest]) -> bytes:
    """Return the file with the tests in it, in place of those that the agent wrote there."""
    from pytest_brt.edit.place_test import place  # libcst takes half a second

    content = env.on_disk(path)
    for test in tests:
        source = test.source or ""
        done = new_file(source, path) if content is None else place(source, path, content)
        content = done.edit.after
    return content or b""


def test(env: TestWork, path: str) -> Observation:
    """Run your test in a file."""
    own = {test.id: test for test in env.written.get(path, ())}
    if not own:
        raise Refused(f"There is no test of yours in {path}. Write one with edit first.")
    runs = env.engine.run([*map(Test.of, own.values())])
    verdict = most_severe(runs).verdict
    failing = [run for run in runs if run.verdict is Verdict.FAIL]
    # Of several tests one that stands is enough.
    objection = min((env.objection(own[run.test], (run,)) for run in failing), key=len, default="")
    advice = f"This test is not accepted: {objection}. Correct that." if objection else ""
    told = describe_runs(runs)
    ran = TestsRan(path=path, verdict=verdict, objection=objection)
    return Observation(f"{told}\n{_ADVICE.get(verdict, advice)}".strip(), (ran,))


def finish(env: TestWork) -> Observation:
    """End: the test fails for the reported reason."""
    ran = [effect for step in env.steps for effect in step.effects if isinstance(effect, TestsRan)]
    if not env.may_end and not ran:
        raise Refused("There is no test yet that ran. Write one with edit, and run it.")
    return Observation("Done.", (Finished(),))
