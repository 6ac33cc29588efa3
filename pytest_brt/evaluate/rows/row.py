"""One line of a study's results, flat: names of columns, and a word, a number or nothing each."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import fields
from typing import Any, TypeVar

from pytest_brt.evaluate.record import Bug, Studied, StudyResult

Value = str | int | float | None
Row = dict[str, Value]
S = TypeVar("S", bound=Studied)


def studied(result: StudyResult, found: Iterable[S]) -> Iterator[tuple[Bug, S]]:
    """Yield the bugs that were set up, and what came of each."""
    bugs = {bug.id: bug for bug in result.bugs}
    for one in found:
        if not one.problem:
            yield bugs[one.instance], one


def make_row(bug: Bug, about: Any = None, **more: object) -> Row:
    """Return a line about a bug: its columns, the fields of the dataclass `about`, and `more`.

    Truth is 1 or 0, so that it can be averaged. A field that holds more than a value is left out.
    """
    columns: dict[str, object] = {"bug": bug.id, "repo": bug.repo, "extent": bug.extent}
    if about is not None:
        columns |= {field.name: getattr(about, field.name) for field in fields(about)}
    row: Row = {}
    for name, value in (columns | more).items():
        if isinstance(value, bool):
            row[name] = int(value)
        elif isinstance(value, str):
            row[name] = str(value)
        elif value is None or isinstance(value, int | float):
            row[name] = value
    return row
