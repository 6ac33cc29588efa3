"""One line of a study's results, flat: names of columns, and a word, a number or nothing each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict

from pytest_brt.evaluate.record import Bug

Value = str | int | float | None
Row = dict[str, Value]


def about_bug(bug: Bug) -> Row:
    """Return the columns that every row about a bug begins with."""
    return {"bug": bug.id, "repo": bug.repo, "extent": bug.extent}


def flat(value: object, *left_out: str) -> Row:
    """Return the fields of a dataclass but for those named; verdicts and reasons as words."""
    fields = asdict(value)  # type: ignore[call-overload]  # any dataclass
    return {
        name: str(field) if isinstance(field, str) else field
        for name, field in fields.items()
        if name not in left_out
    }


def yes(holds: bool | None) -> int | None:
    """Return 1 or 0, None where it is not known."""
    return None if holds is None else int(holds)


def place_of_first(flags: Sequence[bool]) -> int | None:
    """Return the 1-based place of the first that holds, None where none does."""
    return next((place for place, holds in enumerate(flags, 1) if holds), None)
