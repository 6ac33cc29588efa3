"""Passerine's way (paper 001): plain ReAct with few actions, on a private tree that it edits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from pytest_brt.agent.action import Action, ActionSpec, Kind, Outcome, Parameter, Tool, refused
from pytest_brt.agent.history import Counter, conversation
from pytest_brt.agent.loop import Budget, Loop, converse, room
from pytest_brt.code.layout import is_test_path
from pytest_brt.errors import FixProblem
from pytest_brt.execute.engine import Row, TestTarget, target_of
from pytest_brt.model.base import Message, Sampling
from pytest_brt.model.metered import cost_of
from pytest_brt.patches.left_out import left_out_kind
from pytest_brt.render.remarks import left_out_words
from pytest_brt.repair.account import account, fails, told_runs
from pytest_brt.repair.editing import edit_prompt, read_edit
from pytest_brt.repair.fix import lines_of
from pytest_brt.repair.site import RepairBench, Room, Site, changed_lines, shown_lines
from pytest_brt.repair.tools.looking import search_code_base, show_lines, source_of, told_places
from pytest_brt.repair.trial import Trial
from pytest_brt.types import FileChange, Step, Trajectory

#: Longest reply, in tokens; the code of an edit is written in another one.
_REPLY = 400
_OBSERVATION = 1500
#: Test files that are named after an edit.
_TESTS = 2
#: Steps of one run (paper 001).
STEPS = 25


def react(bench: RepairBench, index: int = 0) -> Trajectory:
    """Carry out run number `index`; its last files are in the trajectory's changes.

    Raises:
        ModelProblem: the model could not be asked even once.
        SubjectProblem: the project's interpreter cannot be started.
        StoreProblem: the record cannot be written.
    """
    return converse(_loop(bench), bench.log("passerine", index))


def _loop(bench: RepairBench) -> Loop:
    """Return the dialogue of one run."""
    whole, site = bench, bench.site
    test = bench.brt.test if bench.brt else None
    if test is not None and test.source is not None:
        given = FileChange(path=test.path, content=test.source.encode())
        bench = replace(bench, site=(site := replace(site, changed={given.path: given})))
    budget = Budget(steps=bench.steps or STEPS, deadline=bench.deadline)
    sampling = Sampling(
        temperature=0.2,
        top_p=0.95,
        seed=bench.seed,
        max_tokens=min(_REPLY, site.model.context // 4),
    )
    most = room(site.model, sampling)
    count = Counter(site.model)
    observation = max(128, min(_OBSERVATION, most // 6))
    tools = _tools(bench, budget, Room(most=observation, count=count))
    opening = _opening(bench, [tool.spec for tool in tools.values()])
    return Loop(
        model=site.model,
        tools=tools,
        messages=partial(conversation, opening, most=most, count=count),
        budget=budget,
        paths=site.paths,
        sampling=sampling,
        observation=observation,
        purpose="passerine",
        say=bench.say,
        again=partial(_loop, whole),
    )


def results(site: Site, trajectory: Trajectory) -> tuple[Trial, ...]:
    """Return the last trees of a run that are worth a look: one that nothing speaks against.

    A model that has repaired a bug may go on and break it again, so what the files were in
    between is tried too. The last tree that passes the failing tests but breaks others comes
    after it.

    Raises:
        SubjectProblem: the project's interpreter cannot be started.
    """
    steps = trajectory.steps
    trees = [site.changes(steps[: number + 1]) for number, step in enumerate(steps) if step.changes]
    disputed: tuple[Trial, ...] = ()
    for changes in filter(None, reversed(trees)):
        trial = site.trials.run(changes)
        if trial.unrefuted:
            return (trial, *disputed)
        if trial.disputed and not disputed:
            disputed = (trial,)
    return disputed


def _opening(bench: RepairBench, specs: Sequence[ActionSpec]) -> tuple[Message, ...]:
    site, brt = bench.site, bench.brt
    return site.prompts.ask(
        "repair/passerine",
        form=specs[0].example(),
        actions=specs,
        report=site.issue.text,
        places=told_places(site.places()[:5], perfect=site.perfect),
        brt=source_of(site, brt) if brt else "",
        brt_path=brt.test.path if brt else "",
    )


def _tools(bench: RepairBench, budget: Budget, holds: Room) -> dict[str, Tool]:
    search = search_code_base(bench.site)
    found = (
        _cat(bench.site, holds),
        replace(search, spec=replace(search.spec, name="code_search")),
        _edit(bench, budget),
        _test(bench),
        _finish(),
    )
    return {tool.spec.name: tool for tool in found}


def _cat(site: Site, holds: Room) -> Tool:
    def run(action: Action, steps: Sequence[Step]) -> Outcome:
        path = action["path"]
        lines = site.after(steps).lines(path)
        return show_lines(path, lines, int(action["first"]), len(lines), holds)

    spec = ActionSpec(
        name="cat",
        about=f"Show a file from a line on, about {holds.lines} lines at a time.",
        parameters=(
            Parameter(name="path", about="a file", kind=Kind.PATH),
            Parameter(name="first", about="first line", kind=Kind.NUMBER, default="1"),
        ),
    )
    return Tool(spec=spec, run=run)


def _edit(bench: RepairBench, budget: Budget) -> Tool:
    site = bench.site
    editor = bench.editor or site.model

    def run(action: Action, steps: Sequence[Step]) -> Outcome:
        path, task = action["path"], action["prompt"]
        kind = left_out_kind(path, b"", b"x")
        if kind is not None or is_test_path(path):
            what = left_out_words(kind) if kind is not None else "a test"
            return refused(f"{path} is {what}: only code of the project is changed.")
        now = site.after(steps)
        before = now.lines(path)
        prompt = edit_prompt(site, editor, path, task, before, seed=bench.seed + len(steps))
        (answer,) = editor.complete(replace(prompt, seconds=budget.seconds()))
        cost = cost_of([answer])
        try:
            mended = read_edit(answer.text, path, now.read, site.paths)
        except FixProblem as problem:
            told = f"Not edited: {problem}"
            return Outcome(observation=told, problem=str(problem), cost=cost)
        lines = lines_of(mended.changes[0].content or b"")
        spans = ", ".join(edit.span for edit in mended.fix)
        word = "line" if spans.isdigit() else "lines"
        text = (
            f"Edited {path}, {word} {spans}. Now:\n"
            f"{shown_lines(lines, changed_lines(before, lines))}\n"
            f"{_what_to_run(bench, mended.changes)}"
        )
        return Outcome(observation=text, changes=mended.changes, cost=cost)

    spec = ActionSpec(
        name="edit",
        about="Describe a change of the code in words, with names and lines; it is made for you.",
        parameters=(
            Parameter(name="path", about="a file", kind=Kind.PATH),
            Parameter(name="prompt", about="what to change, exactly", most=700),
        ),
    )
    return Tool(spec=spec, run=run)


def _what_to_run(bench: RepairBench, changes: tuple[FileChange, ...]) -> str:
    given = (bench.brt.test.path,) if bench.brt else ()
    paths = tuple(dict.fromkeys((*given, *bench.site.tests_near(changes))))[:_TESTS]
    return f"Run the tests: {', then '.join(paths)}." if paths else "Run the tests."


def _test(bench: RepairBench) -> Tool:
    site, brt = bench.site, bench.brt

    def run(action: Action, steps: Sequence[Step]) -> Outcome:
        path = action["path"]
        if brt is not None and path == brt.test.path:
            target = replace(target_of(brt.test), id="test")
        elif is_test_path(path):
            target = TestTarget(id="test", path=path)
        else:
            return refused(f"{path} is not a test file. Name one, as in tests/test_x.py.")
        changes = site.changes(steps)
        if not changes:
            runs, before = site.trials.before(target), None
        else:
            runs = site.trials.engine.run(Row(changes=changes, targets=(target,))).runs
            # Where all is well nothing is gained by the time for another run.
            before = site.trials.before(target) if any(map(fails, runs)) else ()
        text = told_runs(runs, {}, before) if runs else "No test was found in it."
        return Outcome(observation=text, verdict=account(runs, before).verdict)

    spec = ActionSpec(
        name="test",
        about="Run a test file.",
        parameters=(Parameter(name="path", about="a test file", kind=Kind.PATH),),
    )
    return Tool(spec=spec, run=run)


def _finish() -> Tool:
    def run(_action: Action, steps: Sequence[Step]) -> Outcome:
        if not any(step.changes for step in steps):
            return refused("Nothing is changed yet. Edit the code first.")
        if not any(step.action == "test" and not step.problem for step in steps):
            return refused("No test was run yet. Run one first.")
        return Outcome(observation="Done.", done=True)

    return Tool(
        spec=ActionSpec(name="finish", about="End: the bug is repaired.", repeatable=True), run=run
    )
