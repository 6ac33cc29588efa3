"""The tables of a study."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from itertools import chain
from statistics import fmean, median

from pytest_brt.evaluate.metrics import (
    COLUMNS,
    acc_at,
    mean_columns,
    mean_interval,
    random_baseline,
    reciprocal_rank,
    threshold_curve,
    wef_at,
)
from pytest_brt.evaluate.rates import (
    RATES,
    Acted,
    behaviour,
    by_repo,
    done,
    mixed,
    of_strategy,
    patch_orders,
    runs_of,
    shares,
    test_orders,
    tried,
)
from pytest_brt.evaluate.record import Repaired, Reproduced, Studied, StudyResult
from pytest_brt.evaluate.repair_tables import repair_tables
from pytest_brt.evaluate.table import Cell, Row, Table
from pytest_brt.types import Ending

#: Why a run ended, and what its column is called.
_ENDED = {
    Ending.FINISH: "by itself",
    Ending.STEPS: "steps used up",
    Ending.LOOP: "in circles",
    Ending.TOKENS: "out of tokens",
    Ending.TIME: "out of time",
    Ending.ERROR: "model failed",
}


def tables_of(result: StudyResult) -> tuple[Table, ...]:
    """Return all tables that the result has something for."""
    strategies = result.settings.strategies
    tables = (
        _setup(result),
        _problems(result),
        *(_rates(result, strategy) for strategy in strategies),
        *(_effort(result, strategy) for strategy in strategies),
        _rules(result),
        _rankers(result),
        _thresholds(result),
        _extents(result),
        *repair_tables(result),
        *(
            behaviour_table(strategy, strategy, runs_of(done(result), strategy))
            for strategy in strategies
        ),
        *(
            behaviour_table(f"repair-{strategy}", strategy, tried(result, strategy))
            for strategy in result.repairers
        ),
        _endings(result),
        _cost(result),
    )
    return tuple(table for table in tables if table.rows)


def _setup(result: StudyResult) -> Table:
    total = len(result.instances)
    tried = len(result.reproduced)
    failed = sum(bool(bug.problem) for bug in result.reproduced)
    ranked, repaired = (
        sum(not bug.problem for bug in bugs) for bugs in (result.ranked, result.repaired)
    )
    named = ("in the data set", "not run", "not set up", "studied", "with patches ranked")
    return Table(
        name="bugs",
        title="bugs",
        columns=(*named, "with repairs tried"),
        rows=((total, total - tried, failed, tried - failed, ranked, repaired),),
    )


def _problems(result: StudyResult) -> Table:
    found = chain.from_iterable(result.stages.values())
    told = dict.fromkeys((bug.instance, bug.problem) for bug in found if bug.problem)
    return Table(
        name="problems",
        title="bugs that could not be studied",
        columns=("bug", "why"),
        rows=tuple(told),
    )


def _rates(result: StudyResult, strategy: str) -> Table:
    groups = {"all": list(done(result)), **by_repo(done(result))}
    rows: list[Row] = []
    for name, bugs in groups.items():
        tests = [of_strategy(bug, strategy) for bug in bugs]
        ratio = mean_interval([float(RATES["plausible"](some)) for some in tests if some])
        rows.append((name, len(bugs), *shares(RATES, tests).values(), ratio))
    titles = {"first": "plausible first", "swt": "SWT-bench", "valid": "plausible, valid"}
    return Table(
        name=f"rates-{strategy}",
        title=f"bugs reproduced by {strategy}",
        columns=("bugs", "n", *(titles.get(name, name) for name in RATES), "candidate→plausible"),
        rows=rows if groups["all"] else (),
        kind="share",
    )


def _effort(result: StudyResult, strategy: str) -> Table:
    orders = test_orders(done(result), strategy)
    measures = [partial(measure, k=k) for measure in (acc_at, wef_at) for k in (1, 3, 5)]
    rows: list[Row] = [
        ("as ranked", len(orders), *(sum(map(found, orders)) for found in measures)),
        ("shuffled, 100 seeds", len(orders), *(random_baseline(orders, m) for m in measures)),
    ]
    return Table(
        name=f"effort-{strategy}",
        title=f"tests to read until a plausible one, {strategy}: bugs (acc), wrong tests (wef)",
        columns=("order", "n", "acc@1", "acc@3", "acc@5", "wef@1", "wef@3", "wef@5"),
        rows=rows if orders else (),
    )


def _rules(result: StudyResult) -> Table:
    tests = [test for bug in done(result) for test in bug.tests]
    rows = []
    for rule in sorted({test.rule for test in tests}):
        some = [test for test in tests if test.rule == rule]
        right = sum(test.plausible for test in some)
        known = [test.reaches for test in some if test.reaches is not None]
        reached = fmean(known) if known else None
        rows.append((rule, len(some), right, right / len(some), reached))
    return Table(
        name="rules",
        title="candidates by kind of oracle",
        columns=("rule", "candidates", "plausible", "precision", "reach the fix"),
        rows=rows,
        kind="share",
    )


def _rankers(result: StudyResult) -> Table:
    rows: list[Row] = []
    for ranker, orders in patch_orders(mixed(result)).items():
        means = mean_columns(orders)
        cells: dict[str, Cell] = {**means, "mrr": mean_interval([*map(reciprocal_rank, orders)])}
        rows.append((ranker, len(orders), *(cells[name] for name in COLUMNS)))
    return Table(
        name="rankers",
        title="patches ranked: bugs with right and wrong patches, and a candidate test",
        columns=("ranker", "n", *COLUMNS),
        rows=rows,
    )


def _thresholds(result: StudyResult) -> Table:
    bugs = mixed(result)
    epr = [[(p.epr, p.right) for p in bug.patches if p.right is not None] for bug in bugs]
    score = [[(p.score, p.right) for p in bug.patches if p.right is not None] for bug in bugs]
    rows = []
    for one, other in zip(threshold_curve(epr, 10), threshold_curve(score, 10), strict=True):
        cells = ((p.precision, p.recall, p.f1, p.selecting) for p in (one, other))
        rows.append((one.threshold, *(cell for group in cells for cell in group)))
    names = ("precision", "recall", "F1", "bugs")
    return Table(
        name="thresholds",
        title="patches selected from a threshold on: by EPR, by the weighted score",
        columns=("from", *(f"EPR {n}" for n in names), *(f"score {n}" for n in names)),
        rows=rows if bugs else (),
    )


def _extents(result: StudyResult) -> Table:
    of = dict(zip((name for name, _ in result.instances), result.extents, strict=True))
    bugs = [bug for bug in result.ranked if not bug.problem]
    rows: list[Row] = []
    for extent in ("single-line", "multi-line", "multi-file"):
        some = [bug for bug in bugs if of[bug.instance] == extent]
        if some:
            right = [[p for p in bug.patches if p.right] for bug in some]
            equal = [[p for p in bug.patches if p.same_as_fix] for bug in some]
            patches = sum(len(bug.patches) for bug in some)
            counts = (sum(map(bool, right)), sum(map(len, right)), sum(map(len, equal)))
            rows.append((extent, len(some), patches, *counts))
    return Table(
        name="extents",
        title="patches by the extent of the true fix",
        columns=("true fix", "bugs", "patches", "bugs fixed", "plausible", "equal to the fix"),
        rows=rows,
    )


def behaviour_table(name: str, strategy: str, runs: Iterable[Acted]) -> Table:
    """Return what the dialogues of one strategy did."""
    found = behaviour(runs)
    rows: list[Row] = []
    for what, counts, most in (("action", found.actions, None), ("two in a row", found.bigrams, 5)):
        total = sum(count for _, count in counts)
        rows += [(what, action, count, count / total) for action, count in counts[:most]]
    return Table(
        name=f"behaviour-{name}",
        title=f"what {found.runs} runs of {strategy} did",
        columns=("what", "name", "times", "share"),
        rows=rows,
        kind="share",
    )


def _endings(result: StudyResult) -> Table:
    """Return why runs ended, of LIBRO each sample (paper 001, table 5)."""
    acted: dict[str, Iterable[Acted]] = {
        name: runs_of(done(result), name) for name in result.settings.strategies
    }
    acted |= {f"repair: {name}": tried(result, name) for name in result.repairers}
    rows: list[Row] = []
    for name, runs in acted.items():
        found = behaviour(runs)
        ends = dict(found.endings)
        if found.runs:
            rows.append((name, found.runs, *(ends.get(one, 0) / found.runs for one in _ENDED)))
    return Table(
        name="endings",
        title="why runs ended (of a strategy without dialogues: samples)",
        columns=("strategy", "runs", *_ENDED.values()),
        rows=rows,
        kind="share",
    )


def _cost(result: StudyResult) -> Table:
    rows: list[Row] = []
    for stage, bugs in result.stages.items():
        some = [bug for bug in bugs if not bug.problem]
        if not some:
            continue
        parts = [
            ("the tool, seconds", [bug.seconds for bug in some]),
            ("making the tree, seconds", [bug.setup for bug in some]),
            ("judging, seconds", [bug.judging for bug in some]),
        ]
        tokens = [_tokens(bug) for bug in some]
        if any(tokens):
            parts.append(("tokens made", tokens))
        for part, values in parts:
            figures = (fmean(values), median(values), max(values), sum(values))
            rows.append((f"{stage}: {part}", len(some), *figures))
    return Table(
        name="cost",
        title="cost per bug",
        columns=("what", "n", "mean", "median", "most", "sum"),
        rows=rows,
    )


def _tokens(bug: Studied) -> float:
    runs = bug.runs if isinstance(bug, Reproduced | Repaired) else ()
    return float(sum(run.cost.tokens for run in runs))


def per_bug(result: StudyResult) -> Table:
    """Return a row per bug and strategy, for other people's tools."""
    rows: list[Row] = []
    for bug in result.reproduced:
        for strategy in result.settings.strategies:
            tests = of_strategy(bug, strategy)
            held = (int(holds(tests)) for holds in RATES.values())
            rows.append((bug.instance, bug.repo, strategy, len(tests), *held, bug.problem))
    return Table(
        name="per-bug",
        title="every bug",
        columns=("bug", "repository", "strategy", "candidates", *RATES, "problem"),
        rows=rows,
    )
