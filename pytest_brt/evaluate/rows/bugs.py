"""Rows about bugs: what was done with each, and what that took."""

from __future__ import annotations

from collections.abc import Iterator

from pytest_brt.evaluate.record import Repaired, Reproduced, StudyResult
from pytest_brt.evaluate.rows.row import Row, about_bug
from pytest_brt.types import Cost


def bug_rows(result: StudyResult) -> Iterator[Row]:
    """Yield a row per bug and stage that any bug came to."""
    for stage, found in result.stages.items():
        known = {studied.instance: studied for studied in found}
        if not known:
            continue
        for bug in result.bugs:
            studied = known.get(bug.id)
            yield about_bug(bug) | {
                "stage": stage,
                "not_run": int(studied is None),
                "not_set_up": int(studied is not None and bool(studied.problem)),
                "studied": int(studied is not None and not studied.problem),
                "problem": studied.problem if studied else "",
            }


def cost_rows(result: StudyResult) -> Iterator[Row]:
    """Yield a row per bug, stage and kind of cost; no tokens where no model was asked."""
    bugs = {bug.id: bug for bug in result.bugs}
    for stage, found in result.stages.items():
        for studied in found:
            if studied.problem:
                continue
            costs = {
                "seconds": studied.seconds,
                "setup-seconds": studied.setup,
                "judging-seconds": studied.judging,
            }
            if isinstance(studied, Reproduced | Repaired):
                cost = sum((run.cost for run in studied.runs), Cost())
                if cost.calls or cost.tokens:
                    costs |= {"tokens-made": cost.tokens, "tokens-read": cost.prompt_tokens}
            for what, value in costs.items():
                yield about_bug(bugs[studied.instance]) | {
                    "stage": stage,
                    "what": what,
                    "value": value,
                }
