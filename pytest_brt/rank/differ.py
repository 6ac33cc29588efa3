"""Tells tied patches apart for the reader: an input on which they differ, and one question."""

from __future__ import annotations

from collections.abc import Sequence

from pytest_brt.types import Difference, Rank, Standing, Varied


def difference_of(ranks: Sequence[Rank]) -> Difference | None:
    """Return the smallest changed input on which the leading patches differ; None without one.

    The leading patches are those that are tied with the first, or too close to it to call.
    """
    leading = [
        rank
        for number, rank in enumerate(ranks)
        if rank.score is not None
        and (number == 0 or rank.standing in (Standing.TIED, Standing.CLOSE))
        and rank.exposure is None
    ]
    if len(leading) < 2:
        return None
    for varied in leading[0].result.varied:
        answers = _answers(varied, leading)
        if len(answers) > 1:
            return Difference(
                change=varied.change,
                test=varied.test,
                source=varied.source,
                before=varied.before,
                answers=answers,
            )
    return None


def _answers(varied: Varied, leading: Sequence[Rank]) -> tuple[tuple[str, tuple[str, ...]], ...]:
    found: dict[str, list[str]] = {}
    for rank in leading:
        for other in rank.result.varied:
            if (other.test, other.change) == (varied.test, varied.change):
                found.setdefault(other.value or other.after, []).append(rank.result.patch.name)
    return tuple((answer, tuple(names)) for answer, names in found.items())
