"""The ranking as lines of text: a table, what existing tests said, and what is left to decide."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from pytest_brt.types import Guarded, Rank, Standing, Verdict

#: Patches, and letters of a note, that are shown unless all is wanted.
MOST = 12
NOTE = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """A line of the summary."""

    text: str
    #: It is about a patch that leads and passes something.
    good: bool = False


def table(ranks: Sequence[Rank], *, whole: bool = False) -> Iterator[Line]:
    """Yield the table of one issue's patches, best first.

    Args:
        ranks: in the order of the ranking.
        whole: with all patches, figures and notes; else with what a reader needs first.
    """
    columns = columns_of(ranks, whole=whole)
    shown = list(ranks) if whole else list(ranks[:MOST])
    widths = [max(len(head), *(len(cell(rank)) for rank in shown)) for head, cell in columns]
    heads = [head.ljust(width) for (head, _), width in zip(columns, widths, strict=True)]
    yield Line(text="  ".join([*heads, "note"]))
    for rank in shown:
        cells = [cell(rank).ljust(width) for (_, cell), width in zip(columns, widths, strict=True)]
        text = "  ".join([*cells, shortened(note(rank), None if whole else NOTE)])
        good = rank.passed > 0 and any(first == 1 for first, _ in _sharing(rank, ranks))
        yield Line(text=text.rstrip(), good=good)
    if len(shown) < len(ranks):
        yield Line(text=f"… and {len(ranks) - len(shown)} more (-v lists them)")


def columns_of(
    ranks: Sequence[Rank], *, whole: bool = False
) -> list[tuple[str, Callable[[Rank], str]]]:
    """Return the heads of the table's columns, and what stands in them; `note` comes last."""
    weighted = any(rank.score is not None for rank in ranks)
    guarded = any(rank.result.guarded is not None for rank in ranks)
    columns: list[tuple[str, Callable[[Rank], str]]] = [
        ("rank", lambda rank: place(rank, ranks)),
        ("patch", lambda rank: rank.result.patch.name),
        ("bug tests", lambda rank: f"{rank.passed}/{rank.total} pass" if rank.total else "-"),
    ]
    if guarded:
        columns.append(("existing tests", lambda rank: _broken(rank.result.guarded)))
    if whole:
        columns.append(("EPR", lambda rank: "-" if rank.epr is None else f"{rank.epr:.2f}"))
    if weighted:
        columns.append(("score", lambda rank: _score(rank, whole=whole)))
    if weighted and whole:
        columns.append(("alike", lambda rank: str(rank.group or "-")))
    return columns


def place(rank: Rank, ranks: Sequence[Rank]) -> str:
    """Return the place among `ranks`, or the places that patches which behave alike share: 2-4."""
    sharing = _sharing(rank, ranks)
    if not sharing:
        return "-"
    first, last = min(place for place, _ in sharing), max(last for _, last in sharing)
    return str(first) if first == last else f"{first}-{last}"


def _sharing(rank: Rank, ranks: Sequence[Rank]) -> list[tuple[int, int]]:
    """Return the first and last places of the patches that a placed patch may change with."""
    tied = rank.standing is Standing.TIED
    return [
        (other.place, other.place + len(other.placed_with))
        for other in (ranks if tied else [rank])
        if other.place is not None and (other.standing is Standing.TIED or not tied)
    ]


def note(rank: Rank) -> str:
    """Return what is to be said about a patch besides figures."""
    result = rank.result
    if not result.applies:
        return result.reason
    why = {cell.reason for cell in result.cells if cell.verdict is Verdict.INVALID}
    parts = ["no bug test could be run on it"] if rank.epr is None else []
    if rank.epr is None and len(why) == 1:
        parts += why
    if rank.standing is Standing.CLOSE and rank.place != 1:
        parts.append("too close to the first to call")
    if rank.copies:
        parts.append(f"same as {', '.join(rank.copies)}")
    broken = result.guarded.regressions if result.guarded else ()
    if broken:
        parts.append(f"breaks {broken[0].test}")
    return "; ".join([*parts, *result.notes])


def existing(ranks: Sequence[Rank]) -> Iterator[str]:
    """Yield a line about how the existing tests were chosen; none where none ran."""
    guards = [rank.result.guarded for rank in ranks if rank.result.guarded is not None]
    if not guards:
        return
    reached = [guard.reached for guard in guards if guard.reached is not None]
    lines = f"; {_span(reached)} of them run the changed lines" if reached else ""
    by = "coverage" if guards[0].by == "coverage" else "the names they use"
    cut = next((f"; {guard.cut}" for guard in guards if guard.cut), "")
    yield (
        f"{_span([guard.ran for guard in guards])} of {guards[0].total} existing tests ran on each "
        f"patch (chosen by {by}{lines}{cut})"
    )


def broken_tests(ranks: Sequence[Rank]) -> Iterator[str]:
    """Yield each existing test that a patch breaks."""
    for rank in ranks:
        for broken in rank.result.guarded.regressions if rank.result.guarded else ():
            why = f" ({shortened(broken.reason, 80)})" if broken.reason else ""
            yield f"{rank.result.patch.name} breaks {broken.test}{why}"


def pinned(ranks: Sequence[Rank]) -> Iterator[str]:
    """Yield the existing tests that assert the bug."""
    guards = [rank.result.guarded for rank in ranks if rank.result.guarded is not None]
    for test in dict.fromkeys(test for guard in guards for test in guard.pinned):
        yield f"{test} asserts the reported behaviour: change it with the fix"


def _span(counts: Sequence[int]) -> str:
    fewest, most = min(counts), max(counts)
    return str(most) if fewest == most else f"{fewest} to {most}"


def reasons(ranks: Sequence[Rank]) -> Iterator[str]:
    """Yield what moved each score."""
    for rank in ranks:
        if rank.because:
            yield f"{rank.result.patch.name}: {'; '.join(rank.because)}"


def with_harm(rank: Rank) -> str:
    """Return a patch's name, and how many existing tests it breaks if it does."""
    guarded = rank.result.guarded
    if guarded is None or not guarded.regressions:
        return rank.result.patch.name
    broken = len(guarded.regressions)
    return f"{rank.result.patch.name} (breaks {broken} existing test{'s' * (broken > 1)})"


def shortened(text: str, cut: int | None) -> str:
    """Return `text` on one line of at most `cut` characters."""
    line = " ".join(text.split())
    return line if cut is None or len(line) <= cut else f"{line[: cut - 1]}…"


def _score(rank: Rank, *, whole: bool) -> str:
    if rank.score is None or rank.interval is None:
        return "-"
    low, high = rank.interval
    return f"{rank.score:.2f} ({low:.2f} to {high:.2f})" if whole else f"{rank.score:.2f}"


def _broken(guarded: Guarded | None) -> str:
    return "-" if guarded is None else f"{len(guarded.regressions)}/{guarded.ran} break"
