"""`run_tests`: what the failing tests do, without frames of others' code."""

from __future__ import annotations

from collections.abc import Sequence

from pytest_brt.dialogue.action import Action, ActionSpec
from pytest_brt.dialogue.tool import Outcome, Tool, refused
from pytest_brt.repair.account import told_runs
from pytest_brt.repair.site import Site
from pytest_brt.repair.states import Tool as Name
from pytest_brt.types import Step, Verdict


def run_tests(site: Site) -> Tool:
    """Return the tool."""

    def run(_action: Action, _steps: Sequence[Step]) -> Outcome:
        runs = tuple(judged.judgement.runs[0] for judged in site.failing if judged.judgement.runs)
        if not runs:
            return refused("There is no failing test to run.")
        text = told_runs(runs, names_of(site))
        return Outcome(observation=text, verdict=Verdict.FAIL)

    spec = ActionSpec(
        name=Name.RUN_TESTS.value, about="Run the failing tests on the code as it is, and show how."
    )
    return Tool(spec=spec, run=run)


def names_of(site: Site) -> dict[str, str]:
    """Return what the failing tests are called, by their ids."""
    return {judged.test.id: judged.test.name for judged in site.failing}
