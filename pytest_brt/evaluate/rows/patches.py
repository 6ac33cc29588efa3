"""Rows about candidate patches: each, how those of a bug are ranked, and what thresholds select."""

from __future__ import annotations

from collections.abc import Iterator

from pytest_brt.codec import content_id
from pytest_brt.evaluate.measures import COLUMNS, Order, select
from pytest_brt.evaluate.record import Bug, Ranked, RankedBy, StudyResult
from pytest_brt.evaluate.rows.row import Row, make_row, studied

#: Thresholds are tried in steps of this part of 1, as paper 001 does.
STEPS = 100


def patch_rows(result: StudyResult) -> Iterator[Row]:
    """Yield a row per candidate patch."""
    for bug, found in studied(result, result.ranked):
        for patch in found.patches:
            yield make_row(bug, patch)


def is_mixed(bug: Ranked) -> bool:
    """Whether a ranking of its patches can be right or wrong, and there is evidence for it."""
    return bug.tests > 0 and {patch.right for patch in bug.patches} >= {True, False}


def _mixed(result: StudyResult) -> Iterator[tuple[Bug, Ranked]]:
    for bug, found in studied(result, result.ranked):
        if is_mixed(found):
            yield bug, found


def ranking_rows(result: StudyResult) -> Iterator[Row]:
    """Yield a row per ranker and bug whose ranking can be right or wrong."""
    for bug, found in _mixed(result):
        pool = content_id(*(f"{patch.name} {patch.right}" for patch in found.patches))
        for order in found.orders:
            labels = patch_order(found, order)
            measures = {name: measure(labels) for name, measure in COLUMNS.items()}
            yield make_row(bug, ranker=order.ranker, pool=pool, **measures)


def patch_order(bug: Ranked, order: RankedBy) -> Order:
    """Return the labels of a bug's patches in a ranker's order; unknown ones are left out."""
    labels = {patch.name: patch.right for patch in bug.patches if patch.right is not None}
    groups = [[labels[name] for name in group if name in labels] for group in order.groups]
    return [group for group in groups if group]


def threshold_rows(result: StudyResult) -> Iterator[Row]:
    """Yield what each threshold selects of a bug's patches, of EPR and of the weighted score."""
    for bug, found in _mixed(result):
        known = [patch for patch in found.patches if patch.right is not None]
        pools = {
            "EPR": [(patch.epr, patch.right is True) for patch in known],
            "score": [(patch.score, patch.right is True) for patch in known],
        }
        for by, pool in pools.items():
            for step in range(STEPS + 1):
                place = {"from": step / STEPS, "tenth": step % (STEPS // 10) == 0}
                yield make_row(bug, select(pool, step / STEPS), by=by, **place)
