"""Rankings, repairs and places as lines of text: tables, and what is said below them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import assert_never

from pytest_brt.render.clues import clue_words
from pytest_brt.render.fixes import fix_source_words
from pytest_brt.render.report import (
    ExistingTests,
    PatchEntry,
    Ranking,
    RepairEntry,
    Report,
    TestEntry,
    candidates,
)
from pytest_brt.render.words import count, listed, shortened
from pytest_brt.types import Author, Place, Verdict

#: Patches, and letters of a note, that are shown unless all is wanted.
MOST = 12
NOTE = 100
#: Letters of a reason, existing tests that fail without a patch, and places that are shown.
_REASON, _LEFT_OUT, _PLACES = 80, 20, 5


@dataclass(frozen=True, slots=True, kw_only=True)
class TableLine:
    """A line of the summary."""

    text: str
    #: It is about a patch that leads and passes something.
    good: bool = False


def is_writable(report: Report) -> bool:
    """Say whether a test of a report that nobody gave counts, and so is written when asked for."""
    return any(test.counts for test in report.tests if not test.given)


def table(patches: Sequence[PatchEntry], *, whole: bool = False) -> Iterator[TableLine]:
    """Yield the table of a ranking's patches, best first.

    It is `whole` with all patches, figures and notes; else it has what a reader needs first.
    """
    columns = columns_of(patches, whole=whole)
    shown = patches if whole else patches[:MOST]
    widths = [max(len(head), *(len(cell(patch)) for patch in shown)) for head, cell in columns]
    heads = [head.ljust(width) for (head, _), width in zip(columns, widths, strict=True)]
    yield TableLine(text="  ".join([*heads, "note"]))
    for patch in shown:
        cells = [cell(patch).ljust(width) for (_, cell), width in zip(columns, widths, strict=True)]
        text = "  ".join([*cells, shortened(patch.note, None if whole or patch.refusal else NOTE)])
        leads = patch.place is not None and patch.place[0] == 1
        yield TableLine(text=text.rstrip(), good=leads and patch.passed > 0)
    if len(shown) < len(patches):
        yield TableLine(text=f"… and {len(patches) - len(shown)} more (-v lists them)")


def columns_of(
    patches: Sequence[PatchEntry], *, whole: bool = False
) -> list[tuple[str, Callable[[PatchEntry], str]]]:
    """Return the heads of the table's columns, and what stands in them; `note` comes last."""
    weighted = any(patch.score is not None for patch in patches)
    columns: list[tuple[str, Callable[[PatchEntry], str]]] = [
        ("rank", place_words),
        ("patch", lambda patch: patch.name),
        ("bug tests", lambda patch: f"{patch.passed}/{patch.total} pass" if patch.total else "-"),
    ]
    if any(patch.existing for patch in patches):
        columns.append(("existing tests", lambda patch: _broken(patch.existing)))
    if whole:
        columns.append(("EPR", lambda patch: _figure(patch.epr)))
    if weighted:
        columns.append(("score", lambda patch: _figure(patch.score)))
    if weighted and whole:
        columns.append(("group", lambda patch: str(patch.group or "-")))
    return columns


def place_words(patch: PatchEntry) -> str:
    """Return a patch's rank, or the ranks that patches share: 2-4."""
    if patch.place is None:
        return "-"
    first, last = patch.place
    return str(first) if first == last else f"{first}-{last}"


def _broken(existing: ExistingTests | None) -> str:
    if existing is None:
        return "-"
    is_reached = existing.broken or not existing.ran or existing.reached != 0
    return f"{len(existing.broken)}/{existing.ran} break" if is_reached else "none run it"


def _figure(value: float | None) -> str:
    return "-" if value is None else f"{value:.2f}"


# -- what is said below -----------------------------------------------------------------------


def brief_notes(ranking: Ranking) -> Iterator[str]:
    """Yield what of a ranking's notes asks for something."""
    if ranking.tellings:
        yield "say which result is right: 'pytest-brt review'"


def grounds(patches: Sequence[PatchEntry], tests: Sequence[TestEntry]) -> Iterator[str]:
    """Yield what an order of patches rests on, a line each."""
    found = candidates(tests)
    authors = Counter(map(origin_words, found))
    if len(authors) > 1:
        parts = [f"{number} {origin}" for origin, number in authors.items()]
        yield f"{count(len(found), 'bug test')}: {', '.join(parts)}"
    for patch in patches:
        for broken in patch.broken:
            yield f"{patch.name} breaks {broken.test} ({shortened(broken.reason, _REASON)})"
    yield from _failing_before(patches)
    for patch in patches:
        if patch.because:
            yield f"{patch.name}: {'; '.join(patch.because)}"
    yield from _matrix(patches, tests)


