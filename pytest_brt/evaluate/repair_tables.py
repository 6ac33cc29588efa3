"""The tables of a study about repairs."""

from __future__ import annotations

from collections import Counter
from statistics import fmean

from pytest_brt.evaluate.metrics import ratio_interval
from pytest_brt.evaluate.rates import (
    REPAIR_RATES,
    Which,
    both_tried,
    gain,
    mended,
    shares,
    steps_to_right,
    tried,
)
from pytest_brt.evaluate.record import Repaired, RepairRun, StudyResult
from pytest_brt.evaluate.table import Row, Table

TITLES = {
    "fix": "a fix",
    "own": "passes our tests",
    "right": "right",
    "same": "equal to the fix",
}


def repair_tables(result: StudyResult) -> tuple[Table, ...]:
    """Return all tables about repairs; those without rows have nothing to tell."""
    strategies = result.repairers
    return (
        *(_with_and_without(result, strategy) for strategy in strategies),
        _use(result),
        *(_tools(result, strategy) for strategy in strategies),
        _ablations(result),
    )


def _with_and_without(result: StudyResult, strategy: str) -> Table:
    bugs = mended(result)
    given = Which(strategy=strategy, given=True)
    alone = Which(strategy=strategy, given=False)
    setups = (
        ("the failing test", given),
        ("the report alone", alone),
        ("either", Which(strategy=strategy)),
    )
    rows: list[Row] = []
    for name, which in setups:
        groups = which.tried(bugs)
        steps = _plain(steps_to_right(groups))
        rows.append((name, len(groups), *shares(REPAIR_RATES, groups).values(), steps, ""))
    pairs = both_tried((given.runs(bug), alone.runs(bug)) for bug in bugs)
    if pairs:
        gains = {rate: gain(pairs, rate) for rate in REPAIR_RATES}
        gaps = (gap for gap, _ in gains.values())
        p = f"{gains['right'][1]:.3f}"
        rows.append(("difference, bugs with both", len(pairs), *gaps, "", p))
    return Table(
        name=f"repairs-{strategy}",
        title=f"bugs repaired by {strategy}, with and without the failing test",
        columns=(
            "given",
            "n",
            *(TITLES[name] for name in REPAIR_RATES),
            "steps to right",
            "p of right",
        ),
        rows=rows if any(row[1] for row in rows) else (),
        kind="share",
    )


def _use(result: StudyResult) -> Table:
    bugs = mended(result)
    rows: list[Row] = []
    for strategy in result.repairers:
        with_, without = (Which(strategy=strategy, given=given) for given in (True, False))
        for name, which, used in (
            ("given and used", with_, True),
            ("given, not used", with_, False),
            ("not given", without, None),
        ):
            groups = ([r for r in which.runs(bug) if used in (None, r.used)] for bug in bugs)
            hits = [(sum(run.is_right for run in runs), len(runs)) for runs in groups]
            rows.append((strategy, name, sum(n for _, n in hits), ratio_interval(hits)))
    return Table(
        name="repairs-use",
        title="runs with a right fix, by the use of the failing test",
        columns=("strategy", "failing test", "runs", "right"),
        rows=rows if any(row[2] for row in rows) else (),
        kind="share",
    )


def _tools(result: StudyResult, strategy: str) -> Table:
    runs = [run for run in tried(result, strategy) if run.actions]
    groups = [[run for run in runs if run.is_right is right] for right in (True, False)]
    means = [_calls(group) for group in groups]
    total = {name: sum(mean.get(name, 0.0) for mean in means) for mean in means for name in mean}
    names = sorted(total, key=lambda name: (-total[name], name))
    rows: list[Row] = [
        (name, *(mean.get(name, 0.0) if mean else None for mean in means)) for name in names
    ]
    steps = [fmean(len(run.actions) for run in group) if group else None for group in groups]
    rows.append(("all", *steps))
    return Table(
        name=f"tools-{strategy}",
        title=f"actions per run of {strategy}: {len(groups[0])} runs with a right fix, "
        f"{len(groups[1])} without",
        columns=("action", "with a right fix", "without"),
        rows=rows if runs else (),
    )


def _calls(runs: list[RepairRun]) -> dict[str, float]:
    """Return how often each action is taken in a run, on average; "other" is none of ours."""
    counts = Counter(action or "other" for run in runs for action in run.actions)
    return {name: count / len(runs) for name, count in counts.items()}


def _ablations(result: StudyResult) -> Table:
    bugs = mended(result)
    settings = result.settings.repairs
    offs = settings.without if settings else ()
    rows: list[Row] = []
    whole = Which(strategy="repairagent", given=True)
    for off in ((), *offs):
        which = Which(strategy="repairagent", given=True, without=off)
        groups = which.tried(bugs)
        gap, p = gain(both_tried((which.runs(bug), whole.runs(bug)) for bug in bugs))
        name = f"without {', '.join(off)}" if off else "the whole"
        right = shares(REPAIR_RATES, groups)["right"]
        differs: Row = (gap, f"{p:.3f}") if off else ("", "")
        rows.append((name, len(groups), right, *differs, *_effort(groups)))
    names = ("repairagent", "n", "right", "minus the whole", "p", "steps to right")
    return Table(
        name="ablations",
        title="what the parts of repairagent are worth: bugs with a right fix",
        columns=(*names, "tokens made", "seconds"),
        rows=rows if offs and any(row[1] for row in rows) else (),
        kind="share",
    )


def _effort(groups: list[list[RepairRun]]) -> tuple[str, str, str]:
    runs = [run for group in groups for run in group]
    if not runs:
        return "–", "–", "–"
    tokens = fmean(run.cost.tokens for run in runs)
    seconds = fmean(run.seconds for run in runs)
    return _plain(steps_to_right(groups)), f"{tokens:.0f}", f"{seconds:.1f}"


def _plain(number: float | None) -> str:
    return "–" if number is None else f"{number:g}"


def per_run(result: StudyResult) -> Table:
    """Return a row per run of a repair, for other people's tools."""
    return Table(
        name="per-repair",
        title="every repair",
        columns=(
            *("bug", "strategy", "without", "run", "given", "used", "fixes", "kept", "own"),
            *("right", "equal", "steps", "first right", "ending", "tokens", "seconds"),
        ),
        rows=tuple(_row(bug, run) for bug in mended(result) for run in bug.runs),
    )


def _row(bug: Repaired, run: RepairRun) -> Row:
    kept = [fix for fix in run.fixes if fix.kept]
    return (
        *(bug.instance, run.strategy, " ".join(run.without), run.index),
        *(int(run.given), int(run.used), len(run.fixes), len(kept)),
        int(any(fix.own for fix in kept)),
        int(run.is_right),
        int(any(fix.same_as_fix for fix in kept)),
        len(run.actions),
        run.first_right,
        run.ending,
        run.cost.tokens,
        run.seconds,
    )
