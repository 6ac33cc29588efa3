"""The tools about the failing tests: their source, and what they do on the code as it is."""

from __future__ import annotations

from collections.abc import Sequence

from pytest_brt.dialogue.action import Action, ActionSpec, Outcome, Parameter, Tool, refused
from pytest_brt.dialogue.paths import closest
from pytest_brt.dialogue.prompts import fenced
from pytest_brt.execute.row import Row
from pytest_brt.guard.suite import read_tests
from pytest_brt.repair.account import told_runs
from pytest_brt.repair.site import Site
from pytest_brt.repair.states import ToolName
from pytest_brt.repair.trial import target_of
from pytest_brt.types import JudgedTest, Step, Verdict


def extract_tests(site: Site) -> Tool:
    """Return the tool."""

    def run(action: Action, _steps: Sequence[Step]) -> Outcome:
        names = {judged.test.name: judged for judged in site.failing}
        if not names:
            return refused("There is no failing test. Read the code that the report names.")
        asked = action["name"].rpartition("::")[2].strip()
        meant = closest(asked, names).name if asked else next(iter(names))
        if not meant:
            return refused(f"There is no failing test {asked!r}. There are: {', '.join(names)}.")
        judged = names[meant]
        code = fenced(source_of(site, judged), "python")
        return Outcome(observation=f"{judged.test.path}: {judged.test.name} fails:\n{code}")

    spec = ActionSpec(
        name=ToolName.EXTRACT_TESTS.value,
        about="Show the source of a failing test.",
        parameters=(
            Parameter(name="name", about="name of the test, or nothing for the first", default=""),
        ),
    )
    return Tool(spec=spec, run=run)


def source_of(site: Site, judged: JudgedTest) -> str:
    """Return the source of a test: its module when it stands alone, else its function."""
    test = judged.test
    if test.source is not None:
        return test.source
    text = (site.root / test.path).read_text(encoding="utf-8", errors="replace")
    # Parameters of a test follow its name in brackets.
    bare = test.name.partition("[")[0]
    found = [one.source for one in read_tests(test.path, text) if one.node == bare]
    return found[0] if found else text


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
        name=ToolName.RUN_TESTS.value,
        about="Run the failing tests on the code as it is, and show how.",
    )
    return Tool(spec=spec, run=run)


def names_of(site: Site) -> dict[str, str]:
    """Return what the failing tests are called, by their ids."""
    return {judged.test.id: judged.test.name for judged in site.failing}
