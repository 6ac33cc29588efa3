"""The five actions of BRT Agent (paper 001, requirements 34-37)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import PurePosixPath

from pytest_brt.code.layout import is_test_path
from pytest_brt.code.splice import read_source
from pytest_brt.dialogue.action import Action, ActionSpec, Kind, Parameter
from pytest_brt.dialogue.budget import Counter
from pytest_brt.dialogue.tool import Outcome, Tool, refused
from pytest_brt.errors import EditProblem
from pytest_brt.execute.row import Row, TestTarget
from pytest_brt.reproduce.agent.editing import edit
from pytest_brt.reproduce.agent.kit import Kit, tests_in
from pytest_brt.reproduce.agent.log import log_of, overall
from pytest_brt.reproduce.agent.search import search
from pytest_brt.reproduce.agent.show import show
from pytest_brt.types import CandidateTest, Step

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
    about="have a test written into a test file.",
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
FINISH = ActionSpec(name="finish", about="be done.", repeatable=True)
SPECS = (CAT, SEARCH, EDIT, TEST, FINISH)


def tools_of(kit: Kit, *, observation: int, count: Counter) -> dict[str, Tool]:
    """Return the tools of one run; an observation is to have at most so many tokens."""

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
        return run_test(action["path"], steps, kit)

    runs = (cat, code_search, write, test, finish)
    return {spec.name: Tool(spec=spec, run=run) for spec, run in zip(SPECS, runs, strict=True)}


def run_test(path: str, steps: Sequence[Step], kit: Kit) -> Outcome:
    """Run what the agent wrote into the file `path`; the whole file when that is nothing."""
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
    return Outcome(observation=log_of(runs, _names(path, mine, kit)), verdict=overall(runs))


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
    """Be done, unless no test was run yet (paper 001, requirement 37)."""
    if not any(step.verdict for step in steps):
        return refused("No test was run yet. Write a test with edit and run it with test first.")
    return Outcome(observation="Done.", done=True)