def origin_words(test: TestEntry) -> str:
    """Return whose test it is, as in "from a.diff"."""
    match test.author:
        case Author.REPORT:
            return "made from the report"
        case Author.MODEL:
            return f"written by {test.model}"
        case Author.PATCH:
            return f"from {listed(test.brought_by)}"
        case Author.PERSON:
            return "yours"
        case _:
            assert_never(test.author)


def _failing_before(patches: Sequence[PatchEntry]) -> Iterator[str]:
    """Yield the existing tests that were left out, for they do not pass without a patch either."""
    found = {
        test.test: test
        for patch in patches
        if patch.existing
        for test in patch.existing.failing_before
    }
    for test in islice(found.values(), _LEFT_OUT):
        yield f"{test.test} does not pass without a patch ({shortened(test.reason, _REASON)})"
    if len(found) > _LEFT_OUT:
        yield f"… and {len(found) - _LEFT_OUT} more that fail without a patch"


#: How a test's verdict on a patch stands in the matrix.
_MARKS = {Verdict.PASS: ".", Verdict.INVALID: "?"}


def _matrix(patches: Sequence[PatchEntry], tests: Sequence[TestEntry]) -> Iterator[str]:
    """Yield each test with a mark for what it did on each patch, and why others have no vote."""
    found = candidates(tests)
    if found:
        yield "bug tests on the patches in the order above: . passes, x fails, o came with it"
    for test in found:
        marks = "".join(_mark(patch, test.id) for patch in patches)
        yield f"{marks}  {test.name} ({origin_words(test)})"
    for test in tests:
        if test.author is Author.PATCH and not test.candidate:
            reason = shortened(test.reason, _REASON)
            yield f"{test.name} ({origin_words(test)}) has no vote: {reason}"


def _mark(patch: PatchEntry, test: str) -> str:
    if any(outcome.test == test for outcome in patch.own_cells):
        return "o"
    verdicts = [outcome.verdict for outcome in patch.cells if outcome.test == test]
    return _MARKS.get(verdicts[0], "x") if verdicts else "-"


# -- repairs and places -----------------------------------------------------------------------


def repairs(report: Report) -> Iterator[TableLine]:
    """Yield a line per run of a repair, and below it one per fix that it found."""
    for repair in report.repairs:
        yield TableLine(text=f"{repair.name:<16}{_course(repair)}", good=bool(repair.fixes))
        for fix in repair.fixes:
            text = f"  {fix.patch}  {fix_source_words(fix.source)}; {fix.does}"
            yield TableLine(text=text, good=fix.plausible)
        for note in repair.notes:
            yield TableLine(text=f"  {note}")


def _course(repair: RepairEntry) -> str:
    """Return how a run went, as in "12 steps, given test_a; 3,100 tokens made; finish"."""
    steps = count(repair.steps, "step")
    cost = repair.cost
    parts = [
        f"{steps}, given {repair.given}" if repair.given else steps,
        f"{cost.prompt_tokens:,} tokens read, {cost.evaluated:,} evaluated, {cost.tokens:,} made",
    ]
    if repair.ending:
        parts.append(f"ended by {repair.ending}")
    return "; ".join(parts)


def places(report: Report, issue: str) -> Iterator[str]:
    """Yield a table of the likeliest places of one report."""
    found = [place for one in report.places if one.issue == issue for place in one.places]
    shown = found[:_PLACES]
    if not shown:
        return
    width = max(len(_name(place)) for place in shown)
    yield f"{'likeliest places':<{width}}  score  lines"
    for place in shown:
        lines = ",".join(map(str, sorted(place.lines))) or f"{place.line}-{place.end_line or ''}"
        yield f"{_name(place):<{width}}  {place.score:5.2f}  {lines}"
        if place.clues:
            yield f"    {clue_words(place.clues[0])}"


def likeliest_place(report: Report, issue: str) -> str:
    """Return the likeliest place of one report in a line, "" where nothing points to any."""
    for found in report.places:
        if found.issue == issue and found.places:
            place = found.places[0]
            why = f" ({clue_words(place.clues[0])})" if place.clues else ""
            return f"the likeliest place: {_name(place)}, line {place.line}{why}"
    return ""


def _name(place: Place) -> str:
    return f"{place.path}::{place.function}" if place.function else place.path
