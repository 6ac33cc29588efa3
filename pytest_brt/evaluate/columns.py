"""What a column of a table shows of the rows of a group."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import fmean, median, quantiles

from pytest_brt.evaluate.estimates import Estimate, estimate
from pytest_brt.evaluate.measures import f1_of
from pytest_brt.evaluate.rows.row import Row, Value

Cell = Value | Estimate


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """Rows of a table's line, and those that differ from them in the last column alone."""

    rows: Sequence[Row]
    within: Sequence[Row]


#: Makes a cell from a group, and the name of the rows' column that it is about.
Measure = Callable[[Group, str], Cell]


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """A column of a table."""

    title: str
    measure: Measure
    #: The column of the rows.
    of: str = ""
    #: How numbers are written.
    form: str = ".2f"


def numbers(rows: Sequence[Row], column: str) -> list[float]:
    """Return what is known in a column of numbers."""
    return [float(value) for row in rows if isinstance(value := row[column], int | float)]


def count(group: Group, _: str) -> Cell:
    """Return the number of rows."""
    return len(group.rows)


def known(group: Group, column: str) -> Cell:
    """Return in how many rows the column is known."""
    return len(numbers(group.rows, column))


def part(group: Group, _: str) -> Cell:
    """Return what share of the rows within these are."""
    return len(group.rows) / len(group.within)


def interval(group: Group, column: str) -> Cell:
    """Return the mean with its interval; bugs are drawn again, each with all its rows."""
    bugs: dict[Value, list[float]] = defaultdict(list)
    for row in group.rows:
        bugs[row["bug"]] += numbers([row], column)
    return estimate([sum(values) for values in bugs.values()], [*map(len, bugs.values())])


def total(group: Group, column: str) -> Cell:
    """Return the sum, None where nothing is known."""
    values = numbers(group.rows, column)
    return sum(values) if values else None


def total_count(group: Group, column: str) -> Cell:
    """Return the sum of whole numbers."""
    return int(sum(numbers(group.rows, column)))


def mean(group: Group, column: str) -> Cell:
    """Return the mean, None where nothing is known."""
    values = numbers(group.rows, column)
    return fmean(values) if values else None


def middle(group: Group, column: str) -> Cell:
    """Return the median, None where nothing is known."""
    values = numbers(group.rows, column)
    return median(values) if values else None


def most(group: Group, column: str) -> Cell:
    """Return the largest value, None where nothing is known."""
    return max(numbers(group.rows, column), default=None)


def lower_quartile(group: Group, column: str) -> Cell:
    """Return the value that a quarter is below, None where nothing is known."""
    return _quartile(group, column, 0)


def upper_quartile(group: Group, column: str) -> Cell:
    """Return the value that a quarter is above, None where nothing is known."""
    return _quartile(group, column, 2)


def _quartile(group: Group, column: str, which: int) -> Cell:
    values = numbers(group.rows, column)
    if not values:
        return None
    # quantiles() asks for two.
    return quantiles(values * 2 if len(values) == 1 else values, method="inclusive")[which]


def f1_of_means(group: Group, _: str) -> Cell:
    """Return the harmonic mean of the mean precision and the mean recall."""
    precision, recall = (
        fmean(values) if values else 0.0
        for values in (numbers(group.rows, "precision"), numbers(group.rows, "recall"))
    )
    return f1_of(precision, recall)
