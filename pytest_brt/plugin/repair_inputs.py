"""From options to what is to be repaired, and with what."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import pytest

from pytest_brt.dialogue.action import Action, ActionSpec, Parameter
from pytest_brt.dialogue.tool import Outcome, Tool
from pytest_brt.errors import UsageProblem
from pytest_brt.plugin.extensions import gather, named
from pytest_brt.plugin.options import Options
from pytest_brt.repair.states import Without
from pytest_brt.repair.strategy import BUILT_IN, RepairStrategy
from pytest_brt.run.plan import Case
from pytest_brt.run.repairs import RepairPlan
from pytest_brt.types import Step


def repair_plan(
    config: pytest.Config, options: Options, cases: tuple[Case, ...], buggy: tuple[str, ...]
) -> RepairPlan:
    """Return what is to be repaired."""
    strategies: dict[str, RepairStrategy] = {}
    if options.repair and options.model == "none":
        raise UsageProblem(
            "--brt-repair: fixes are written by a model (add --brt-model gguf:FILE, or see "
            "'pytest-brt models')"
        )
    for name in options.repair_strategies if options.repair else ():
        strategy = named("--brt-repair-strategy", name, BUILT_IN)
        if options.samples is not None:
            strategy = replace(strategy, runs=options.samples)
        strategies[name] = strategy
    wanted = {case.issue_id for case in cases if case.issue and case.issue.source == options.repair}
    return RepairPlan(
        issues=frozenset(wanted),
        strategies=strategies,
        variants=options.variants,
        without=frozenset(Without(name) for parts in options.without for name in parts),
        given=buggy,
        guard=options.guard,
        jobs=options.jobs,
        tools=_tools(config, str(config.rootpath)) if options.repair else {},
    )


def _tools(config: pytest.Config, root: str) -> dict[str, Tool]:
    """Return the tools that plugins give to the repair agent."""
    added: dict[str, Callable[[str, str], str]] = gather(config, "pytest_brt_tools", {})
    return {name: _tool(name, answer, root) for name, answer in added.items()}


def _tool(name: str, answer: Callable[[str, str], str], root: str) -> Tool:
    about = (answer.__doc__ or "Ask a plugin.").strip().splitlines()[0]
    spec = ActionSpec(
        name=name, about=about, parameters=(Parameter(name="question", about="what to look for"),)
    )

    def run(action: Action, _steps: Sequence[Step]) -> Outcome:
        return Outcome(observation=str(answer(action["question"], root)))

    return Tool(spec=spec, run=run)
