from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from pytest_brt.repair.states import TABLE, State, ToolName, state_after
from pytest_brt.types import Step


def reachable(start: State) -> set[State]:
    found, todo = {start}, [start]
    while todo:
        for target in TABLE[todo.pop()].values():
            if target not in found:
                found.add(target)
                todo.append(target)
    return found


def test_every_state_reaches_the_end_and_every_tool_is_somewhere() -> None:
    for state in State:
        assert State.DONE in reachable(state)
    assert {tool for row in TABLE.values() for tool in row} == set(ToolName)
    assert len(ToolName) == 14


def test_the_end_is_reached_by_goal_accomplished_alone() -> None:
    ends = {tool for row in TABLE.values() for tool, target in row.items() if target is State.DONE}
    assert ends == {ToolName.ACCOMPLISHED}
    assert ToolName.ACCOMPLISHED in TABLE[State.TRY]
    assert ToolName.WRITE_FIX not in TABLE[State.UNDERSTAND]


@given(st.lists(st.tuples(st.sampled_from(ToolName), st.booleans())))
def test_only_what_was_carried_out_in_its_state_moves(tools: list[tuple[ToolName, bool]]) -> None:
    state, steps = State.UNDERSTAND, []
    for number, (tool, refused) in enumerate(tools, start=1):
        if tool not in TABLE[state]:
            continue
        problem = "no" if refused else ""
        steps.append(Step(number=number, reply="", action=tool.value, problem=problem))
        state = state if refused else TABLE[state][tool]
        assert state_after(steps) is state
        if state is State.DONE:
            assert not TABLE[state]
            break
