"""`run_tests`: what the failing tests do, without frames of others' code."""

from __future__ import annotations

from collections.abc import Sequence

from pytest_brt.dialogue.action import Action, ActionSpec
from pytest_brt.dialogue.tool import Outcome, Tool, refused
from pytest_brt.execute.row import Row
from pytest_brt.repair.account import told_runs
from pytest_brt.repair.site import Site
from pytest_brt.repair.states import Tool as Name
from pytest_brt.repair.trial import target_of
from pytest_brt.types import Step, Verdict


def run_tests(site: Site) -> Tool:
    """Return the tool."""

    def run(_action: Action, _steps: Sequence[Step]) -> Outcome:
        if not site.failing:
            return refused("There is no failing test to run.")
        row = Row(targets=tuple(target_of(judged) for judged in site.failing))
        runs = site.trials.engine.run(row).runs
        text = told_runs(runs, names_of(site))
        failed = any(run.verdict is not Verdict.PASS for run in runs)
        return Outcome(observation=text, verdict=Verdict.FAIL if failed else Verdict.PASS)

    spec = ActionSpec(
        name=Name.RUN_TESTS.value, about="Run the failing tests on the code as it is, and show how."
    )
    return Tool(spec=spec, run=run)


def names_of(site: Site) -> dict[str, str]:
    """Return what the failing tests are called, by their ids."""
    return {judged.test.id: judged.test.name for judged in site.failing}
