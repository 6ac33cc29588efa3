"""Tables of a study: each is made of rows that hold their measures, as a literal says."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

from pytest_brt.evaluate.columns import Cell, Column, Group, Key, by_bug
from pytest_brt.evaluate.estimates import estimate, permutation_p
from pytest_brt.evaluate.rows.row import Row, Value

Line = tuple[Cell, ...]
#: The rows of two sides, by what they have in common.
Sides = Mapping[Key, tuple[Sequence[Row], Sequence[Row]]]


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
    #: Columns that each give a line, named in the column "what", with their number as "value".
    each: tuple[str, ...] = ()
    #: Whether groups that differ in the last column of `by` are summed up before them.
    all: bool = False
    #: How many of the largest groups are shown, largest first; 0 for all as they come.
    top: int = 0
    #: The value of the last column of `by` that the others are measured against, on the same
    #: bugs; None where groups are shown as they are.
    base: Value = None
    #: What besides the bug must be equal to compare two studies; None where they are not.
    same: tuple[str, ...] | None = None


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


def make_table(rows: Iterable[Row], spec: TableSpec) -> Table:
    """Return the table of `spec`."""
    groups = _groups(rows, spec)
    return _summary(groups, spec) if spec.base is None else _against_base(groups, spec)


def compare(ones: Iterable[Row], others: Iterable[Row], spec: TableSpec) -> Table:
    """Return what `others`, rows of a second study, do differently on the bugs of both."""
    a, b = _groups(ones, spec), _groups(others, spec)
    return _differences({key: (a[key], b[key]) for key in a if key in b}, spec)


def _groups(rows: Iterable[Row], spec: TableSpec) -> dict[Key, list[Row]]:
    some = [row for row in rows if not spec.where or row[spec.where]]
    if spec.each:
        some = [row | {"what": name, "value": row[name]} for row in some for name in spec.each]
        some = [row for row in some if row["value"] is not None]
    return group(some, spec.by)


def _summary(groups: Mapping[Key, list[Row]], spec: TableSpec) -> Table:
    """Return a line per group."""
    outer: dict[Key, list[Key]] = {}
    for key in groups:
        outer.setdefault(key[:-1], []).append(key)
    lines: list[Line] = []
    for start, keys in outer.items():
        within = [row for key in keys for row in groups[key]]
        if spec.all and len(keys) > 1:
            lines.append((*start, "all", *_cells(within, within, spec)))
        shown = keys
        if spec.top:
            shown = sorted(keys, key=lambda key: -len(groups[key]))[: spec.top]
        lines += [(*key, *_cells(groups[key], within, spec)) for key in shown]
    return Table(
        name=spec.name,
        title=spec.title,
        heads=(*spec.by, *(column.title for column in spec.columns)),
        forms=(*(".2f" for _ in spec.by), *(column.form for column in spec.columns)),
        lines=tuple(lines),
    )


def _cells(rows: Sequence[Row], within: Sequence[Row], spec: TableSpec) -> Line:
    some = Group(rows=rows, within=within)
    return tuple(column.measure(some, column.of) for column in spec.columns)


def _against_base(groups: Mapping[Key, list[Row]], spec: TableSpec) -> Table:
    """Return what each value of the last column makes of the bugs that the base was tried on."""
    sides = {}
    for key, rows in groups.items():
        base = groups.get((*key[:-1], spec.base))
        if base is not None and key[-1] != spec.base:
            sides[key] = (base, rows)
    return _differences(sides, spec)


def _differences(sides: Sides, spec: TableSpec) -> Table:
    """Return a line per group and measure that can be compared bug by bug."""
    lines: list[Line] = []
    for key, (ones, others) in sides.items():
        for column in spec.columns:
            if column.fold is not None:
                a, b = (by_bug(rows, column.of, spec.same or ()) for rows in (ones, others))
                pairs = [(column.fold(a[bug]), column.fold(b[bug])) for bug in a if bug in b]
                if pairs:
                    lines.append((*key, column.title, *_difference(pairs)))
    heads = (*spec.by, "measure", "n", "A", "B", "gained", "lost", "both", "B - A", "p")
    forms = dict.fromkeys(heads, ".2f") | {"p": ".3f"}
    return Table(
        name=spec.name,
        title=spec.title,
        heads=heads,
        forms=tuple(forms[head] for head in heads),
        lines=tuple(lines),
    )


def _difference(pairs: Sequence[tuple[float, float]]) -> Line:
    a, b = zip(*pairs, strict=True)
    gaps = [theirs - mine for mine, theirs in pairs]
    return (
        len(pairs),
        fmean(a),
        fmean(b),
        sum(gap > 0 for gap in gaps),
        sum(gap < 0 for gap in gaps),
        sum(bool(mine and theirs) for mine, theirs in pairs),
        estimate(gaps),
        permutation_p(b, a),
    )
