"""Several studies beside each other, as of an ablation: a row each, over the bugs of all."""

from __future__ import annotations

from collections.abc import Mapping
from statistics import fmean

from pytest_brt.evaluate.bootstrap import mean_interval, paired_p
from pytest_brt.evaluate.rates import RATES, done, of_strategy, strategies_of
from pytest_brt.evaluate.record import StudyResult
from pytest_brt.evaluate.repair_rates import difference, mended, repair_shares, ways_in
from pytest_brt.evaluate.table import Cell, Table

#: Name and result of each study, in the order in which they are shown.
Studies = Mapping[str, StudyResult]


def beside(studies: Studies) -> tuple[Table, ...]:
    """Return how much the tool does in each study, and how that differs from the first one."""
    tables = (_reproduced(studies), _repaired(studies))
    return tuple(table for table in tables if table.rows)


def _reproduced(studies: Studies) -> Table:
    bugs = {name: {bug.instance: bug for bug in done(one)} for name, one in studies.items()}
    common = sorted(set.intersection(*(set(some) for some in bugs.values())))
    first: list[float] | None = None
    rows: list[tuple[Cell, ...]] = []
    for name, study in studies.items():
        for strategy in strategies_of(study) if common else ():
            tests = [of_strategy(bugs[name][instance], strategy) for instance in common]
            values = [float(RATES["plausible"](some)) for some in tests]
            first = values if first is None else first
            differs: tuple[Cell, ...] = ("", "")
            if rows:
                gaps = [y - x for x, y in zip(first, values, strict=True)]
                differs = (mean_interval(gaps), f"{paired_p(values, first):.3f}")
            seconds = fmean(bugs[name][instance].seconds for instance in common)
            share = mean_interval(values)
            rows.append((name, strategy, len(common), share, *differs, f"{seconds:.1f}"))
    return Table(
        name="beside-reproduced",
        title="bugs with a plausible test",
        columns=("study", "strategy", "n", "plausible", "minus the first", "p", "seconds"),
        rows=tuple(rows),
        kind="share",
    )


def _repaired(studies: Studies) -> Table:
    bugs = {name: {bug.instance: bug for bug in mended(one)} for name, one in studies.items()}
    common = sorted(set.intersection(*(set(some) for some in bugs.values())))
    one_of = next(iter(bugs.values()))
    first = next((which for study in studies.values() for which in ways_in(study)), None)
    rows: list[tuple[Cell, ...]] = []
    for name, study in studies.items():
        for which in ways_in(study) if common and first else ():
            assert first is not None, "there is a way"
            some = [bugs[name][instance] for instance in common]
            found = repair_shares(some, which)
            pairs = [(which.runs(bug), first.runs(one_of[bug.instance])) for bug in some]
            gap = difference(pairs)
            differs: tuple[Cell, ...] = (gap.rates["right"], f"{gap.p:.3f}") if rows else ("", "")
            tokens = [run.cost.tokens for bug in some for run in which.runs(bug)]
            made = f"{fmean(tokens):.0f}" if tokens else "–"
            rows.append((name, which.title, found.n, found.rates["right"], *differs, made))
    return Table(
        name="beside-repaired",
        title="bugs with a right fix",
        columns=("study", "repaired by", "n", "right", "minus the first", "p", "tokens made"),
        rows=tuple(rows),
        kind="share",
    )
