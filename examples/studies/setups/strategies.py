"""Strategies for studies: none, with which repairs have the tests that are given, and ablations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import pytest

from pytest_brt.agents.loop import Agent
from pytest_brt.agents.specs import REPAIR_AGENT, sections
from pytest_brt.agents.trials import RepairWork
from pytest_brt.model.request import Message
from pytest_brt.reproduce.strategy import Strategy, Workbench
from pytest_brt.types import Attempt, Issue, Step

_SEARCHING = ("search_code_base", "find_similar_api_calls", "generate_method_body")


def make_none(issue: Issue, index: int, _: Workbench) -> Attempt:
    """Return an attempt that considered nothing."""
    return Attempt(issue=issue.id, strategy="none", index=index, tests=())


def forgetful(
    agent: Agent, env: RepairWork, steps: Sequence[Step], room: int
) -> tuple[Message, ...]:
    """Return RepairAgent's prompt with the last result alone, and no hypothesis."""
    return sections(agent, replace(env, hypothesis=""), steps[-1:], room)


@pytest.hookimpl(optionalhook=True)
def pytest_brt_strategies() -> Mapping[str, Strategy | Agent]:
    """Return the strategies by their names: RepairAgent without a part of it (paper 2, V-D)."""
    tools = tuple(tool for tool in REPAIR_AGENT.tools if tool.__name__ not in _SEARCHING)
    return {
        "none": Strategy(attempt=make_none),
        "repairagent-no-search": replace(REPAIR_AGENT, tools=tools),
        "repairagent-no-states": replace(REPAIR_AGENT, states={}),
        "repairagent-no-memory": replace(REPAIR_AGENT, layout=forgetful),
    }
