from __future__ import annotations

from dataclasses import replace

from pytest_brt.agents.loop import Agent, conversation, is_loop, run_agent
from pytest_brt.agents.specs import AUTO_REPAIR, PASSERINE, REPAIR_AGENT, STATES
from pytest_brt.agents.workspace import (
    Observation,
    Workspace,
    cat,
    code_search,
    extract_method,
    get_classes_and_methods,
)
from pytest_brt.model.request import Message
from pytest_brt.reproduce.agent import BRT_AGENT
from pytest_brt.types import Call, Ending, Step
from tests.agents.project import Make

OPENING = (Message("system", "You look."), Message("user", "Look."))


def finish(env: Workspace) -> Observation:
    """End."""
    return Observation("Done.", is_over=True)


AGENT = Agent(
    prompt="agent",
    tools=(cat, code_search, extract_method, get_classes_and_methods, finish),
    steps=6,
    temperature=0.0,
)


def test_it_looks_until_it_finishes(workspace: Make) -> None:
    env = workspace(
        '{"action": "cat", "path": "interval"}',
        '{"action": "code_search", "text": "clamp"}',
        '{"action": "extract_method", "path": "interval.py", "name": "clamp()"}',
        "Hm.",
        '{"action": "finish"}',
    )
    told = run_agent(AGENT, env, OPENING)
    assert told.ending is Ending.FINISH
    missing, search, method, unreadable, _ = told.steps
    assert "Files like it: interval.py" in missing.observation
    assert search.observation == "interval.py:1: def clamp(value, low, high):\n(1 in all)"
    assert "    2|     return max(low, min(value, low))" in method.observation
    assert "No JSON object" in unreadable.observation


def test_a_repeated_step_is_refused_and_a_loop_ends_it(workspace: Make) -> None:
    told = run_agent(AGENT, workspace('{"action": "cat", "path": "interval.py"}'), OPENING)
    assert told.ending is Ending.LOOP
    assert not told.steps[1].is_done
    assert "in step 1" in told.steps[1].observation


def test_steps_end_it(workspace: Make) -> None:
    env = workspace(*(f'{{"action": "code_search", "text": "word {n}"}}' for n in range(9)))
    assert run_agent(AGENT, env, OPENING).ending is Ending.STEPS


def test_old_results_go_where_there_is_no_room(workspace: Make) -> None:
    long = "word " * 90
    steps = [Step(number=n, reply="I look.", observation=long) for n in (1, 2)]
    told = [one.content for one in conversation(AGENT, workspace(""), steps, 60)]
    assert told == ["I look.", "[this result is left out]", "I look.", long]


def test_states_say_which_tools_there_are() -> None:
    def step(action: str) -> Step:
        return Step(number=1, reply="", is_done=True, call=Call(action=action))

    names = {tool.__name__ for tool in REPAIR_AGENT.tools}
    assert len(names) == 14
    assert names == {name for tools in STATES.values() for name in tools}
    steps = [step("express_hypothesis")]
    assert REPAIR_AGENT.state(steps) == "collect"
    steps.append(step("write_fix"))
    assert set(REPAIR_AGENT.offered(steps)) == set(STATES["try"])
    free = replace(REPAIR_AGENT, states={})
    assert set(free.offered(steps)) == names
    for agent in (BRT_AGENT, PASSERINE, AUTO_REPAIR):
        assert len(agent.offered([])) == len(agent.tools)


def test_a_loop_need_not_be_one_step_long() -> None:
    calls = [Call(action="a"), Call(action="b")] * 4
    steps = [Step(number=n, reply="", call=call) for n, call in enumerate(calls, 1)]
    assert is_loop(steps)
    assert not is_loop(steps[:6])
    assert not is_loop([replace(step, is_done=True) for step in steps]), "something came of them"
