"""A report as lines for a terminal.

By default a sentence per report and per ranking, then the best bug test or the table of patches.
``-v`` shows the rest, ``-q`` the sentences alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import reduce
from typing import NamedTuple

from pytest_brt.render.answer import WARNINGS
from pytest_brt.render.report import IssueEntry, Ranking, RepairEntry, Report, TestEntry
from pytest_brt.render.words import count, cut
from pytest_brt.types import Cost

#: Letters of a note or reason, and places, that are shown.
_LETTERS, _PLACES = 120, 5


class Line(NamedTuple):
    """A line, how it is set off, and from which verbosity on it is shown."""

    text: str
    #: "bold", "green", "red" or "yellow", some of them, or "=" or "-" for a heading.
    style: str = ""
    level: int = 0


def summary(
    report: Report, verbosity: int = 0, *, is_written: bool | None = False
) -> Iterator[Line]:
    """Yield the answer, what it rests on, and what to do next.

    `is_written` says whether the tests were written into the project; None shows none.
    """
    return (line for line in _lines(report, is_written) if line.level <= max(verbosity, -1))


def _lines(report: Report, is_written: bool | None) -> Iterator[Line]:
    for number, (issue, considered, ranking) in enumerate(report.sections()):
        tests = [test for test in considered if test.issue and not test.brought_by]
        if issue and issue.answer:
            if not number:
                yield Line("bug report", "=")
            yield Line(f"{issue.source}: {issue.title}", level=-(len(report.issues) > 1))
            found = [test for test in tests if test.candidate]
            colour = "green" if any(test.counts for test in found) else "yellow"
            yield Line(issue.answer.text, f"bold {colour}", -1)
            yield from _details(report, issue, tests, is_ranked=ranking is not None)
            if found and is_written is not None and ranking is None:
                yield from _tests(found, is_written=is_written)
        if ranking is not None:
            yield Line("patch ranking", "=")
            yield Line(ranking.answer.text, "bold", -1)
            yield from _ranking(ranking)
    for repair in report.repairs:
        yield Line("repair", "=")
        yield from _repair(repair)


def _details(
    report: Report, issue: IssueEntry, tests: list[TestEntry], *, is_ranked: bool
) -> Iterator[Line]:
    """Yield why tests fail, the notes, where the bug may be, and what a model cost."""
    is_found = any(test.candidate for test in tests)
    for test in tests:
        how = test.sure if test.candidate else test.verdict
        is_first = test is tests[0] and is_found and not is_ranked
        yield Line(f"  {test.name} ({test.strategy}, {how})", level=1)
        yield Line(f"  {cut(test.reason, 2 * _LETTERS)}", level=not is_first)
    for note in issue.notes:
        is_warning = note.code in WARNINGS
        style = "yellow" if is_warning else ""
        yield Line(f"  {note.text}", style, -1 if is_warning else is_found)
    places = [p for one in report.places if one.issue == issue.id for p in one.places]
    for number, place in enumerate(places[:_PLACES]):
        why = f" ({place.clues[0].text})" if place.clues else ""
        function = f"{place.path}::{place.function}".removesuffix("::")
        line = f"  likely place: {function}, line {place.line}{why}"
        yield Line(line, level=is_found or number > 0)
    spent = reduce(Cost.__add__, (attempt.cost for attempt in issue.attempts), Cost())
    if spent.calls:
        yield Line(f"  the model: {cost(spent)}")


def _tests(tests: list[TestEntry], *, is_written: bool) -> Iterator[Line]:
    """Yield tests as they would be added, the best one first."""
    how = "--brt-write new writes it"
    if not any(test.counts for test in tests):
        how = f"'pytest-brt review' accepts it, then {how}"
    yield Line("written" if is_written else f"not written ({how})", "-")
    for test in tests:
        for line in (test.source or "").strip().splitlines():
            yield Line(f"+{line}", "green", test is not tests[0])


def cost(spent: Cost) -> str:
    """Return a cost in words.

    >>> cost(Cost(calls=2, prompt_tokens=3000, tokens=90, seconds=4.2))
    '2 requests, 3,000 tokens read, 90 written, 4 s'
    """
    tokens = f"{spent.prompt_tokens:,} tokens read, {spent.tokens:,} written"
    return f"{count(spent.calls, 'request')}, {tokens}, {spent.seconds:.0f} s"


def _ranking(ranking: Ranking) -> Iterator[Line]:
    """Yield the table of the patches, best first, and what else there is to say."""
    rows = ranking.table if ranking.patches else []
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row, patch in zip(rows, (None, *ranking.patches), strict=False):
        *cells, note = (cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        if patch and not patch.refused:
            note = cut(note.strip(), _LETTERS)
        style = "green" if patch and patch.leads else ""
        yield Line(f"  {'  '.join([*cells, note])}".rstrip(), style)
    for note in ranking.notes:
        yield Line(f"  {note}", level=1)
    for patch in ranking.patches:
        if patch.because:
            yield Line(f"  {patch.name}: {'; '.join(patch.because)}", level=1)
    if ranking.tellings:
        yield Line("  say which result is right: 'pytest-brt review'")


def _repair(repair: RepairEntry) -> Iterator[Line]:
    given = f"given {repair.given}; " if repair.given else ""
    course = f"{count(repair.steps, 'step')}; {given}{cost(repair.cost)}"
    yield Line(f"  {repair.strategy}-{repair.index:02}: {course}")
    for fix in repair.fixes:
        yield Line(f"    {fix.patch} {fix.does}", "green" if fix.plausible else "")
    for note in repair.notes:
        yield Line(f"  {note}")
