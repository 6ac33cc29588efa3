"""A report as lines for a terminal.

By default no more than a screen: a sentence per report and per ranking, then the best bug test or
the table of patches. ``-v`` shows the rest, ``-q`` the sentences alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import reduce

from pytest_brt.render.answer import WARNINGS
from pytest_brt.render.report import IssueEntry, Ranking, RepairEntry, Report, TestEntry
from pytest_brt.render.words import count, shortened
from pytest_brt.types import Cost, Place
from pytest_brt.types.value import value

#: Letters of a note or reason, patches, lines of a test, and places that are shown.
_LETTERS, PATCHES, _LINES, _PLACES = 100, 12, 20, 5


@value
class Line:
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
    answers = list(_answers(report, loud=loud, quiet=quiet))
    if answers and not quiet:
        yield Line(text="bug reports" if len(report.issues) > 1 else "bug report", style="=")
    yield from answers
    if is_written is not None and not (quiet or report.rankings):
        yield from _tests(report, loud=loud, is_written=is_written)
    if report.repairs:
        yield Line(text="repairs", style="=")
        for repair in report.repairs:
            yield from _repair(repair)
    for ranking in report.rankings:
        if not quiet:
            yield Line(text="patch ranking", style="=")
        yield Line(text=ranking.answer.text, style="bold")
        if ranking.patches and not quiet:
            yield from _ranking(ranking, loud=loud)


# -- reports ------------------------------------------------------------------------------------


def _answers(report: Report, *, loud: bool, quiet: bool) -> Iterator[Line]:
    for issue in report.issues:
        if issue.answer is None:
            continue
        about = f"{issue.source}: "
        if not quiet:
            yield Line(text=about + issue.title)
        found = any(test.counts for test in report.made_for(issue))
        prefix = about if quiet and len(report.issues) > 1 else ""
        style = f"bold {'green' if found else 'yellow'}"
        yield Line(text=prefix + issue.answer.text, style=style)
        for note in issue.notes:
            if note.code in WARNINGS:
                yield Line(text=note.text, style="yellow")
        if not quiet:
            yield from _indented(_details(report, issue, loud=loud))


def _details(report: Report, issue: IssueEntry, *, loud: bool) -> Iterator[str]:
    tests = report.made_for(issue)
    found = any(test.candidate for test in tests)
    if loud:
        for test in tests:
            how = test.sure if test.candidate else test.verdict
            yield f"{test.name}  ({test.strategy}, {how})"
            yield f"    {test.reason}"
    elif found and not report.rankings:
        yield shortened(tests[0].reason, 2 * _LETTERS)
    if loud or not found:
        yield from (note.text for note in issue.notes if note.code not in WARNINGS)
        places = [p for one in report.places if one.issue == issue.id for p in one.places]
        for place in places[: _PLACES if loud else 1]:
            yield f"likely place: {_place(place)}"
    spent = reduce(Cost.__add__, (attempt.cost for attempt in issue.attempts), Cost())
    if spent.calls:
        yield f"the model: {cost(spent)}"


def _place(place: Place) -> str:
    """Return a place as in "pkg/a.py::f, line 3 (the report names pkg.a)"."""
    why = f" ({place.clues[0].text})" if place.clues else ""
    return f"{place.path}::{place.function}".removesuffix("::") + f", line {place.line}{why}"


def _tests(report: Report, *, loud: bool, is_written: bool) -> Iterator[Line]:
    """Yield the best test of each report as it would be added, all bug tests with ``-v``."""
    tests: list[TestEntry] = []
    for issue in report.issues:
        found = [test for test in report.made_for(issue) if test.candidate]
        tests += found if loud else found[:1]
    if tests:
        how = "--brt-write new writes it"
        if not any(test.counts for test in tests):
            how = f"'pytest-brt review' accepts it, then {how}"
        yield Line(text="written" if is_written else f"not written ({how})", style="-")
    for test in tests:
        lines = (test.source or "").strip().splitlines()
        for line in lines if loud else lines[:_LINES]:
            yield Line(text=f"+{line}", style="green")
        if len(lines) > _LINES and not loud:
            yield Line(text="  … (-v shows the rest)")


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
        scored = (patch for patch in ranking.patches if patch.because)
        because = (f"{patch.name}: {'; '.join(patch.because)}" for patch in scored)
        yield from _indented((*ranking.notes, *because))
    elif ranking.tellings:
        yield Line(text="  say which result is right: 'pytest-brt review'")


def table_lines(ranking: Ranking, *, whole: bool = False) -> Iterator[Line]:
    """Yield the table of a ranking's patches, best first; all of it where it is `whole`."""
    heads, *rows = ranking.table(whole=whole)
    patches = ranking.patches if whole else ranking.patches[:PATCHES]
    shown = [heads, *rows[: len(patches)]]
    widths = [max(map(len, column)) for column in zip(*shown, strict=True)]
    for row, patch in zip(shown, (None, *patches), strict=True):
        in_full = whole or (patch is not None and patch.refused)
        note = row[-1] if in_full else shortened(row[-1], _LETTERS)
        cells = [cell.ljust(width) for cell, width in zip(row[:-1], widths, strict=False)]
        style = "green" if patch is not None and patch.leads else ""
        yield Line(text=f"  {'  '.join([*cells, note])}".rstrip(), style=style)
    if len(patches) < len(rows):
        yield Line(text=f"  … and {len(rows) - len(patches)} more (-v lists them)")


def _repair(repair: RepairEntry) -> Iterator[Line]:
    given = f"given {repair.given}; " if repair.given else ""
    course = f"{count(repair.steps, 'step')}; {given}{cost(repair.cost)}"
    yield Line(text=f"  {repair.strategy}-{repair.index:02}: {course}")
    for fix in repair.fixes:
        yield Line(text=f"    {fix.patch} {fix.does}", style="green" if fix.plausible else "")
    yield from _indented(repair.notes, 4)


def _indented(texts: Iterable[str], by: int = 2) -> Iterator[Line]:
    return (Line(text=f"{'':{by}}{text}") for text in texts)
