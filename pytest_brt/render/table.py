"""Rankings, repairs and places as lines of text: tables, and what is said below them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import assert_never

from pytest_brt.render.answer import breaks, count, what_it_does
from pytest_brt.render.causes import cause_words, run_words, shortfall_words
from pytest_brt.render.clues import clue_words
from pytest_brt.render.dialogue import name_of
from pytest_brt.render.refusals import refusal_sentence
from pytest_brt.render.remarks import remark_sentence
from pytest_brt.types import (
    Author,
    ChosenBy,
    FixSource,
    FoundFix,
    Guarded,
    JudgedTest,
    Localised,
    Place,
    Rank,
    Repair,
    RunRecord,
    Standing,
    Verdict,
)

#: Patches, and letters of a note, that are shown unless all is wanted.
MOST = 12
NOTE = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class TableLine:
    """A line of the summary."""

    text: str
    #: It is about a patch that leads and passes something.
    good: bool = False


def table(ranks: Sequence[Rank], *, whole: bool = False) -> Iterator[TableLine]:
    """Yield the table of one issue's patches, best first.

    It is `whole` with all patches, figures and notes; else it has what a reader needs first.
    """
    columns = columns_of(ranks, whole=whole)
    shown = list(ranks) if whole else list(ranks[:MOST])
    widths = [max(len(head), *(len(cell(rank)) for rank in shown)) for head, cell in columns]
    heads = [head.ljust(width) for (head, _), width in zip(columns, widths, strict=True)]
    yield TableLine(text="  ".join([*heads, "note"]))
    for rank in shown:
        cells = [cell(rank).ljust(width) for (_, cell), width in zip(columns, widths, strict=True)]
        text = "  ".join([*cells, shortened(note(rank), None if whole else NOTE)])
        good = rank.passed > 0 and any(first == 1 for first, _ in _sharing(rank, ranks))
        yield TableLine(text=text.rstrip(), good=good)
    if len(shown) < len(ranks):
        yield TableLine(text=f"… and {len(ranks) - len(shown)} more (-v lists them)")


def columns_of(
    ranks: Sequence[Rank], *, whole: bool = False
) -> list[tuple[str, Callable[[Rank], str]]]:
    """Return the heads of the table's columns, and what stands in them; `note` comes last."""
    weighted = any(rank.score is not None for rank in ranks)
    guarded = any(rank.result.guarded is not None for rank in ranks)
    columns: list[tuple[str, Callable[[Rank], str]]] = [
        ("rank", lambda rank: place(rank, ranks)),
        ("patch", lambda rank: rank.name),
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
    if result.refused is not None:
        return refusal_sentence(result.refused)
    why = {run_words(cell) for cell in result.cells if cell.verdict is Verdict.INVALID}
    parts = ["no bug test could be run on it"] if rank.epr is None else []
    if rank.epr is None and len(why) == 1:
        parts += why
    if rank.standing is Standing.CLOSE and rank.place != 1:
        parts.append("too close to the first to call")
    if rank.copies:
        parts.append(f"same as {', '.join(rank.copies)}")
    if result.regressions:
        parts.append(f"breaks {result.regressions[0].test}")
    return "; ".join([*parts, *map(remark_sentence, result.remarks)])


def authors(candidates: Sequence[JudgedTest]) -> Iterator[str]:
    """Yield a line about whose tests rank the patches; none where all are from one hand."""
    found = Counter(_author(judged) for judged in candidates)
    if len(found) > 1:
        parts = [f"{number} of {name}" for name, number in found.items()]
        yield f"{count(len(candidates), 'bug test')}: {', '.join(parts)}"


def _author(judged: JudgedTest) -> str:
    origin = judged.test.origin
    if origin.author is Author.PATCH:
        return " and ".join(origin.patches)
    if origin.author is Author.PERSON:
        return "yours"
    return origin.model or "the report"


#: How a test's verdict on a patch stands in the matrix.
_MARKS = {Verdict.PASS: ".", Verdict.INVALID: "?"}


def matrix(ranks: Sequence[Rank], tests: Sequence[JudgedTest]) -> Iterator[str]:
    """Yield each test with a mark for what it did on each patch, and why others have no vote."""
    candidates = [judged for judged in tests if judged.judgement.candidate]
    if candidates:
        yield "bug tests on the patches in the order above: . passes, x fails, o came with it"
    for judged in candidates:
        marks = "".join(_mark(rank, judged.test.id) for rank in ranks)
        yield f"{marks}  {judged.test.name} ({_author(judged)})"
    for judged in tests:
        if judged.test.origin.author is Author.PATCH and not judged.judgement.candidate:
            reason = shortened(judged.judgement.reason, 80)
            yield f"no vote has {judged.test.name} ({_author(judged)}): {reason}"


def _mark(rank: Rank, test: str) -> str:
    if any(cell.test == test for cell in rank.result.own_cells):
        return "o"
    verdicts = [cell.verdict for cell in rank.result.cells if cell.test == test]
    return _MARKS.get(verdicts[0], "x") if verdicts else "-"


def existing(ranks: Sequence[Rank]) -> Iterator[str]:
    """Yield a line about how the existing tests were chosen; none where none ran."""
    guards = [rank.result.guarded for rank in ranks if rank.result.guarded is not None]
    if not guards:
        return
    reached = [guard.reached for guard in guards if guard.reached is not None]
    lines = f"; {_span(reached)} of them run the changed lines" if reached else ""
    by = "coverage" if guards[0].by is ChosenBy.COVERAGE else "the names they use"
    short = next((guard.shortfalls for guard in guards if guard.shortfalls), ())
    cut = f"; {', '.join(map(shortfall_words, short))}" if short else ""
    yield (
        f"{_span([guard.ran for guard in guards])} of {guards[0].total} existing tests ran on each "
        f"patch (chosen by {by}{lines}{cut})"
    )


def broken_tests(ranks: Sequence[Rank]) -> Iterator[str]:
    """Yield each existing test that a patch breaks."""
    for rank in ranks:
        for broken in rank.result.regressions:
            why = shortened(cause_words(broken.cause, broken.raised), 80)
            yield f"{rank.name} breaks {broken.test} ({why})"


def failing_before(ranks: Sequence[Rank]) -> Iterator[str]:
    """Yield the existing tests that were left out, for they do not pass without a patch either."""
    guards = [rank.result.guarded for rank in ranks if rank.result.guarded is not None]
    found = {test.test: test for guard in guards for test in guard.failing}
    for test in islice(found.values(), _LEFT_OUT):
        why = shortened(cause_words(test.cause, test.raised), 80)
        yield f"{test.test} does not pass without a patch ({why})"
    if len(found) > _LEFT_OUT:
        yield f"{count(len(found) - _LEFT_OUT, 'more existing test')} fail without a patch"


def _span(counts: Sequence[int]) -> str:
    fewest, most = min(counts), max(counts)
    return str(most) if fewest == most else f"{fewest} to {most}"


def reasons(ranks: Sequence[Rank]) -> Iterator[str]:
    """Yield what moved each score."""
    for rank in ranks:
        if rank.because:
            yield f"{rank.name}: {'; '.join(rank.because)}"


def with_harm(rank: Rank) -> str:
    """Return a patch's name, and how many existing tests it breaks if it does."""
    broken = len(rank.result.regressions)
    harm = f" (breaks {count(broken, 'existing test')})" if broken else ""
    return f"{rank.name}{harm}"


def shortened(text: str, cut: int | None) -> str:
    """Return `text` on one line of at most `cut` characters, cut between words if it can be."""
    line = " ".join(text.split())
    if cut is None or len(line) <= cut:
        return line
    words = line[:cut].rpartition(" ")[0]
    return f"{words if len(words) > cut // 2 else line[: cut - 1]}…"


def _score(rank: Rank, *, whole: bool) -> str:
    if rank.score is None or rank.interval is None:
        return "-"
    low, high = rank.interval
    return f"{rank.score:.2f} ({low:.2f} to {high:.2f})" if whole else f"{rank.score:.2f}"


def _broken(guarded: Guarded | None) -> str:
    return "-" if guarded is None else f"{len(guarded.regressions)}/{guarded.ran} break"


#: Existing tests named that fail without a patch.
_LEFT_OUT = 20
#: Places that are shown.
_MOST = 10
#: Longest reason that is shown.
_REASON = 60
#: Existing tests that a fix breaks, by name.
_NAMED = 4


def repairs(record: RunRecord) -> Iterator[TableLine]:
    """Yield a line per run of a repair, and below it one per fix that it found."""
    for repair in record.repairs:
        name = name_of(repair, record.repairs)
        yield TableLine(text=f"{name:<16}{_course(repair)}", good=bool(repair.fixes))
        for fix in repair.fixes:
            yield TableLine(
                text=f"  {fix.patch.name}  {fix_source_words(fix.source)}; {of_fix(fix)}",
                good=fix.plausible,
            )
        for note in repair.notes:
            yield TableLine(text=f"  {note}", good=False)


def _course(repair: Repair) -> str:
    """Return how a run went, as in "12 steps, given test_a; 3,100 tokens made; finish"."""
    steps = count(len(repair.trajectory.steps) if repair.trajectory else 0, "step")
    cost = repair.cost
    parts = [
        f"{steps}, given {repair.brt}" if repair.brt else steps,
        f"{cost.prompt_tokens:,} tokens read, {cost.evaluated:,} evaluated, {cost.tokens:,} made",
    ]
    if repair.trajectory:
        parts.append(f"ended by {repair.trajectory.ending}")
    return "; ".join(parts)


def fix_source_words(source: FixSource) -> str:
    """Return who wrote a fix, as in "the agent"."""
    match source:
        case FixSource.AGENT:
            return "the agent"
        case FixSource.VARIANT:
            return "a variant"
        case _:
            assert_never(source)


def of_fix(fix: FoundFix) -> str:
    """Return what a fix does to all tests that were run on it, with the names of those it breaks.

    As in "passes 4 of 4 bug tests and breaks 1 of 9 existing tests: tests/test_a.py::test_b".
    """
    guarded = fix.guarded
    if fix.total:
        text = what_it_does(len(fix.passed), fix.total, guarded)
    else:
        text = "no bug test judges it" + (f", and it {breaks(guarded)}" if guarded else "")
    broken = [item.test for item in guarded.regressions] if guarded else []
    more = f" and {len(broken) - _NAMED} more" if len(broken) > _NAMED else ""
    return text + (f": {', '.join(broken[:_NAMED])}{more}" if broken else "")


def places(record: RunRecord) -> Iterator[str]:
    """Yield a table of places for each issue."""
    titles = {issue.id: issue.source for issue in record.issues}
    for found in record.localised:
        yield f"{titles.get(found.issue, found.issue)}: {_watched(found)}"
        yield from _table(found.places[:_MOST])
        yield from found.notes


def _watched(found: Localised) -> str:
    if not (found.failing or found.passing):
        return "by the report alone"
    return (
        f"by the report, and by what {found.failing} failing and {found.passing} passing tests run"
    )


def _table(found: Sequence[Place]) -> Iterator[str]:
    if not found:
        return
    width = max(len(_name(place)) for place in found)
    yield f"{'place':<{width}}  score  ochiai  lines"
    for place in found:
        ochiai = "-" if place.ochiai is None else f"{place.ochiai:.2f}"
        lines = ",".join(map(str, sorted(place.lines))) or f"{place.line}-{place.end_line or ''}"
        yield f"{_name(place):<{width}}  {place.score:5.2f}  {ochiai:>6}  {lines}"
        if place.clues:
            yield f"    {clue_words(place.clues[0])[:_REASON]}"


def _name(place: Place) -> str:
    return f"{place.path}::{place.function}" if place.function else place.path
