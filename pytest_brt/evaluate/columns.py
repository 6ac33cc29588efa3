"""What a column of a table shows of the rows of a group."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import fmean, quantiles

from pytest_brt.evaluate.estimates import Estimate, estimate
from pytest_brt.evaluate.measures import f1_of
from pytest_brt.evaluate.rows.row import Row, Value

Cell = Value | Estimate
Key = tuple[Value, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """Rows of a table's line, and those that differ from them in the last column alone."""

    rows: Sequence[Row]
    within: Sequence[Row]


#: Makes a cell from a group, and the name of the rows' column that it is about.
Measure = Callable[[Group, str], Cell]
#: What the rows of one bug come to.
Fold = Callable[[Sequence[float]], float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """A column of a table."""

    title: str
    measure: Measure
    #: The column of the rows.
    of: str = ""
    #: How numbers are written.
    form: str = ".2f"
    #: How a bug's rows are added up where the same bugs are compared; None where they are not.
    fold: Fold | None = None


def numbers(rows: Sequence[Row], column: str) -> list[float]:
    """Return what is known in a column of numbers."""
    return [float(value) for row in rows if isinstance(value := row[column], int | float)]


def by_bug(rows: Sequence[Row], column: str, same: Sequence[str] = ()) -> dict[Key, list[float]]:
    """Return what is known in a column of each bug; of each value of the columns `same`, too."""
    found: dict[Key, list[float]] = defaultdict(list)
    for row in rows:
        key = tuple(row[name] for name in ("bug", *same))
        found[key] += numbers([row], column)
    return {key: values for key, values in found.items() if values}


def count(group: Group, _: str) -> Cell:
    """Return the number of rows."""
    return len(group.rows)


def known(group: Group, column: str) -> Cell:
    """Return in how many rows the column is known."""
    return len(numbers(group.rows, column))


def distinct(group: Group, column: str) -> Cell:
    """Return how many different values the column has."""
    return len({row[column] for row in group.rows})


def part(group: Group, _: str) -> Cell:
    """Return what share of the rows within these are."""
    return len(group.rows) / len(group.within)


def per_run(group: Group, _: str) -> Cell:
    """Return how many of the rows there are for a run within."""
    return len(group.rows) / len({row["run"] for row in group.within})


def interval(group: Group, column: str) -> Cell:
    """Return the mean with its interval; bugs are drawn again, each with all its rows."""
    bugs = by_bug(group.rows, column).values()
    return estimate([*map(sum, bugs)], [*map(len, bugs)])


def any_row(group: Group, column: str) -> Cell:
    """Return the share of bugs with a row that has it, with its interval."""
    return estimate([*map(max, by_bug(group.rows, column).values())])


def bugs_with(group: Group, column: str) -> Cell:
    """Return the number of bugs with a row that has it."""
    return sum(any(values) for values in by_bug(group.rows, column).values())


def sum_per_bug(group: Group, column: str) -> Cell:
    """Return the mean over bugs of the sum of their rows."""
    bugs = by_bug(group.rows, column)
    return fmean(map(sum, bugs.values())) if bugs else None


def over(statistic: Callable[[Sequence[float]], float]) -> Measure:
    """Return the measure that is a statistic of all rows, None where nothing is known."""

    def measure(group: Group, column: str) -> Cell:
        values = numbers(group.rows, column)
        return statistic(values) if values else None

    return measure


def total_count(group: Group, column: str) -> Cell:
    """Return the sum of whole numbers."""
    return int(sum(numbers(group.rows, column)))


def lower_quartile(values: Sequence[float]) -> float:
    """Return the value that a quarter is below."""
    return _quartiles(values)[0]


def upper_quartile(values: Sequence[float]) -> float:
    """Return the value that a quarter is above."""
    return _quartiles(values)[-1]


def _quartiles(values: Sequence[float]) -> Sequence[float]:
    # quantiles() asks for two.
    return quantiles(values, method="inclusive") if len(values) > 1 else values


mean = over(fmean)


def f1_of_means(group: Group, _: str) -> Cell:
    """Return the harmonic mean of the mean precision and the mean recall."""
    precision, recall = (numbers(group.rows, name) for name in ("precision", "recall"))
    return f1_of(fmean(precision or [0.0]), fmean(recall or [0.0]))
