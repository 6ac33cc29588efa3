"""One run of the agent, from its first messages to judged tests."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial

from pytest_brt.agent.action import LONGEST_THOUGHT, describe
from pytest_brt.agent.history import Counter, conversation
from pytest_brt.agent.loop import Budget, Loop, converse, room
from pytest_brt.code.index import Index
from pytest_brt.model.base import Message, Prompt, Sampling
from pytest_brt.oracle.facts import read_facts
from pytest_brt.oracle.judge import run_tests
from pytest_brt.reproduce.agent.editing import new_test_path
from pytest_brt.reproduce.agent.kit import Found, Kit, all_tests, paths_of, versions
from pytest_brt.reproduce.agent.tools import SPECS, tools_of
from pytest_brt.reproduce.asking import answer_room, seed_of
from pytest_brt.reproduce.model_tests.confidence import judge_written
from pytest_brt.reproduce.model_tests.small import made_small
from pytest_brt.reproduce.prompting.context import Hints, gather_hints
from pytest_brt.reproduce.prompting.fit import PromptTooLong, bug_values, fitted, listings_of
from pytest_brt.reproduce.prompting.report_text import report_text
from pytest_brt.reproduce.select import select
from pytest_brt.reproduce.strategy import Workbench
from pytest_brt.types import Attempt, Issue, JudgedTest, Trajectory
from pytest_brt.types.attempt import DialogueEnded, ModelFailed, Shortened

#: Tokens of the first prompt; long reports take more.
_TOKENS = 3_650
#: Share of the context that the dialogue is to have.
_SHARE = 0.35

Messages = tuple[Message, ...]


def _parts(kit: Kit, hints: Hints) -> dict[str, str]:
    found = kit.found
    return {
        "report": report_text(kit.issue, whole=found is None),
        "examples": "all",
        "session": "\n".join(hints.session),
        "imports": "\n".join(hints.imports) if found else "",
        "tests": "\n\n".join(hints.tests[:1]) if found and not found.best else "",
        "fixtures": hints.fixtures,
        "best": found.best if found else "",
        "refused": "\n".join(found.refused) if found else "",
    }


def opening(kit: Kit) -> tuple[Messages, Messages, tuple[Shortened, ...]]:
    """Return the messages that come before the first step, and what did not fit.

    They stand there twice: the second ones are without listings of files, for when the dialogue
    has become long.

    Raises:
        PromptTooLong: not even the report fits.
    """
    named = kit.bench.buggy
    # Where the user names files, only those are suspected.
    suspects = tuple(s for s in kit.hints.suspects if not named or s.path in named)
    hints = replace(kit.hints, suspects=suspects)
    brief = replace(kit.brief, hints=hints)
    reserved = int(kit.bench.model.context * _SHARE)

    def build(texts: Mapping[str, str], *, is_first: bool = True) -> Prompt:
        values = {
            **bug_values(brief, texts),
            "refused": texts["refused"].split("\n") if texts["refused"] else (),
            "is_first": is_first,
            "actions": describe(SPECS),
            "longest_thought": LONGEST_THOUGHT,
            "new_test": new_test_path(kit),
        }
        system, user = brief.prompts.ask("agent", **values)
        examples = brief.prompts.turns("agent/examples", **values) if texts["examples"] else ()
        return Prompt(
            messages=(system, *examples, user), sampling=replace(kit.sampling, max_tokens=reserved)
        )

    listings = listings_of(hints, kit.index, imports=kit.found is None)
    room = min(_TOKENS, kit.bench.model.context - reserved)
    order = ("tests", "host", "suspected", "fixtures", "imports", "session")
    last = ("examples", "refused", "best", "report")
    prompt, notes, built = fitted(
        build, _parts(kit, hints), (*order, *last), brief, listings, most=room
    )
    without = {name: "" if name in listings else text for name, text in built.items()}
    short = build(without, is_first=False)
    return prompt.messages, short.messages, notes


#: Steps of one run, as in paper 001.
STEPS = 25
#: Tokens of a reply: a thought, an action, its arguments.
_REPLY = 400
SAMPLING = Sampling(temperature=0.2, top_p=0.95)


def agent(
    issue: Issue, index: int, bench: Workbench, project: Index, found: Found | None = None
) -> Attempt:
    """Make the tests of run number `index`.

    In `auto`, where other ways `found` something before, tests that the agent wrote over count
    too, and what tests do not need is cut later. Without, the report's code is run first: what it
    does now is always told, which paper 001 does not do, for reports are of older versions.

    Raises:
        ModelProblem: the model cannot be asked even once.
        SubjectProblem: the subject's interpreter cannot be started.
    """
    hints = (
        found.hints
        if found
        else gather_hints(
            issue,
            project,
            bench.engine,
            buggy=bench.buggy,
            host=bench.host,
            replayed=bench.observed(issue),
        )
    )
    kit = Kit(
        issue=issue,
        bench=bench,
        index=project,
        hints=hints,
        sampling=replace(
            SAMPLING,
            max_tokens=answer_room(bench.model, _REPLY),
            seed=seed_of(issue.id, "auto-agent" if found else "agent", index, bench.seed),
        ),
        found=found,
    )
    try:
        first, short, notes = opening(kit)
    except PromptTooLong as problem:
        failed = (ModelFailed(said=str(problem)),)
        return Attempt(issue=issue.id, strategy=kit.strategy, index=index, tests=(), notes=failed)
    log = bench.log(issue, f"{kit.strategy}-{index:02}")
    trajectory = converse(loop_of(kit, first, short), log)
    tests = _judged(trajectory, kit)
    return Attempt(
        issue=issue.id,
        strategy=kit.strategy,
        index=index,
        tests=tests,
        notes=(*notes, ended_note(trajectory)),
        trajectories=(trajectory,),
    )


def loop_of(kit: Kit, first: Messages, short: Messages) -> Loop:
    """Return the dialogue of one run, which begins with the messages `first`."""
    model, bench = kit.bench.model, kit.bench
    count = Counter(model)
    observation = max(60, min(1500, model.context // 8))
    most = room(model, kit.sampling)
    return Loop(
        model=model,
        tools=tools_of(kit, observation=observation, count=count),
        messages=partial(conversation, first, most=most, count=count, short=short),
        budget=Budget(steps=bench.steps or STEPS, deadline=bench.deadline),
        paths=paths_of(kit),
        sampling=kit.sampling,
        observation=observation,
        purpose="agent",
        say=bench.say,
        again=lambda: loop_of(kit, *opening(kit)[:2]),
    )


def _judged(trajectory: Trajectory, kit: Kit) -> tuple[JudgedTest, ...]:
    """Judge what the agent wrote, whether it finished or its steps ran out (requirement 40)."""
    steps = trajectory.steps
    tests = versions(steps) if kit.found else all_tests(steps)
    if not tests:
        return ()
    engine, repeat = kit.bench.engine, kit.bench.repeat
    facts = read_facts(kit.bench.reading(kit.issue))
    runs = run_tests(tests, engine, repeat)
    judged = [judge_written(test, runs[test.id], facts) for test in tests]
    if kit.found is None:
        judged = [made_small(item, engine, repeat, facts) for item in judged]
    # What is kept is counted per issue, and ranking patches takes every candidate.
    return select(judged)


def ended_note(trajectory: Trajectory) -> DialogueEnded:
    """Return how a dialogue went."""
    return DialogueEnded(
        ending=trajectory.ending,
        steps=len(trajectory.steps),
        said=trajectory.reason,
        wrote=any(step.changes for step in trajectory.steps),
    )
