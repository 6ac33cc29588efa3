"""The second stage of a study: candidate patches ranked, and judged by the hidden tests.

Each ranker orders them as groups of patches that it cannot tell apart.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import groupby
from pathlib import Path

from pytest_brt.evaluate.job import Job, StudyKit, bench_of, open_run, open_tree
from pytest_brt.evaluate.record import PatchOutcome, Ranked, RankedBy
from pytest_brt.evaluate.truth import HiddenTests, patch_of
from pytest_brt.execute.engine import Engine
from pytest_brt.issue.load import read_issue
from pytest_brt.rank.epr import rank_by_epr
from pytest_brt.rank.matrix import run_patch
from pytest_brt.rank.weighted import rank_by_weight
from pytest_brt.run.plan import Case, Plan
from pytest_brt.types import JudgedTest, PatchResult, Rank


def rank(job: Job, kit: StudyKit, scratch: Path) -> Ranked:
    """Return what the rankers make of the patches for the job's bug.

    Raises:
        BrtError: the bug cannot be set up, or its hidden tests cannot judge.
    """
    instance, settings = job.instance, job.settings
    pool = job.predictions
    patches = tuple(patch_of(one.text, one.name) for one in pool)
    case = Case(issue=read_issue(instance.issue, f"{instance.id}.md"), patches=patches)
    plan = Plan(
        cases=(case,),
        strategies={},
        given=lambda: job.tests,
        rank=rank_by_epr,
        guard=settings.guard,
    )
    with (
        open_tree(job, kit, scratch) as (engine, setup),
        open_run(plan, bench_of(job, kit, engine)) as run,
    ):
        started = time.perf_counter()
        rows = tuple(future.result() for future in [run.row(case, patch) for patch in patches])
        ranked = time.perf_counter()
        labels = _labels(job, engine)
        fix = run_patch(patch_of(instance.patch, "fix"), case.issue_id, (), engine)
    return Ranked(
        instance=instance.id,
        tests=len(job.tests),
        patches=_patches(rows, job, labels, fix.normal),
        orders=tuple(
            RankedBy(
                ranker=name,
                groups=tuple(
                    tuple(row.patch.name for row in group) for group in order(rows, job.tests)
                ),
            )
            for name, order in RANKERS.items()
        ),
        seconds=ranked - started,
        setup=setup,
        judging=time.perf_counter() - ranked,
    )


def _labels(job: Job, engine: Engine) -> dict[str, bool]:
    labels = {one.name: one.plausible for one in job.predictions if one.plausible is not None}
    unknown = [one for one in job.predictions if one.plausible is None]
    if unknown:
        hidden = HiddenTests(job.instance, engine)
        for one in unknown:
            labels[one.name] = hidden.is_right(patch_of(one.text, one.name))
    return labels


def _patches(
    rows: tuple[PatchResult, ...], job: Job, labels: Mapping[str, bool], normal: str
) -> tuple[PatchOutcome, ...]:
    ranks = {rank.name: rank for rank in rank_by_weight(rows, job.tests)}
    return tuple(
        PatchOutcome(
            name=one.name,
            system=one.system,
            applies=row.applies,
            right=labels.get(one.name),
            same_as_fix=bool(normal) and row.normal == normal,
            epr=ranks[one.name].epr,
            score=ranks[one.name].score,
        )
        for one, row in zip(job.predictions, rows, strict=True)
    )


Ordering = Callable[[tuple[PatchResult, ...], tuple[JudgedTest, ...]], list[list[PatchResult]]]


def by_rank(ranks: Sequence[Rank]) -> list[list[PatchResult]]:
    """Return patches in groups of equal place, and of equal score where there is one.

    Those without a place are one group at the end.
    """
    ranked = [rank for rank in ranks if rank.place is not None]
    groups = [
        [rank.result for rank in group]
        for _, group in groupby(
            ranked,
            key=lambda rank: (rank.place, None if rank.score is None else round(rank.score, 9)),
        )
    ]
    rest = [rank.result for rank in ranks if rank.place is None]
    return [*groups, rest] if rest else groups


def grouped(
    rows: Iterable[PatchResult], key: Callable[[PatchResult], float]
) -> list[list[PatchResult]]:
    """Return patches in groups of equal `key`, lowest first."""
    ordered = sorted(rows, key=key)
    return [list(group) for _, group in groupby(ordered, key=key)]


def majority(rows: tuple[PatchResult, ...]) -> list[list[PatchResult]]:
    """Order by how many patches make the same program."""
    counts = Counter(row.normal or row.patch.text for row in rows)
    return grouped(rows, lambda row: -counts[row.normal or row.patch.text])


def broken_tests(row: PatchResult) -> float:
    """Return how many existing tests a patch breaks; one that does not apply comes last."""
    if not row.applies:
        return float("inf")
    return len(row.regressions)


RANKERS: Mapping[str, Ordering] = {
    "random": lambda rows, _: [list(rows)],
    "first-come": lambda rows, _: [[row] for row in rows],
    "regression-only": lambda rows, _: grouped(rows, broken_tests),
    "majority": lambda rows, _: majority(rows),
    "epr": lambda rows, tests: by_rank(rank_by_epr(rows, tests)),
    "weighted": lambda rows, tests: by_rank(
        # As it would be if no existing test had been run.
        rank_by_weight(tuple(replace(row, guarded=None) for row in rows), tests)
    ),
    "weighted+guard": lambda rows, tests: by_rank(rank_by_weight(rows, tests)),
}
