"""What a second study does differently from a first one, on the bugs of both."""

from __future__ import annotations

from dataclasses import asdict

from pytest_brt.codec import content_id
from pytest_brt.evaluate.record import About
from pytest_brt.evaluate.rows.row import Row
from pytest_brt.evaluate.rows.study import Rows
from pytest_brt.evaluate.specs import TABLES
from pytest_brt.evaluate.tables import Line, Table, compare, group

#: Letters of a setting that are shown.
_WIDTH = 50


def compare_studies(one: tuple[About, Rows], other: tuple[About, Rows]) -> list[Table]:
    """Return what is compared, and what the second study gained and lost.

    Strategies are compared that have the same name, or the only ones where each study has one.
    """
    first, second = one[1], _renamed(one[0], other)
    tables = [_settings(one[0], other[0])]
    for spec in TABLES:
        if spec.same is not None:
            tables.append(compare(first[spec.rows], second[spec.rows], spec))
    tables.append(_changed(first["reproduced"], second["reproduced"]))
    return [table for table in tables if table.lines]


def _renamed(one: About, other: tuple[About, Rows]) -> Rows:
    mine, theirs = one.settings.strategies, other[0].settings.strategies
    if len(mine) != 1 or len(theirs) != 1:
        return other[1]
    rows = [row | {"strategy": mine[0]} for row in other[1]["reproduced"]]
    return {**other[1], "reproduced": rows}


def _settings(one: About, other: About) -> Table:
    """Return what differs of the two."""
    a, b = ({**asdict(about.settings), **asdict(about)} for about in (one, other))
    names = [name for name in a if name != "settings" and a[name] != b[name]]
    lines: list[Line] = [(name, _short(a[name]), _short(b[name])) for name in names]
    return _table("about", "what differs", ("", "A", "B"), lines)


def _short(value: object) -> str:
    """Return a setting in few words; prompts that differ have different short names."""
    text = str(value)
    return text if len(text) <= _WIDTH else f"{text[:_WIDTH]}… ({content_id(text)})"


def _changed(ones: list[Row], others: list[Row]) -> Table:
    """Return the bugs of which another number of candidates, or another one, is right."""
    by, columns = ("bug", "strategy"), ("candidates", "first_plausible")
    first, second = group(ones, by), group(others, by)
    lines: list[Line] = []
    for key in first:
        if key in second:
            a, b = ([side[key][0][name] for name in columns] for side in (first, second))
            if a != b:
                lines.append((*key, *a, *b))
    sides = ("candidates in A", "first plausible in A", "candidates in B", "first plausible in B")
    return _table("changed", "bugs whose outcome changed", (*by, *sides), lines)


def _table(name: str, title: str, heads: tuple[str, ...], lines: list[Line]) -> Table:
    return Table(name=name, title=title, heads=heads, forms=("",) * len(heads), lines=tuple(lines))
