"""All rows of a study, by the name of their file."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from pytest_brt.evaluate.record import StudyResult
from pytest_brt.evaluate.rows.bugs import bug_rows
from pytest_brt.evaluate.rows.patches import patch_rows, ranking_rows, threshold_rows
from pytest_brt.evaluate.rows.row import Row
from pytest_brt.evaluate.rows.runs import ending_rows, fix_rows, run_rows, step_rows
from pytest_brt.evaluate.rows.tests import effort_rows, reproduced_rows, test_rows

Rows = Mapping[str, list[Row]]

FILES: Mapping[str, Callable[[StudyResult], Iterator[Row]]] = {
    "bugs": bug_rows,
    "reproduced": reproduced_rows,
    "tests": test_rows,
    "effort": effort_rows,
    "rankings": ranking_rows,
    "thresholds": threshold_rows,
    "patches": patch_rows,
    "runs": run_rows,
    "fixes": fix_rows,
    "steps": step_rows,
    "endings": ending_rows,
}


def rows_of(result: StudyResult) -> dict[str, list[Row]]:
    """Return the rows of each file."""
    return {name: list(make(result)) for name, make in FILES.items()}
