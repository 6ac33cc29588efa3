"""The agents: their prompts, tools, states and steps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from pytest_brt.agents import repair, write_tests
from pytest_brt.agents.look import (
    cat,
    code_search,
    extract_method,
    find_similar_api_calls,
    get_classes_and_methods,
    read_range,
    search_code_base,
)
from pytest_brt.agents.loop import Agent
from pytest_brt.agents.outcomes import describe_runs
from pytest_brt.agents.prompts import render
from pytest_brt.agents.repair import RepairWork, describe_places
from pytest_brt.agents.shown import cut, report_text
from pytest_brt.model.request import Message
from pytest_brt.types import Step

#: BRT Agent and Passerine are one agent on two sides of the tree (paper 001, 4.2 and 5.1.2).
BRT_AGENT = Agent(
    name="agent",
    system="agent.system",
    user="agent.user",
    tools=(cat, code_search, write_tests.edit, write_tests.test, write_tests.finish),
    steps=25,
    temperature=0.2,
    runs=20,
    repeatable=("finish",),
)
#: The one of `auto`, which knows what was found before.
AUTO_AGENT = replace(BRT_AGENT, name="auto-agent", steps=15, top_k=40, ends_early=True)

PASSERINE = Agent(
    name="passerine",
    system="passerine.system",
    user="passerine.user",
    tools=(cat, code_search, repair.edit_code, repair.test, repair.finish),
    steps=25,
    temperature=0.2,
    reply=400,
    runs=20,
    is_given=True,
    repeatable=("finish",),
)

_READING = ("read_range", "get_classes_and_methods", "extract_method", "extract_tests")
_SEARCHING = ("search_code_base", "find_similar_api_calls", "generate_method_body")
#: State → tool → the state after it; the names are those of paper 004.
STATES: Mapping[str, Mapping[str, str]] = {
    "understand": {
        **dict.fromkeys((*_READING, "run_tests", "run_fault_localization"), "understand"),
        "express_hypothesis": "collect",
    },
    "collect": {
        **dict.fromkeys((*_READING, *_SEARCHING), "collect"),
        "write_fix": "try",
        "discard_hypothesis": "understand",
    },
    "try": {
        "write_fix": "try",
        "read_range": "try",
        "collect_more_information": "collect",
        "discard_hypothesis": "understand",
        "goal_accomplished": "done",
    },
    "done": {},
}

#: Fixes that must be tried before the steps are used up (paper 004), and lines of a fix that later
#: steps are shown.
_FIXES, _LINES = 4, 30
#: Tools whose results are worth more to later steps than others'.
_CODE = ("write_fix", "extract_method", "read_range", "generate_method_body")


def sections(
    agent: Agent, env: RepairWork, steps: Sequence[Step], room: int
) -> tuple[Message, ...]:
    """Return the sections of RepairAgent's prompt (paper 004, III-C), those that stay first."""
    system, known = agent.opening(repair_values(env, room))
    tail = render(
        "repair.tail",
        state=agent.state(env.steps),
        hypothesis=env.hypothesis,
        wrong=[s.argument("reason") for s in env.steps if s.action == "discard_hypothesis"][-3:],
        tools=", ".join(agent.offered(env.steps)),
        last=cut(_entry(steps[-1]), room) if steps else "None yet.",
        step=len(env.steps) + 1,
        steps=agent.steps,
        left=max(0, _FIXES - len({fix.key for fix in env.tried})),
        kept=any(fix.stands for fix in env.tried),
    )
    left = (room - env.model.count(system.content + known.content + tail) - 64) * 3
    user = "\n\n".join([known.content, *_by_tool(steps[:-1], left), tail])
    return system, Message("user", user)


def _by_tool(steps: Sequence[Step], left: int) -> list[str]:
    """Return what was gathered, a section for each tool; fixes and code stay longest."""

    def worth(step: Step) -> tuple[int, int]:
        passes = any(fix.passes for fix in step.fixes)
        return 4 * passes + 2 * (step.action in _CODE) + step.is_done, step.number

    shown: dict[int, str] = {}
    for step in sorted(steps, key=worth, reverse=True):
        left -= len(_entry(step))
        short = f"### {step.number}. {step.action}: left out"
        shown[step.number] = _entry(step) if left > 0 else short
    found: dict[str, list[str]] = {}
    for step in steps:
        found.setdefault(f"## {step.action}", []).append(shown[step.number])
    return ["\n\n".join([title, *texts]) for title, texts in found.items()]


def _entry(step: Step) -> str:
    asked = " ".join([step.action, *(value for _, value in step.arguments)])
    code = [line for block in step.call.code for line in block.splitlines()] if step.call else []
    thought = f"You thought: {step.thought}"
    lines = [f"### {step.number}. {asked[:200]}", thought, *code[:_LINES], step.observation]
    return "\n".join(lines)


def repair_values(env: RepairWork, most: int) -> dict[str, object]:
    """Return what the prompts of repairs are told of the bug, in about `most` characters."""
    runs = env.trials.first_runs()
    return {
        "title": env.issue.title,
        "report": report_text(env.issue, most),
        "tests": cut(describe_runs(runs, env.names), most // 2) if runs else "",
        "brt": cut(env.source_of(env.failing[0]), most // 2) if env.failing else "",
        "places": describe_places(env, 5),
        "place": env.is_place_given,
        "given": env.given.test if env.given is not None else None,
    }


REPAIR_AGENT = Agent(
    name="repairagent",
    system="repair.system",
    user="repair.bug",
    tools=(
        *(read_range, get_classes_and_methods, extract_method, repair.extract_tests),
        *(search_code_base, find_similar_api_calls, repair.generate_method_body),
        *(repair.run_tests, repair.run_fault_localization, repair.write_fix),
        *(repair.express_hypothesis, repair.discard_hypothesis),
        *(repair.collect_more_information, repair.goal_accomplished),
    ),
    steps=40,
    temperature=0.0,
    states=STATES,
    layout=sections,
    repeatable=("discard_hypothesis", "collect_more_information", "goal_accomplished"),
)
#: The default of repairs, which follows no paper: it is shown the likeliest code at once, and the
#: first fix that stands ends it.
AUTO_REPAIR = Agent(
    name="auto",
    system="auto_repair.system",
    user="auto_repair.user",
    tools=(
        *(cat, code_search, find_similar_api_calls),
        *(repair.run_tests, repair.write_fix, repair.finish),
    ),
    steps=25,
    temperature=0.0,
    top_k=40,
    ends_early=True,
    asks_again=False,
    repeatable=("finish",),
)
#: The agents that repair, by name.
REPAIRS = {agent.name: agent for agent in (AUTO_REPAIR, REPAIR_AGENT, PASSERINE)}
