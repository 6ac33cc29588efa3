"""Passerine's way (paper 001): plain ReAct with few actions, on a private tree that it edits."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from pytest_brt.code.layout import is_test_path
from pytest_brt.dialogue.action import Action, ActionSpec, Kind, Outcome, Parameter, Tool, refused
from pytest_brt.dialogue.budget import Budget, Counter
from pytest_brt.dialogue.history import conversation
from pytest_brt.dialogue.loop import Loop, converse, room
from pytest_brt.dialogue.trajectory import Log
from pytest_brt.execute.row import Row, TestTarget
from pytest_brt.model.base import Message, Model, Sampling
from pytest_brt.patches.judges import left_out_reason
from pytest_brt.repair.account import account, fails, told_runs
from pytest_brt.repair.editing import NotEdited, edit_file
from pytest_brt.repair.fix import lines_of
from pytest_brt.repair.site import Site, Workspace
from pytest_brt.repair.tools.failing import source_of
from pytest_brt.repair.tools.searching import search_code_base, told_places
from pytest_brt.repair.trial import Trial
from pytest_brt.repair.window import Room, changed_lines, shown_lines, window
from pytest_brt.types import FileChange, JudgedTest, Step, Trajectory

#: Longest reply, in tokens; the code of an edit is written in another one.
_REPLY = 400
_OBSERVATION = 1500
#: Test files that are named after an edit.
_TESTS = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class PasserineSettings:
    """How a run is done (paper 001: 25 steps, temperature 0.2, top-p 0.95)."""

    steps: int = 25
    temperature: float = 0.2
    seed: int = 0
    deadline: float = float("inf")
    #: The failing test that the model is given; None gives it only the report.
    brt: JudgedTest | None = None
    #: Writes the code of an edit.
    edit_model: Model


def react(
    site: Site,
    settings: PasserineSettings,
    log: Log | None = None,
    say: Callable[[str], None] = lambda _: None,
) -> Trajectory:
    """Try to repair a bug; what the files are at the end is in the trajectory's changes.

    Raises:
        ModelProblem: the model could not be asked even once.
        SubjectProblem: the project's interpreter cannot be started.
        StoreProblem: `log` cannot be written.
    """
    test = settings.brt.test if settings.brt else None
    if test is not None and test.source is not None:
        site = replace(site, added=FileChange(path=test.path, content=test.source.encode()))
    budget = Budget(steps=settings.steps, deadline=settings.deadline)
    sampling = Sampling(
        temperature=settings.temperature,
        top_p=0.95,
        seed=settings.seed,
        max_tokens=min(_REPLY, site.model.context // 4),
    )
    most = room(site.model, sampling)
    counter = Counter(site.model)
    observation = max(128, min(_OBSERVATION, most // 6))
    tools = _tools(site, settings, budget, Room(most=observation, count=counter))
    opening = _opening(site, settings, [tool.spec for tool in tools.values()])

    def messages(steps: Sequence[Step]) -> tuple[Message, ...]:
        return conversation(opening, steps, most=most, count=counter)

    loop = Loop(
        model=site.model,
        tools=tools,
        messages=messages,
        budget=budget,
        paths=site.paths,
        sampling=sampling,
        observation=observation,
        purpose="passerine",
        say=say,
    )
    return converse(loop, log)


def results(site: Site, trajectory: Trajectory) -> tuple[Trial, ...]:
    """Return the last trees of a run that are worth a look: one that nothing speaks against.

    A model that has repaired a bug may go on and break it again, so what the files were in
    between is tried too. The last tree that passes the failing tests but breaks others comes
    after it.

    Raises:
        SubjectProblem: the project's interpreter cannot be started.
    """
    steps = trajectory.steps
    trees = [
        Workspace.after(site, steps[: number + 1]).changes
        for number, step in enumerate(steps)
        if step.changes
    ]
    disputed: tuple[Trial, ...] = ()
    for changes in filter(None, reversed(trees)):
        trial = site.trials.run(changes)
        if trial.unrefuted:
            return (trial, *disputed)
        if trial.disputed and not disputed:
            disputed = (trial,)
    return disputed


def _opening(
    site: Site, settings: PasserineSettings, specs: Sequence[ActionSpec]
) -> tuple[Message, ...]:
    brt = settings.brt
    return site.prompts.ask(
        "repair/passerine",
        form=specs[0].example(),
        actions=specs,
        report=site.issue.text,
        places=told_places(site.places()[:5], perfect=site.perfect),
        brt=source_of(site, brt) if brt else "",
        brt_path=brt.test.path if brt else "",
    )


def _tools(site: Site, settings: PasserineSettings, budget: Budget, holds: Room) -> dict[str, Tool]:
    search = search_code_base(site)
    found = (
        _cat(site, holds),
        Tool(
            spec=ActionSpec(
                name="code_search",
                about=search.spec.about,
                parameters=search.spec.parameters,
            ),
            run=search.run,
        ),
        _edit(site, settings, budget),
        _test(site, settings),
        _finish(),
    )
    return {tool.spec.name: tool for tool in found}


def _cat(site: Site, holds: Room) -> Tool:
    def run(action: Action, steps: Sequence[Step]) -> Outcome:
        path = action["path"]
        content = Workspace.after(site, steps).read(path)
        if content is None:
            return refused(f"There is no file {path!r}.")
        lines = lines_of(content)
        first = min(max(1, int(action["first"])), max(1, len(lines)))

        def head(end: int) -> str:
            return f"{path}, lines {first} to {end} of {len(lines)}:"

        def more(start: int) -> str:
            return f"[… go on with first {start} …]"

        return Outcome(observation=window(lines, first, len(lines), holds, head=head, more=more))

    spec = ActionSpec(
        name="cat",
        about=f"Show a file from a line on, about {holds.lines} lines at a time.",
        parameters=(
            Parameter(name="path", about="a file", kind=Kind.PATH),
            Parameter(name="first", about="first line", kind=Kind.NUMBER, default="1"),
        ),
    )
    return Tool(spec=spec, run=run)


def _edit(site: Site, settings: PasserineSettings, budget: Budget) -> Tool:
    def run(action: Action, steps: Sequence[Step]) -> Outcome:
        path, task = action["path"], action["prompt"]
        reason = left_out_reason(path, b"", b"x")
        if reason or is_test_path(path):
            return refused(f"{path} is {reason or 'a test'}: only code of the project is changed.")
        space = Workspace.after(site, steps)
        try:
            edited = edit_file(
                site,
                settings.edit_model,
                path,
                task,
                read=space.read,
                seed=settings.seed + len(steps),
                seconds=budget.seconds(),
            )
        except NotEdited as problem:
            return Outcome(
                observation=f"Not edited: {problem}", problem=str(problem), cost=problem.cost
            )
        mended = edited.mended
        lines = lines_of(mended.changes[0].content or b"")
        around = changed_lines(lines_of(space.read(path) or b""), lines)
        spans = ", ".join(edit.span for edit in mended.fix.edits)
        word = "line" if spans.isdigit() else "lines"
        text = (
            f"Edited {path}, {word} {spans}. Now:\n"
            f"{shown_lines(lines, around)}\n{_what_to_run(site, settings, mended.changes)}"
        )
        return Outcome(observation=text, changes=mended.changes, cost=edited.cost)

    spec = ActionSpec(
        name="edit",
        about="Describe a change of the code in words, with names and lines; it is made for you.",
        parameters=(
            Parameter(name="path", about="a file", kind=Kind.PATH),
            Parameter(name="prompt", about="what to change, exactly", most=700),
        ),
    )
    return Tool(spec=spec, run=run)


def _what_to_run(site: Site, settings: PasserineSettings, changes: tuple[FileChange, ...]) -> str:
    """Return which tests are to be run after a change."""
    given = (settings.brt.test.path,) if settings.brt else ()
    paths = tuple(dict.fromkeys((*given, *site.tests_near(changes))))[:_TESTS]
    return f"Run the tests: {', then '.join(paths)}." if paths else "Run the tests."


def _test(site: Site, settings: PasserineSettings) -> Tool:
    brt = settings.brt

    def run(action: Action, steps: Sequence[Step]) -> Outcome:
        path = action["path"]
        if not is_test_path(path) and (brt is None or path != brt.test.path):
            return refused(f"{path} is not a test file. Name one, as in tests/test_x.py.")
        ours = brt is not None and path == brt.test.path
        target = TestTarget(
            id="test",
            path=path,
            source=brt.test.source if ours and brt else None,
            node=brt.test.name if ours and brt else "",
        )
        changes = Workspace.after(site, steps).changes
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
