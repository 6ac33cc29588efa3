"""The agents: their prompts, tools, states and steps."""

from __future__ import annotations

from collections.abc import Sequence

from pytest_brt.agents.loop import Agent
from pytest_brt.agents.prompts import cut, describe_runs, render, report_text
from pytest_brt.agents.repair import (
    collect_more_information,
    discard_hypothesis,
    edit_code,
    express_hypothesis,
    extract_tests,
    finish,
    generate_method_body,
    goal_accomplished,
    run_fault_localization,
    run_tests,
    source_of,
    test,
    write_fix,
)
from pytest_brt.agents.trials import RepairWork
from pytest_brt.agents.workspace import (
    cat,
    code_search,
    extract_method,
    find_similar_api_calls,
    get_classes_and_methods,
    read_range,
    search_code_base,
)
from pytest_brt.model.request import Message, estimate
from pytest_brt.types import Step

#: BRT Agent on the other side of the tree (paper 001, 5.1.2).
PASSERINE = Agent(
    prompt="passerine",
    tools=(cat, code_search, edit_code, test, finish),
    temperature=0.2,
    runs=20,
    is_given=True,
)

_READING = ("read_range", "get_classes_and_methods", "extract_method", "extract_tests")
_SEARCHING = ("search_code_base", "find_similar_api_calls", "generate_method_body")
#: State → tool → the state after it; the names are those of paper 004.
STATES = {
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


def sections(
    agent: Agent, env: RepairWork, steps: Sequence[Step], room: int
) -> tuple[Message, ...]:
    """Return the sections of RepairAgent's prompt (paper 004, III-C), those that stay first."""
    system, known = agent.opening(repair_values(env, room))
    entries = [render("repair.step", step=step) for step in steps]
    last = cut(entries.pop(), room) if entries else "None yet."
    tail = render("repair.tail", agent=agent, env=env, last=last)
    left = (room - estimate((system, known, Message("user", tail))) - 40) * 3
    gathered: dict[str, str] = {}
    for step, entry in reversed([*zip(steps, entries, strict=False)]):
        left -= len(entry)
        above = gathered.get(step.action, "")
        gathered[step.action] = f"{entry if left > 0 else '[left out]'}\n\n{above}"
    texts = [f"## {tool}\n\n{told}" for tool, told in gathered.items()]
    return system, Message("user", "\n\n".join([known.content, *texts, tail]))


def repair_values(env: RepairWork, most: int) -> dict[str, object]:
    """Return what the prompts of repairs are told of the bug, in about `most` characters."""
    runs = [run for judged in env.failing for run in judged.judgement.runs[:1]]
    return {
        "env": env,
        "report": report_text(env.issue, most),
        "tests": cut(describe_runs(runs), most // 2) if runs else "",
        "brt": cut(source_of(env, env.failing[0]), most // 2) if env.failing else "",
    }


REPAIR_AGENT = Agent(
    prompt="repair",
    tools=(
        read_range,
        get_classes_and_methods,
        extract_method,
        extract_tests,
        search_code_base,
        find_similar_api_calls,
        generate_method_body,
        run_tests,
        run_fault_localization,
        write_fix,
        express_hypothesis,
        discard_hypothesis,
        collect_more_information,
        goal_accomplished,
    ),
    steps=40,
    states=STATES,
    layout=sections,
)
#: The default of repairs, which follows no paper: it is shown the likeliest code at once, and the
#: first fix that stands ends it.
AUTO_REPAIR = Agent(
    prompt="auto_repair",
    tools=(
        cat,
        code_search,
        find_similar_api_calls,
        run_tests,
        write_fix,
        finish,
    ),
    ends_early=True,
    asks_again=False,
)
#: The agents that repair, by name.
REPAIRS = {"auto": AUTO_REPAIR, "repairagent": REPAIR_AGENT, "passerine": PASSERINE}
