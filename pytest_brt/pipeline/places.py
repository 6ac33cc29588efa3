"""Where the bug of a report may be, by its words and by what its code runs."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

from pytest_brt.localise.suspects import find_suspects
from pytest_brt.observe.functions_run import functions_run
from pytest_brt.project.index import Index, open_index
from pytest_brt.reproduce.strategy import Workbench
from pytest_brt.types import Issue, Localised, Place


def localise(issue: Issue, bench: Workbench) -> Localised:
    """Return where the bug of a report may be.

    Raises:
        SubjectProblem: the project's interpreter cannot be started.
    """
    with closing(open_index(Path(bench.engine.subject.root), bench.cache)) as index:
        return Localised(issue=issue.id, places=likely_places(issue, bench, index))


def likely_places(issue: Issue, bench: Workbench, index: Index) -> tuple[Place, ...]:
    """Return the places, likeliest first; see `localise`."""
    observed = bench.observed(issue)
    ran = functions_run(observed, index, bench.engine)
    return find_suspects(issue, index, ran=ran, raised=observed.raised)
