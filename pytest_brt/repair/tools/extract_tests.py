"""`extract_tests`: the source of the tests that fail."""

from __future__ import annotations

from collections.abc import Sequence

from pytest_brt.dialogue.action import Action, ActionSpec, Parameter
from pytest_brt.dialogue.mend import closest
from pytest_brt.dialogue.prompts import fenced
from pytest_brt.dialogue.tool import Outcome, Tool, refused
from pytest_brt.guard.suite import read_tests
from pytest_brt.repair.site import Site
from pytest_brt.repair.states import Tool as Name
from pytest_brt.types import JudgedTest, Step


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
        name=Name.EXTRACT_TESTS.value,
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
