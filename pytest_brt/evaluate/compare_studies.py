"""What changed between two studies, per bug."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from statistics import fmean

from pytest_brt.codec import content_id
from pytest_brt.evaluate.metrics import COLUMNS, difference
from pytest_brt.evaluate.rates import (
    RATES,
    REPAIR_RATES,
    both_tried,
    done,
    gain,
    mended,
    mixed,
    of_strategy,
    patch_orders,
    ways_in,
)
from pytest_brt.evaluate.record import Reproduced, StudyResult
from pytest_brt.evaluate.table import Row, Table

RIGHT = REPAIR_RATES["right"]
#: Measures of rankings that are compared.
MEASURES = ("p1", "p3", "r3", "mrr", "f1", "auc")


def comparison(one: StudyResult, other: StudyResult) -> tuple[Table, ...]:
    """Return what `other` does differently from `one`, over the bugs that both have.

    Pairs of strategies are compared that have the same name, or the only ones where each
    study has one. A p is for the difference of the means of all pairs, by flipping signs.
    """
    tables = [_about(one, other)]
    for name, another in _pairs(one, other):
        tables += [_rates(one, other, name, another), _changed(one, other, name, another)]
    tables += [_rankers(one, other), _repairs(one, other), _seconds(one, other)]
    return tuple(table for table in tables if table.rows)


def _pairs(one: StudyResult, other: StudyResult) -> list[tuple[str, str]]:
    mine, theirs = one.settings.strategies, other.settings.strategies
    if len(mine) == len(theirs) == 1:
        return [(mine[0], theirs[0])]
    return [(name, name) for name in mine if name in theirs]


def _about(one: StudyResult, other: StudyResult) -> Table:
    names = [{bug.instance for bug in done(result)} for result in (one, other)]
    rows: list[Row] = [
        ("data set", one.dataset, other.dataset),
        ("version", one.version, other.version),
        ("bugs studied", str(len(names[0])), str(len(names[1]))),
        ("only in this one", str(len(names[0] - names[1])), str(len(names[1] - names[0]))),
    ]
    for field in fields(one.settings):
        values = [getattr(result.settings, field.name) for result in (one, other)]
        if values[0] != values[1]:
            rows.append((field.name, *map(_value, values)))
    return Table(name="about", title="what is compared", columns=("", "A", "B"), rows=rows)


def _value(value: object) -> str:
    """Return a setting in few words: of prompts, which ones there are and a short name."""
    if isinstance(value, tuple) and value and isinstance(value[0], tuple):
        names = ", ".join(str(part[0]) for part in value if isinstance(part, tuple))
        return f"{names} ({content_id(repr(value))})"
    return str(value)


def _both(one: StudyResult, other: StudyResult) -> list[tuple[Reproduced, Reproduced]]:
    theirs = {bug.instance: bug for bug in done(other)}
    return [(bug, theirs[bug.instance]) for bug in done(one) if bug.instance in theirs]


def _rates(one: StudyResult, other: StudyResult, name: str, another: str) -> Table:
    pairs = _both(one, other)
    rows: list[Row] = []
    for rate, holds in RATES.items():
        a = [holds(of_strategy(bug, name)) for bug, _ in pairs]
        b = [holds(of_strategy(bug, another)) for _, bug in pairs]
        if pairs:
            rows.append((rate, *_counted(a, b), *difference(b, a)))
    return Table(
        name=f"rates-{another}",
        title=f"bugs reproduced, {len(pairs)} in both: {name} in A, {another} in B",
        columns=("rate", "A", "B", "gained", "lost", "B - A", "p"),
        rows=rows,
    )


def _counted(a: Sequence[bool], b: Sequence[bool]) -> tuple[int, int, int, int]:
    """Return for how many bugs something holds in A and in B, and how many B gained and lost."""
    pairs = list(zip(a, b, strict=True))
    return sum(a), sum(b), pairs.count((False, True)), pairs.count((True, False))


def _changed(one: StudyResult, other: StudyResult, name: str, another: str) -> Table:
    rows: list[Row] = []
    for mine, theirs in _both(one, other):
        a, b = (_words(bug, way) for bug, way in ((mine, name), (theirs, another)))
        if a != b:
            rows.append((mine.instance, a, b))
    return Table(
        name=f"changed-{another}",
        title="bugs whose outcome changed",
        columns=("bug", "A", "B"),
        rows=rows,
    )


def _words(bug: Reproduced, strategy: str) -> str:
    tests = of_strategy(bug, strategy)
    if not tests:
        return "no candidate"
    first = next((at for at, test in enumerate(tests, 1) if test.plausible), 0)
    return f"plausible at {first} of {len(tests)}" if first else f"{len(tests)} candidates"


def _rankers(one: StudyResult, other: StudyResult) -> Table:
    mine, theirs = ({bug.instance: bug for bug in mixed(result)} for result in (one, other))
    pools = [
        {name: {(patch.name, patch.right) for patch in bug.patches} for name, bug in side.items()}
        for side in (mine, theirs)
    ]
    names = [name for name, pool in pools[0].items() if pools[1].get(name) == pool]
    a = patch_orders(mine[name] for name in names)
    b = patch_orders(theirs[name] for name in names)
    rows: list[Row] = []
    for ranker in (ranker for ranker in a if ranker in b):
        for measure in MEASURES:
            xs = [COLUMNS[measure](order) for order in a[ranker]]
            ys = [COLUMNS[measure](order) for order in b[ranker]]
            if xs != ys:
                sides = (sum(xs) / len(xs), sum(ys) / len(ys))
                rows.append((ranker, measure, *sides, *difference(ys, xs)))
    return Table(
        name="rankers",
        title=f"rankings that changed, {len(names)} bugs with the same patches in both",
        columns=("ranker", "measure", "A", "B", "B - A", "p"),
        rows=rows,
    )


def _repairs(one: StudyResult, other: StudyResult) -> Table:
    mine, theirs = ({bug.instance: bug for bug in mended(result)} for result in (one, other))
    names = [name for name in mine if name in theirs]
    rows: list[Row] = []
    for which in ways_in(one):
        pairs = both_tried((which.runs(theirs[name]), which.runs(mine[name])) for name in names)
        if pairs:
            b, a = ([RIGHT(runs) for runs in side] for side in zip(*pairs, strict=True))
            rows.append((which.title, len(pairs), *_counted(a, b), *gain(pairs)))
    return Table(
        name="repairs",
        title="bugs with a right fix",
        columns=("repaired by", "n", "A", "B", "gained", "lost", "B - A", "p"),
        rows=rows,
    )


def _seconds(one: StudyResult, other: StudyResult) -> Table:
    rows: list[Row] = []
    for stage, bugs in one.stages.items():
        theirs = {bug.instance: bug.seconds for bug in other.stages[stage] if not bug.problem}
        both = [
            (bug.seconds, theirs[bug.instance])
            for bug in bugs
            if not bug.problem and bug.instance in theirs
        ]
        if both:
            xs, ys = zip(*both, strict=True)
            rows.append((stage, fmean(xs), fmean(ys), *difference(ys, xs)))
    return Table(
        name="seconds",
        title="seconds of the tool per bug, means",
        columns=("stage", "A", "B", "B - A", "p"),
        rows=rows,
    )
