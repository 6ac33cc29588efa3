"""What a second study does differently from a first one, on the bugs of both."""

from __future__ import annotations

from dataclasses import fields

from pytest_brt.codec import content_id
from pytest_brt.evaluate.record import About
from pytest_brt.evaluate.rows.row import Row
from pytest_brt.evaluate.rows.study import Rows
from pytest_brt.evaluate.specs import TABLES
from pytest_brt.evaluate.tables import Table, compare, group


def compare_studies(one: tuple[About, Rows], other: tuple[About, Rows]) -> list[Table]:
    """Return what is compared, and what the second study gained and lost.

    Strategies are compared that have the same name, or the only ones where each study has one.
    """
    tables = [_about(one, other)]
    first, second = one[1], _renamed(one[0], other)
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


def _about(one: tuple[About, Rows], other: tuple[About, Rows]) -> Table:
    names = [{row["bug"] for row in rows["bugs"] if row["studied"]} for _, rows in (one, other)]
    lines = [
        ("data set", one[0].dataset, other[0].dataset),
        ("version", one[0].version, other[0].version),
        ("bugs studied", str(len(names[0])), str(len(names[1]))),
        ("only in this one", str(len(names[0] - names[1])), str(len(names[1] - names[0]))),
    ]
    for field in fields(one[0].settings):
        values = [getattr(about.settings, field.name) for about in (one[0], other[0])]
        if values[0] != values[1]:
            lines.append((field.name, _setting(values[0]), _setting(values[1])))
    heads = ("", "A", "B")
    return Table(
        name="about",
        title="what is compared",
        heads=heads,
        forms=("",) * len(heads),
        lines=tuple(lines),
    )


def _setting(value: object) -> str:
    """Return a setting in few words: of prompts, which ones there are and a short name."""
    if isinstance(value, tuple) and value and isinstance(value[0], tuple):
        names = ", ".join(str(part[0]) for part in value if isinstance(part, tuple))
        return f"{names} ({content_id(repr(value))})"
    return str(value)


def _changed(ones: list[Row], others: list[Row]) -> Table:
    """Return the bugs of which another number of candidates, or another one, is right."""
    by, columns = ("bug", "strategy"), ("candidates", "first_plausible")
    first, second = group(ones, by), group(others, by)
    lines = []
    for key in first:
        if key in second:
            a, b = ([side[key][0][name] for name in columns] for side in (first, second))
            if a != b:
                lines.append((*key, *a, *b))
    sides = ("candidates", "first plausible")
    heads = (*by, *(f"{side} in {study}" for study in "AB" for side in sides))
    return Table(
        name="changed",
        title="bugs whose outcome changed",
        heads=heads,
        forms=("",) * len(heads),
        lines=tuple(lines),
    )
