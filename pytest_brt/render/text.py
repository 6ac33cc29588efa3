"""A report as lines for a terminal.

By default no more than a screen: a sentence per report and per ranking, then the best bug test or
the table of patches. ``-v`` shows the rest, ``-q`` the sentences alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import reduce
from typing import NamedTuple

from pytest_brt.render.answer import WARNINGS
from pytest_brt.render.report import IssueEntry, Ranking, RepairEntry, Report, TestEntry
from pytest_brt.render.words import count, shortened
from pytest_brt.types import Cost

#: Letters of a note or reason, patches, and places that are shown.
_LETTERS, PATCHES, _PLACES = 100, 12, 5


class Line(NamedTuple):
    """A line, and how it is set off."""

    text: str
    #: "bold", "green", "red" or "yellow", some of them, or "=" or "-" for a heading.
    style: str = ""


def summary(
    report: Report, verbosity: int = 0, *, is_written: bool | None = False
) -> Iterator[Line]:
    """Yield the answer, what it rests on, and what to do next.

    `is_written` says whether the tests were written into the project; None shows none.
    """
    loud, quiet = verbosity > 0, verbosity < 0
    tests: list[TestEntry] = []
    for number, issue in enumerate(report.issues):
        if issue.answer is None:
            continue
        if not (quiet or number):
            yield Line("bug report", "=")
        if not quiet or len(report.issues) > 1:
            yield Line(f"{issue.source}: {issue.title}")
        made = report.made_for(issue)
        found = [test for test in made if test.candidate]
        tests += found if loud else found[:1]
        is_sure = any(test.counts for test in found)
        yield Line(issue.answer.text, f"bold {'green' if is_sure else 'yellow'}")
        warnings = (note.text for note in issue.notes if note.code in WARNINGS)
        yield from (Line(text, "yellow") for text in warnings)
        if not quiet:
            yield from _indented(_details(report, issue, found or made, loud=loud))
    if tests and is_written is not None and not (quiet or report.rankings):
        yield from _tests(tests, is_written=is_written)
    for repair in report.repairs:
        yield Line("repair", "=")
        yield from _repair(repair)
    for ranking in report.rankings:
        if not quiet:
            yield Line("patch ranking", "=")
        yield Line(ranking.answer.text, "bold")
        if ranking.patches and not quiet:
            yield from _ranking(ranking, loud=loud)


# -- reports ------------------------------------------------------------------------------------


def _details(
    report: Report, issue: IssueEntry, tests: Iterable[TestEntry], *, loud: bool
) -> Iterator[str]:
    """Yield what `tests` were made, the notes, where the bug may be, and what a model cost."""
    is_found = any(test.candidate for test in tests)
    for test in tests if loud else ():
        yield f"{test.name}  ({test.strategy}, {test.sure if test.candidate else test.verdict})"
        yield f"    {test.reason}"
    if is_found and not (loud or report.rankings):
        yield shortened(next(iter(tests)).reason, 2 * _LETTERS)
    if loud or not is_found:
        yield from (note.text for note in issue.notes if note.code not in WARNINGS)
        places = [p for one in report.places if one.issue == issue.id for p in one.places]
        for place in places[: _PLACES if loud else 1]:
            why = f" ({place.clues[0].text})" if place.clues else ""
            function = f"{place.path}::{place.function}".removesuffix("::")
            yield f"likely place: {function}, line {place.line}{why}"
    spent = reduce(Cost.__add__, (attempt.cost for attempt in issue.attempts), Cost())
    if spent.calls:
        yield f"the model: {cost(spent)}"


def _tests(tests: Iterable[TestEntry], *, is_written: bool) -> Iterator[Line]:
    """Yield tests as they would be added."""
    how = "--brt-write new writes it"
    if not any(test.counts for test in tests):
        how = f"'pytest-brt review' accepts it, then {how}"
    yield Line("written" if is_written else f"not written ({how})", "-")
    for test in tests:
        for line in (test.source or "").strip().splitlines():
            yield Line(f"+{line}", "green")


def cost(spent: Cost) -> str:
    """Return a cost in words.

    >>> cost(Cost(calls=2, prompt_tokens=3000, tokens=90, seconds=4.2))
    '2 requests, 3,000 tokens read, 90 written, 4 s'
    """
    tokens = f"{spent.prompt_tokens:,} tokens read, {spent.tokens:,} written"
    return f"{count(spent.calls, 'request')}, {tokens}, {spent.seconds:.0f} s"


# -- patches ------------------------------------------------------------------------------------


def _ranking(ranking: Ranking, *, loud: bool) -> Iterator[Line]:
    yield from table_lines(ranking, whole=loud)
    if loud:
        yield from _indented(ranking.notes)
        for patch in ranking.patches:
            if patch.because:
                yield Line(f"  {patch.name}: {'; '.join(patch.because)}")
    elif ranking.tellings:
        yield Line("  say which result is right: 'pytest-brt review'")


def table_lines(ranking: Ranking, *, whole: bool = False) -> Iterator[Line]:
    """Yield the table of a ranking's patches, best first; all of it where it is `whole`."""
    most = len(ranking.patches) if whole else PATCHES
    rows = ranking.table(whole=whole)[: most + 1]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row, patch in zip(rows, (None, *ranking.patches), strict=False):
        *cells, note = (cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        if not (whole or (patch and patch.refused)):
            note = shortened(note, _LETTERS)
        style = "green" if patch and patch.leads else ""
        yield Line(f"  {'  '.join([*cells, note])}".rstrip(), style)
    if len(ranking.patches) > most:
        yield Line(f"  … and {len(ranking.patches) - most} more (-v lists them)")


def _repair(repair: RepairEntry) -> Iterator[Line]:
    given = f"given {repair.given}; " if repair.given else ""
    course = f"{count(repair.steps, 'step')}; {given}{cost(repair.cost)}"
    yield Line(f"  {repair.strategy}-{repair.index:02}: {course}")
    for fix in repair.fixes:
        yield Line(f"    {fix.patch} {fix.does}", "green" if fix.plausible else "")
    yield from _indented(repair.notes)


def _indented(texts: Iterable[str]) -> Iterator[Line]:
    return (Line(f"  {text}") for text in texts)
