"""The states of a repair, the tools that each of them has, and where they lead.

The names are those of RepairAgent's paper (004, its state machine). The order in which the tools
of a state are used is the model's own.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum


class State(StrEnum):
    """What a repair is at."""

    UNDERSTAND = "understand the bug"
    COLLECT = "collect information to fix the bug"
    TRY = "try to fix the bug"
    DONE = "done"


class ToolName(StrEnum):
    """What a model can do."""

    READ_RANGE = "read_range"
    CLASSES_AND_METHODS = "get_classes_and_methods"
    EXTRACT_METHOD = "extract_method"
    EXTRACT_TESTS = "extract_tests"
    SEARCH = "search_code_base"
    SIMILAR_CALLS = "find_similar_api_calls"
    METHOD_BODY = "generate_method_body"
    RUN_TESTS = "run_tests"
    LOCALIZE = "run_fault_localization"
    WRITE_FIX = "write_fix"
    HYPOTHESIS = "express_hypothesis"
    DISCARD = "discard_hypothesis"
    COLLECT_MORE = "collect_more_information"
    ACCOMPLISHED = "goal_accomplished"


class Without(StrEnum):
    """A part that can be switched off, to see what it is worth (paper 004, ablations)."""

    SEARCH = "search"
    STATES = "states"
    MEMORY = "memory"
    #: The given place of the bug is not used: it is found like any other.
    PLACE = "place"


#: Tools that only look.
_READ = (
    ToolName.READ_RANGE,
    ToolName.CLASSES_AND_METHODS,
    ToolName.EXTRACT_METHOD,
    ToolName.EXTRACT_TESTS,
)


def _staying(state: State, *tools: ToolName) -> dict[ToolName, State]:
    return dict.fromkeys(tools, state)


#: State → the tools it has → the state after each. What is not in here is refused.
TABLE: Mapping[State, Mapping[ToolName, State]] = {
    State.UNDERSTAND: {
        **_staying(State.UNDERSTAND, *_READ, ToolName.RUN_TESTS, ToolName.LOCALIZE),
        ToolName.HYPOTHESIS: State.COLLECT,
    },
    State.COLLECT: {
        **_staying(
            State.COLLECT, *_READ, ToolName.SEARCH, ToolName.SIMILAR_CALLS, ToolName.METHOD_BODY
        ),
        ToolName.WRITE_FIX: State.TRY,
        ToolName.DISCARD: State.UNDERSTAND,
    },
    State.TRY: {
        **_staying(State.TRY, ToolName.WRITE_FIX, ToolName.READ_RANGE),
        ToolName.COLLECT_MORE: State.COLLECT,
        ToolName.DISCARD: State.UNDERSTAND,
        ToolName.ACCOMPLISHED: State.DONE,
    },
    State.DONE: {},
}


def after(state: State, tool: ToolName) -> State:
    """Return the state that a tool leads to; without a state machine, the tool decides alone.

    >>> after(State.COLLECT, Tool.WRITE_FIX).name
    'TRY'
    """
    if tool in TABLE[state]:
        return TABLE[state][tool]
    return next(row[tool] for row in TABLE.values() if tool in row)
