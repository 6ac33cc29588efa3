"""Where the bug of a report may be, by its words and by what its code runs."""

from __future__ import annotations

from pytest_brt.localise.suspects import find_suspects
from pytest_brt.observe.run_snippets import functions_run
from pytest_brt.project.index import Index
from pytest_brt.reproduce.strategy import Workbench
from pytest_brt.types import Issue, Place


def likely_places(issue: Issue, bench: Workbench, index: Index) -> tuple[Place, ...]:
    """Return the places, likeliest first.

    Raises:
        SubjectProblem: the project's interpreter cannot be started.
    """
    observed = bench.observed(issue)
    ran = functions_run(observed, index, bench.engine)
    return find_suspects(issue, index, ran=ran, raised=observed.raised)
