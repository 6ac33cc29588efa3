"""Rows about candidate patches: each, those of a bug together, and how they are ranked."""

from __future__ import annotations

from collections.abc import Iterator

from pytest_brt.codec import content_id
from pytest_brt.evaluate.measures import COLUMNS, Order, select
from pytest_brt.evaluate.record import Bug, Ranked, RankedBy, StudyResult
from pytest_brt.evaluate.rows.row import Row, about_bug, flat, yes

#: Thresholds are tried in steps of this part of 1, as paper 001 does.
STEPS = 100


def _ranked(result: StudyResult) -> Iterator[tuple[Bug, Ranked]]:
    bugs = {bug.id: bug for bug in result.bugs}
    for found in result.ranked:
        if not found.problem:
            yield bugs[found.instance], found


def is_mixed(bug: Ranked) -> bool:
    """Whether a ranking of its patches can be right or wrong, and there is evidence for it."""
    return bug.tests > 0 and {patch.right for patch in bug.patches} >= {True, False}


def patch_rows(result: StudyResult) -> Iterator[Row]:
    """Yield a row per candidate patch."""
    for bug, found in _ranked(result):
        for patch in found.patches:
            yield (
                about_bug(bug)
                | flat(patch)
                | {
                    "applies": int(patch.applies),
                    "right": yes(patch.right),
                    "same_as_fix": int(patch.same_as_fix),
                }
            )


def pool_rows(result: StudyResult) -> Iterator[Row]:
    """Yield a row per bug that has candidate patches."""
    for bug, found in _ranked(result):
        right = sum(patch.right is True for patch in found.patches)
        yield about_bug(bug) | {
            "patches": len(found.patches),
            "fixed": int(right > 0),
            "right": right,
            "same_as_fix": sum(patch.same_as_fix for patch in found.patches),
        }


def ranking_rows(result: StudyResult) -> Iterator[Row]:
    """Yield a row per ranker and bug whose ranking can be right or wrong."""
    for bug, found in _ranked(result):
        if is_mixed(found):
            pool = content_id(*(f"{patch.name} {patch.right}" for patch in found.patches))
            for order in found.orders:
                labels = patch_order(found, order)
                measures: Row = {name: measure(labels) for name, measure in COLUMNS.items()}
                yield about_bug(bug) | {"ranker": order.ranker, "pool": pool} | measures


def patch_order(bug: Ranked, order: RankedBy) -> Order:
    """Return the labels of a bug's patches in a ranker's order; unknown ones are left out."""
    labels = {patch.name: patch.right for patch in bug.patches if patch.right is not None}
    groups = [[labels[name] for name in group if name in labels] for group in order.groups]
    return [group for group in groups if group]


def threshold_rows(result: StudyResult) -> Iterator[Row]:
    """Yield what each threshold selects of a bug's patches, of EPR and of the weighted score."""
    for bug, found in _ranked(result):
        if not is_mixed(found):
            continue
        known = [patch for patch in found.patches if patch.right is not None]
        pools = {
            "EPR": [(patch.epr, patch.right is True) for patch in known],
            "score": [(patch.score, patch.right is True) for patch in known],
        }
        for by, pool in pools.items():
            for step in range(STEPS + 1):
                yield (
                    about_bug(bug)
                    | {
                        "by": by,
                        "from": step / STEPS,
                        "tenth": int(step % (STEPS // 10) == 0),
                    }
                    | flat(select(pool, step / STEPS))
                )
