"""Rows about bugs: what was done with each, and what that took."""

from __future__ import annotations

from collections.abc import Iterator

from pytest_brt.evaluate.record import Repaired, Studied, StudyResult
from pytest_brt.evaluate.rows.row import Row, make_row
from pytest_brt.types import Cost


def bug_rows(result: StudyResult) -> Iterator[Row]:
    """Yield a row per bug and stage that any bug came to."""
    for stage, found in result.stages.items():
        if not found:
            continue
        known = {studied.instance: studied for studied in found if not _is_left_out(studied)}
        for bug in result.bugs:
            studied = known.get(bug.id)
            problem = studied.problem if studied else ""
            yield make_row(
                bug,
                stage=stage,
                not_run=studied is None,
                not_set_up=bool(problem),
                studied=studied is not None and not problem,
                problem=problem,
                **_costs(studied),
            )


def _is_left_out(studied: Studied) -> bool:
    """Whether nothing was tried: only plausible tests are given, and the bug has none."""
    return isinstance(studied, Repaired) and not studied.runs and not studied.problem


def _costs(studied: Studied | None) -> Row:
    """Return what a stage took; no tokens where no model was asked."""
    if studied is None or studied.problem:
        return dict.fromkeys(("seconds", "setup", "judging", "tokens", "read"))
    cost = sum((run.cost for run in studied.runs), Cost())
    asked = bool(cost.calls or cost.tokens)
    return {
        "seconds": studied.seconds,
        "setup": studied.setup,
        "judging": studied.judging,
        "tokens": cost.tokens if asked else None,
        "read": cost.prompt_tokens if asked else None,
    }
