"""The five actions of BRT Agent (paper 001, requirements 34-37)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import PurePosixPath

from pytest_brt.code.layout import is_test_path
from pytest_brt.code.source import read_source
from pytest_brt.dialogue.action import Action, ActionSpec, Kind, Outcome, Parameter, Tool, refused
from pytest_brt.dialogue.budget import Counter
from pytest_brt.errors import EditProblem
from pytest_brt.execute.row import Row, TestTarget
from pytest_brt.oracle.facts import Facts, read_facts
from pytest_brt.oracle.judge import refusal
from pytest_brt.reproduce.agent.editing import edit
from pytest_brt.reproduce.agent.kit import Kit, tests_in
from pytest_brt.reproduce.agent.log import log_of, overall
from pytest_brt.reproduce.agent.show import search, show
from pytest_brt.types import CandidateTest, Step, TestRun, Verdict

CAT = ActionSpec(
    name="cat",
    about="show a file.",
    parameters=(Parameter(name="path", about="FILE or FILE:LINE", kind=Kind.PLACE),),
)
SEARCH = ActionSpec(
    name="code_search",
    about="find lines of the project.",
    parameters=(Parameter(name="text", about="a name or some code", most=120),),
)
EDIT = ActionSpec(
    name="edit",
    about="write a test into a test file, or rewrite yours.",
    parameters=(
        Parameter(name="path", about="FILE", kind=Kind.NEW_PATH),
        Parameter(name="prompt", about="what the test must call and assert", most=600),
    ),
)
TEST = ActionSpec(
    name="test",
    about="run your test in a file.",
    parameters=(Parameter(name="path", about="FILE", kind=Kind.PATH),),
)
FINISH = ActionSpec(
    name="finish", about="end, when the test fails for the reported reason.", repeatable=True
)
#: Fact of a step that ran a test: why it is not accepted.
REFUSED = "refused"
SPECS = (CAT, SEARCH, EDIT, TEST, FINISH)


def tools_of(kit: Kit, *, observation: int, count: Counter) -> dict[str, Tool]:
    """Return the tools of one run; an observation is to have at most so many tokens."""
    facts = read_facts(kit.issue)

    def cat(action: Action, steps: Sequence[Step]) -> Outcome:
        path, _, line = action["path"].partition(":")
        content = kit.content(path, steps)
        if content is None:
            return refused(f"There is no file {path!r} any more.")
        try:
            text = read_source(path, content).text
        except EditProblem as problem:
            return refused(str(problem))
        return Outcome(observation=show(path, text, int(line or 0), observation, count))

    def code_search(action: Action, steps: Sequence[Step]) -> Outcome:
        return Outcome(observation=search(action["text"], kit.index))

    def write(action: Action, steps: Sequence[Step]) -> Outcome:
        return edit(action, steps, kit)

    def test(action: Action, steps: Sequence[Step]) -> Outcome:
        return run_test(action["path"], steps, kit, facts)

    runs = (cat, code_search, write, test, finish)
    return {spec.name: Tool(spec=spec, run=run) for spec, run in zip(SPECS, runs, strict=True)}


def run_test(path: str, steps: Sequence[Step], kit: Kit, facts: Facts) -> Outcome:
    """Run what the agent wrote into the file `path`; the whole file when that is nothing.

    `facts`, what the report says, may be a reason not to accept a test that fails; it is told.
    """
    mine = tests_in(path, steps)
    targets = tuple(
        TestTarget(id=test.name, path=test.path, source=test.source, node=test.name)
        for test in mine
    )
    if not targets:
        if not is_test_path(path):
            return refused(f"{path!r} is no test file. Write a test with edit first.")
        targets = (TestTarget(id=path, path=path),)
    runs = kit.bench.engine.run(Row(targets=targets)).runs
    if not runs:
        return refused(f"There is no test in {path!r}.")
    told = log_of(runs, _names(path, mine, kit))
    why_not = _why_not(mine, runs, facts)
    if why_not:
        told += f"\nThis test is not accepted: {why_not}."
    return Outcome(observation=told, verdict=overall(runs), facts=((REFUSED, why_not),))


def _why_not(mine: Sequence[CandidateTest], runs: Sequence[TestRun], facts: Facts) -> str:
    """Return why no failing test of `mine` would be a candidate, "" when one would."""
    found = [
        refusal(test, (run,), facts)
        for test in mine
        for run in runs
        if run.test == test.name and run.verdict is Verdict.FAIL
    ]
    return "" if "" in found else next(iter(found), "")


def _names(path: str, mine: Sequence[CandidateTest], kit: Kit) -> dict[str, str]:
    """Return what the model calls the files that its tests are run in, and the project's root."""
    root = str(kit.bench.engine.subject.root).rstrip("/")
    names = {f"{root}/": ""} if root else {}
    for test in mine:
        if test.path != path:
            names[test.path] = path
            names[PurePosixPath(test.path).stem] = PurePosixPath(path).stem
    return names


def finish(action: Action, steps: Sequence[Step]) -> Outcome:
    """Be done, unless no test was run yet (paper 001, requirement 37).

    When the last test is not accepted, that is said once more, and the next time it ends.
    """
    ran = [step for step in steps if step.verdict]
    if not ran:
        return refused("No test was run yet. Write a test with edit and run it with test first.")
    why_not = ran[-1].fact(REFUSED)
    since = steps[steps.index(ran[-1]) :]
    if why_not and not any(step.action == FINISH.name for step in since):
        return refused(f"Your test is not accepted: {why_not}. Correct it with edit.")
    return Outcome(observation="Done.", done=True)
