"""The tables of a study about repairs."""

from __future__ import annotations

from statistics import fmean

from pytest_brt.evaluate.record import Repaired, RepairRun, StudyResult
from pytest_brt.evaluate.repair_rates import (
    RATES,
    Which,
    calls,
    difference,
    mended,
    repair_shares,
    repairers_of,
    right_given,
    tried,
)
from pytest_brt.evaluate.table import Cell, Table

TITLES = {
    "fix": "a fix",
    "own": "passes our tests",
    "right": "right",
    "same": "equal to the fix",
}


def repair_tables(result: StudyResult) -> tuple[Table, ...]:
    """Return all tables about repairs; those without rows have nothing to tell."""
    strategies = repairers_of(result)
    return (
        *(_with_and_without(result, strategy) for strategy in strategies),
        _use(result),
        *(_tools(result, strategy) for strategy in strategies),
        _ablations(result),
    )


def _with_and_without(result: StudyResult, strategy: str) -> Table:
    bugs = mended(result)
    ways = {
        "the failing test": Which(strategy=strategy, given=True),
        "the report alone": Which(strategy=strategy, given=False),
        "either": Which(strategy=strategy),
    }
    rows: list[tuple[Cell, ...]] = []
    for name, which in ways.items():
        found = repair_shares(bugs, which)
        rates = (found.rates[rate] for rate in RATES)
        rows.append((name, found.n, *rates, _plain(found.steps), ""))
    given, alone, _ = ways.values()
    gap = difference((given.runs(bug), alone.runs(bug)) for bug in bugs)
    if gap.n:
        rates = (gap.rates[rate] for rate in RATES)
        rows.append(("difference, bugs with both", gap.n, *rates, "", f"{gap.p:.3f}"))
    return Table(
        name=f"repairs-{strategy}",
        title=f"bugs repaired by {strategy}, with and without the failing test",
        columns=("given", "n", *(TITLES[name] for name in RATES), "steps to right", "p of right"),
        rows=tuple(rows) if any(row[1] for row in rows) else (),
        kind="share",
    )


def _use(result: StudyResult) -> Table:
    bugs = mended(result)
    rows: list[tuple[Cell, ...]] = []
    for strategy in repairers_of(result):
        with_, without = (Which(strategy=strategy, given=given) for given in (True, False))
        for name, which, used in (
            ("given and used", with_, True),
            ("given, not used", with_, False),
            ("not given", without, None),
        ):
            count, gap = right_given(bugs, which, used=used)
            rows.append((strategy, name, count, gap))
    return Table(
        name="repairs-use",
        title="runs with a right fix, by the use of the failing test",
        columns=("strategy", "failing test", "runs", "right"),
        rows=tuple(rows) if any(row[2] for row in rows) else (),
        kind="share",
    )


def _tools(result: StudyResult, strategy: str) -> Table:
    runs = [run for run in tried(result, strategy) if run.actions]
    groups = [[run for run in runs if run.is_right is right] for right in (True, False)]
    means = [calls(group) for group in groups]
    total = {name: sum(mean.get(name, 0.0) for mean in means) for mean in means for name in mean}
    names = sorted(total, key=lambda name: (-total[name], name))
    rows: list[tuple[Cell, ...]] = [
        (name, *(mean.get(name, 0.0) if mean else None for mean in means)) for name in names
    ]
    steps = [fmean(len(run.actions) for run in group) if group else None for group in groups]
    rows.append(("all", *steps))
    return Table(
        name=f"tools-{strategy}",
        title=f"actions per run of {strategy}: {len(groups[0])} runs with a right fix, "
        f"{len(groups[1])} without",
        columns=("action", "with a right fix", "without"),
        rows=tuple(rows) if runs else (),
    )


def _ablations(result: StudyResult) -> Table:
    bugs = mended(result)
    settings = result.settings.repairs
    offs = settings.without if settings else ()
    rows: list[tuple[Cell, ...]] = []
    whole = Which(strategy="repairagent", given=True)
    for off in ((), *offs):
        which = Which(strategy="repairagent", given=True, without=off)
        found = repair_shares(bugs, which)
        runs = [run for bug in bugs for run in which.runs(bug)]
        gap = difference((which.runs(bug), whole.runs(bug)) for bug in bugs)
        name = f"without {', '.join(off)}" if off else "the whole"
        differs: tuple[Cell, ...] = (gap.rates["right"], f"{gap.p:.3f}") if off else ("", "")
        rows.append((name, found.n, found.rates["right"], *differs, *_effort(runs, found.steps)))
    names = ("repairagent", "n", "right", "minus the whole", "p", "steps to right")
    return Table(
        name="ablations",
        title="what the parts of repairagent are worth: bugs with a right fix",
        columns=(*names, "tokens made", "seconds"),
        rows=tuple(rows) if offs and any(row[1] for row in rows) else (),
        kind="share",
    )


def _effort(runs: list[RepairRun], steps: float | None) -> tuple[str, str, str]:
    """Return median steps to a right fix, and tokens and seconds per run."""
    if not runs:
        return "–", "–", "–"
    tokens = fmean(run.cost.tokens for run in runs)
    return _plain(steps), f"{tokens:.0f}", f"{fmean(run.seconds for run in runs):.1f}"


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


def _row(bug: Repaired, run: RepairRun) -> tuple[Cell, ...]:
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
