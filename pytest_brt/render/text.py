"""A report as lines for a terminal.

By default no more than a screen: a sentence per report and per ranking, then the best bug test or
the table of patches. ``-v`` shows the rest, ``-q`` the sentences alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from pytest_brt.render.answer import WARNINGS, percent
from pytest_brt.render.report import (
    IssueEntry,
    PatchEntry,
    Ranking,
    RepairEntry,
    Report,
    TestEntry,
    candidates,
)
from pytest_brt.render.table import leads, table
from pytest_brt.render.words import count, shortened
from pytest_brt.types import Cost, Place

#: Letters of a note or reason, patches, lines of a test, and places that are shown.
_LETTERS, PATCHES, _LINES, _PLACES = 100, 12, 20, 5


@dataclass(frozen=True, slots=True, kw_only=True)
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
    if report.issues and not quiet:
        yield Line(text=f"bug report{'s' * (len(report.issues) > 1)}", style="=")
    for issue in report.issues:
        yield from _answer(report, issue, quiet=quiet)
        if issue.answer and not quiet:
            yield from _details(report, issue, loud=loud)
    if is_written is not None and not quiet and not report.rankings:
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


def _answer(report: Report, issue: IssueEntry, *, quiet: bool) -> Iterator[Line]:
    if issue.answer is None:
        return
    if not quiet:
        yield Line(text=f"{issue.source}: {issue.title}")
    about = f"{issue.source}: " if quiet and len(report.issues) > 1 else ""
    found = any(test.counts for test in _tests_of(report, issue))
    colour = "green" if found else "yellow"
    yield Line(text=about + issue.answer.text, style=f"bold {colour}")
    for note in issue.notes:
        if note.code in WARNINGS:
            yield Line(text=note.text, style="yellow")


def _details(report: Report, issue: IssueEntry, *, loud: bool) -> Iterator[Line]:
    tests = _tests_of(report, issue)
    failing = candidates(tests)
    if loud:
        yield from _considered(tests)
    elif failing and not report.rankings:
        told = filter(None, (failing[0].failure, failing[0].at))
        yield from _indented(shortened(text, _LETTERS) for text in told)
    if loud or not failing:
        notes = [note.text for note in issue.notes if note.code not in WARNINGS]
        yield from _indented(notes if loud else notes[:_LINES])
        places = [p for one in report.places if one.issue == issue.id for p in one.places]
        yield from _indented(
            f"likely place: {_place(place)}" for place in places[: _PLACES if loud else 1]
        )
    spent = sum((attempt.cost for attempt in issue.attempts), Cost())
    if spent.calls:
        yield Line(text=f"  the model: {cost(spent)}")


def _tests_of(report: Report, issue: IssueEntry) -> list[TestEntry]:
    """Return the tests that were made from a report."""
    tests = (test for test in report.tests if test.issue == issue.id)
    return [test for test in tests if not (test.given or test.brought_by)]


def _considered(tests: Sequence[TestEntry]) -> Iterator[Line]:
    for is_candidate, title in ((True, "bug tests"), (False, "other tests that were tried")):
        some = [test for test in tests if test.candidate is is_candidate]
        if some:
            yield Line(text=f"  {title}:")
        for test in some:
            sure = percent(test.confidence, test.measured)
            alike = f", {test.agree} of {test.samples} alike" if test.samples > 1 else ""
            about = f"{test.strategy}{alike}" if test.model else test.oracle
            yield Line(text=f"    {sure:>4}  {test.name}  ({about})")
            told = dict.fromkeys(filter(None, (test.failure, test.at, test.reason)))
            yield from _indented(told, 10)


def _place(place: Place) -> str:
    """Return a place as in "pkg/a.py::f, line 3 (the report names pkg.a)"."""
    why = f" ({place.clues[0].text})" if place.clues else ""
    return f"{place.path}::{place.function}".removesuffix("::") + f", line {place.line}{why}"


def _tests(report: Report, *, loud: bool, is_written: bool) -> Iterator[Line]:
    """Yield the best test of each report as it would be added, all bug tests with ``-v``."""
    found = [candidates(_tests_of(report, issue)) for issue in report.issues]
    tests = [test for some in found for test in (some if loud else some[:1])]
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

    >>> cost(Cost(calls=2, prompt_tokens=3000, evaluated=1200, tokens=90, seconds=4.2))
    '2 requests, 3,000 prompt tokens (1,800 cached), 90 completion tokens, 4 s'
    """
    cached = spent.prompt_tokens - spent.evaluated
    return (
        f"{count(spent.calls, 'request')}, {spent.prompt_tokens:,} prompt tokens ({cached:,} "
        f"cached), {spent.tokens:,} completion tokens, {spent.seconds:.0f} s"
    )


# -- patches ------------------------------------------------------------------------------------


def _ranking(ranking: Ranking, *, loud: bool) -> Iterator[Line]:
    yield from table_lines(ranking.patches, whole=loud)
    if loud:
        yield from _indented(ranking.notes)
        yield from _indented(
            f"{patch.name}: {'; '.join(patch.because)}"
            for patch in ranking.patches
            if patch.because
        )
    elif ranking.tellings:
        yield Line(text="  say which result is right: 'pytest-brt review'")


def table_lines(patches: Sequence[PatchEntry], *, whole: bool = False) -> Iterator[Line]:
    """Yield the table of a ranking's patches, best first; all of it where it is `whole`."""
    shown = patches if whole else patches[:PATCHES]
    heads, *rows = table(shown, whole=whole)
    widths = [max(map(len, column)) for column in zip(heads, *rows, strict=True)]
    for row, patch in zip((heads, *rows), (None, *shown), strict=True):
        in_full = whole or (patch is not None and patch.refused)
        note = shortened(row[-1], None if in_full else _LETTERS)
        cells = [cell.ljust(width) for cell, width in zip(row[:-1], widths, strict=False)]
        style = "green" if patch is not None and leads(patch) else ""
        yield Line(text=f"  {'  '.join([*cells, note])}".rstrip(), style=style)
    if len(shown) < len(patches):
        yield Line(text=f"  … and {len(patches) - len(shown)} more (-v lists them)")


def _repair(repair: RepairEntry) -> Iterator[Line]:
    given = f"given {repair.given}; " if repair.given else ""
    course = f"{count(repair.steps, 'step')}; {given}{cost(repair.cost)}"
    yield Line(
        text=f"  {repair.strategy}-{repair.index:02}: {course}",
        style="green" if repair.fixes else "",
    )
    for fix in repair.fixes:
        yield Line(text=f"    {fix.patch} {fix.does}", style="green" if fix.plausible else "")
    yield from _indented(repair.notes, 4)


def _indented(texts: Iterable[str], by: int = 2) -> Iterator[Line]:
    return (Line(text=f"{'':{by}}{text}") for text in texts)
