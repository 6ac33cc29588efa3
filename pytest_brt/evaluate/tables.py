"""Tables of a study: each is made of rows that hold their measures, as a literal says."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from pytest_brt.evaluate.columns import Cell, Column, Group, interval, mean, numbers
from pytest_brt.evaluate.estimates import estimate, permutation_p
from pytest_brt.evaluate.rows.row import Row, Value

Key = tuple[Value, ...]
Line = tuple[Cell, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class TableSpec:
    """Which rows a table groups, by what, and what it shows of each group."""

    name: str
    title: str
    #: Where the papers have it; "" for a table of ours.
    source: str = ""
    #: File of the rows, and the column that must hold for a row to be counted.
    rows: str
    where: str = ""
    by: tuple[str, ...]
    columns: tuple[Column, ...]
    #: Whether a line for all comes before those that differ in the last column of `by`.
    all: bool = False
    #: How many of the largest groups are shown, largest first; 0 for all as they come.
    top: int = 0
    #: What besides the bug must be equal to compare two studies; None where they are not.
    same: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PairedSpec:
    """Which rows of the same bugs a table compares: those that differ in one column."""

    name: str
    title: str
    source: str = ""
    #: File of the rows, and the column that must not hold.
    rows: str
    unless: str = ""
    #: The column in which they differ, and the value that the others are measured against.
    between: str
    base: str
    by: tuple[str, ...]
    columns: tuple[Column, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """Lines under headings."""

    name: str
    title: str
    heads: tuple[str, ...]
    #: How the numbers of each column are written, as in ".0%".
    forms: tuple[str, ...]
    lines: tuple[Line, ...]


def group(rows: Iterable[Row], by: Sequence[str]) -> dict[Key, list[Row]]:
    """Return the rows of each combination of the columns `by`, in the order first met."""
    groups: dict[Key, list[Row]] = {}
    for row in rows:
        groups.setdefault(tuple(row[name] for name in by), []).append(row)
    return groups


def summarise(rows: Iterable[Row], spec: TableSpec) -> Table:
    """Return the table of `spec`: a line per group."""
    some = [row for row in rows if not spec.where or row[spec.where]]
    lines: list[Line] = []
    for outer, within in group(some, spec.by[:-1]).items():
        groups = group(within, spec.by)
        keys = list(groups)
        if spec.top:
            keys = sorted(groups, key=lambda key: -len(groups[key]))[: spec.top]
        if spec.all:
            lines.append(_line((*outer, "all"), Group(rows=within, within=within), spec))
        lines += [_line(key, Group(rows=groups[key], within=within), spec) for key in keys]
    return Table(
        name=spec.name,
        title=spec.title,
        heads=(*spec.by, *(column.title for column in spec.columns)),
        forms=(*(".2f" for _ in spec.by), *(column.form for column in spec.columns)),
        lines=tuple(lines),
    )


def _line(key: Key, rows: Group, spec: TableSpec) -> Line:
    return (*key, *(column.measure(rows, column.of) for column in spec.columns))


def compare(ones: Iterable[Row], others: Iterable[Row], spec: TableSpec) -> Table:
    """Return what `others`, rows of a second study, do differently on the bugs of both."""
    same = spec.same or ()
    a, b = (group(rows, ("bug", *same, *spec.by)) for rows in (ones, others))
    pairs: dict[Key, list[Pair]] = {}
    for at in a:
        if at in b:
            pairs.setdefault(at[1 + len(same) :], []).append((a[at][0], b[at][0]))
    return _differences(spec, spec.by, pairs)


def pair(rows: Iterable[Row], spec: PairedSpec) -> Table:
    """Return what each value of a column makes of the bugs that the base was tried on too."""
    some = [row for row in rows if not spec.unless or not row[spec.unless]]
    key = ("bug", *spec.by)
    base = group((row for row in some if row[spec.between] == spec.base), key)
    pairs: dict[Key, list[Pair]] = {}
    for row in some:
        at = tuple(row[name] for name in key)
        if row[spec.between] != spec.base and at in base:
            which = (*at[1:], row[spec.between])
            pairs.setdefault(which, []).append((base[at][0], row))
    return _differences(spec, (*spec.by, spec.between), pairs)


#: Rows about the same bug.
Pair = tuple[Row, Row]


def _differences(
    spec: TableSpec | PairedSpec, by: tuple[str, ...], pairs: dict[Key, list[Pair]]
) -> Table:
    """Return a line per group and measure that is a mean over bugs."""
    lines: list[Line] = []
    for key, some in pairs.items():
        for column in spec.columns:
            if column.measure in (interval, mean):
                line = _difference(some, column.of)
                lines += [(*key, column.title, *line)] if line else []
    heads = (*by, "measure", "n", "A", "B", "gained", "lost", "B - A", "p")
    return Table(
        name=spec.name,
        title=spec.title,
        heads=heads,
        forms=(*(".2f" for _ in by), "", "", ".2f", ".2f", "", "", ".2f", ".3f"),
        lines=tuple(lines),
    )


def _difference(pairs: Sequence[Pair], column: str) -> Line:
    """Return the cells about one measure; () where no pair has it on both sides."""
    both = [pair for pair in pairs if None not in (pair[0][column], pair[1][column])]
    if not both:
        return ()
    a, b = (numbers(side, column) for side in zip(*both, strict=True))
    gaps = [theirs - mine for mine, theirs in zip(a, b, strict=True)]
    return (
        len(both),
        sum(a) / len(a),
        sum(b) / len(b),
        sum(gap > 0 for gap in gaps),
        sum(gap < 0 for gap in gaps),
        estimate(gaps),
        permutation_p(b, a),
    )
