"""A report as lines for a terminal.

By default no more than a screen: a sentence per report and per ranking, then the best bug test or
the table of patches. ``-v`` shows the rest, ``-q`` the sentences alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import dropwhile

from pytest_brt.render.answer import WARNINGS, percent
from pytest_brt.render.report import (
    IssueEntry,
    Outcome,
    PatchEntry,
    Ranking,
    Report,
    TestEntry,
    candidates,
)
from pytest_brt.render.table import leads, mark, origin_words, table
from pytest_brt.render.words import count, shortened
from pytest_brt.types import Author, Cost, Place

#: Letters of a note or reason, patches, lines of a test, existing tests that fail without a patch,
#: and places that are shown.
_LETTERS, PATCHES, _LINES, _FAILING, _PLACES = 100, 12, 12, 20, 5
#: How what a test did on a patch is marked.
_MARKS = {"pass": ".", "fail": "x", "other": "x", "own": "o", "none": "-"}
#: Where a test begins, in a diff.
_TEST = re.compile(r"\+\s*(?:async )?def test")


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """A line, and how it is set off."""

    text: str
    #: "bold", "green", "red" or "yellow", some of them, or "=" or "-" for a heading.
    style: str = ""


def summary(
    report: Report, verbosity: int = 0, diffs: Sequence[str] = (), *, is_written: bool = False
) -> Iterator[Line]:
    """Yield the answer, what it rests on, and what to do next.

    `diffs` are those that write the tests, or would.
    """
    return _Summary(report, verbosity).lines(diffs, is_written=is_written)


class _Summary:
    def __init__(self, report: Report, verbosity: int) -> None:
        self.report = report
        self.verbose, self.quiet = verbosity > 0, verbosity < 0

    def lines(self, diffs: Sequence[str], *, is_written: bool) -> Iterator[Line]:
        report, issues = self.report, [one for one in self.report.issues if one.answer]
        if report.issues and not self.quiet:
            several = "s" if len(report.issues) > 1 else ""
            yield Line(text=f"bug report{several}", style="=")
        for issue in issues:
            yield from self._issue(issue)
        given = [test for test in report.tests if test.given]
        if given and self.verbose:
            yield Line(text="tests that were given or kept", style="bold")
            yield from self._considered(given)
        if diffs and not self.quiet and not report.rankings:
            yield Line(text="written" if is_written else self._not_written(), style="-")
            yield from self._diffs(diffs)
        if report.repairs:
            yield Line(text="repairs", style="=")
            yield from self._repairs()
        if report.rankings and not self.quiet:
            yield Line(text="patch ranking", style="=")
        for ranking in report.rankings:
            yield from self._ranking(ranking)

    # -- reports ------------------------------------------------------------------------

    def _issue(self, issue: IssueEntry) -> Iterator[Line]:
        assert issue.answer is not None, "asked for where there is one"
        tests = [
            test
            for test in self.report.tests
            if test.issue == issue.id and not (test.given or test.brought_by)
        ]
        failing = candidates(tests)
        if not self.quiet:
            yield Line(text=f"{issue.source}: {issue.title}")
        about = f"{issue.source}: " if self.quiet and len(self.report.issues) > 1 else ""
        colour = "green" if any(test.counts for test in failing) else "yellow"
        yield Line(text=about + issue.answer.text, style=f"bold {colour}")
        for note in issue.notes:
            if note.code in WARNINGS:
                yield Line(text=note.text, style="yellow")
        if self.quiet:
            return
        if self.verbose:
            yield from self._considered(tests)
        elif failing and not self.report.rankings:
            yield from self._best(failing)
        if self.verbose or not failing:
            yield from self._notes(issue)
            yield from self._places(issue.id)
        yield from _indented(_costs(issue, each=self.verbose))

    def _notes(self, issue: IssueEntry) -> Iterator[Line]:
        notes = [note.text for note in issue.notes if note.code not in WARNINGS]
        shown = notes if self.verbose else notes[:_LINES]
        yield from _indented(shown)
        if len(shown) < len(notes):
            more = count(len(notes) - len(shown), "more note")
            yield Line(text=f"  … {more} (-v shows all)")

    def _best(self, failing: Sequence[TestEntry]) -> Iterator[Line]:
        yield from _indented(map(self._cut, filter(None, (failing[0].failure, failing[0].at))))
        unsure = sum(not test.counts for test in failing[1:])
        if unsure:
            fail = "fails" if unsure == 1 else "fail"
            said = f"{count(unsure, 'less certain test')} made from the report {fail} as well"
            yield Line(text=f"  {said} (-v shows all)")

    def _considered(self, tests: Sequence[TestEntry]) -> Iterator[Line]:
        failing = candidates(tests)
        unsure = [test for test in failing if not test.counts]
        counting = [test for test in failing if test.counts]
        parts = (
            ("bug tests", counting),
            ("less certain bug tests" if counting else "possible bug tests", unsure),
            ("other tests that were tried", [test for test in tests if not test.candidate]),
        )
        for title, some in parts:
            if some:
                yield Line(text=f"  {title}:")
            for test in some:
                sure = percent(test.confidence, test.measured)
                alike = f", {test.agree} of {test.samples} alike" if test.samples > 1 else ""
                about = f"{test.strategy}{alike}" if test.model else test.oracle
                yield Line(text=f"    {sure:>4}  {test.name}  ({about})")
                told = dict.fromkeys(filter(None, (test.failure, test.at, test.reason)))
                yield from _indented(told, 10)

    def _places(self, issue: str) -> Iterator[Line]:
        found = [place for one in self.report.places if one.issue == issue for place in one.places]
        if self.verbose:
            yield from _indented(f"likely place: {_place(place)}" for place in found[:_PLACES])
        elif found:
            yield Line(text=f"  the likeliest place: {_place(found[0])}")

    def _cut(self, text: str) -> str:
        return shortened(text, None if self.verbose else _LETTERS)

    def _not_written(self) -> str:
        how = "--brt-write new writes it"
        if not any(test.counts for test in self.report.tests if not test.given):
            how = f"'pytest-brt review' accepts it, then {how}"
        return f"not written ({how})"

    def _diffs(self, diffs: Sequence[str]) -> Iterator[Line]:
        """Yield the tests as changes: the best one of each report, all with ``-v``."""
        for diff in diffs:
            lines = diff.splitlines()
            first, last = 0, len(lines)
            if not self.verbose:
                lines = _added(lines)
                first, last = _seen(lines, max(4, _LINES // len(diffs)))
            if first:
                yield Line(text="  … (-v shows all of it)")
            for line in lines[first:last]:
                yield Line(text=line, style={"+": "green", "-": "red"}.get(line[:1], ""))
            if last < len(lines):
                yield Line(text="  … (-v shows the rest)")

    # -- patches ------------------------------------------------------------------------

    def _ranking(self, ranking: Ranking) -> Iterator[Line]:
        titles = {issue.id: issue.source for issue in self.report.issues}
        about = f"{titles.get(ranking.issue, ranking.issue)}: " if len(titles) > 1 else ""
        yield Line(text=about + ranking.answer.text, style="bold")
        if not ranking.patches or self.quiet:
            return
        yield from table_lines(ranking.patches, whole=self.verbose)
        if self.verbose:
            yield from _indented(ranking.notes)
            yield from _indented(grounds(ranking.patches, self.report.tests_of(ranking.issue)))
        elif ranking.tellings:
            yield Line(text="  say which result is right: 'pytest-brt review'")

    def _repairs(self) -> Iterator[Line]:
        for repair in self.report.repairs:
            given = f"given {repair.given}" if repair.given else ""
            ended = f"ended by {repair.ending}" if repair.ending else ""
            parts = (count(repair.steps, "step"), given, cost(repair.cost), ended)
            course = "; ".join(filter(None, parts))
            yield Line(text=f"  {repair.name}: {course}", style="green" if repair.fixes else "")
            for fix in repair.fixes:
                style = "green" if fix.plausible else ""
                yield Line(text=f"    {fix.patch} ({fix.source}) {fix.does}", style=style)
            yield from _indented(repair.notes, 4)


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


def grounds(patches: Sequence[PatchEntry], tests: Sequence[TestEntry]) -> Iterator[str]:
    """Yield what an order of patches rests on, a line each."""
    for patch in patches:
        for broken in patch.broken:
            yield f"{patch.name} breaks {broken.test} ({shortened(broken.reason, _LETTERS)})"
    failing: dict[str, Outcome] = {}
    for patch in patches:
        failing |= {one.test: one for one in (patch.existing.failing if patch.existing else ())}
    for test in list(failing.values())[:_FAILING]:
        yield f"{test.test} does not pass without a patch ({shortened(test.reason, _LETTERS)})"
    if len(failing) > _FAILING:
        yield f"… and {len(failing) - _FAILING} more that fail without a patch"
    for patch in patches:
        if patch.because:
            yield f"{patch.name}: {'; '.join(patch.because)}"
    found = candidates(tests)
    if found:
        yield "bug tests on the patches in this order: . pass  x fail  o part of the patch"
    for entry in found:
        marks = "".join(_MARKS[mark(patch, entry)[0]] for patch in patches)
        yield f"{marks}  {entry.name} ({origin_words(entry)})"
    for entry in tests:
        if entry.author is Author.PATCH and not entry.candidate:
            reason = shortened(entry.reason, _LETTERS)
            yield f"{entry.name} ({origin_words(entry)}) has no vote: {reason}"


def _indented(texts: Iterable[str], by: int = 2) -> Iterator[Line]:
    return (Line(text=f"{'':{by}}{text}") for text in texts)


def _place(place: Place) -> str:
    """Return a place as in "pkg/a.py::f, line 3 (the report names pkg.a)"."""
    why = f" ({place.clues[0].text})" if place.clues else ""
    return f"{place.path}::{place.function}".removesuffix("::") + f", line {place.line}{why}"


def _costs(issue: IssueEntry, *, each: bool) -> Iterator[str]:
    """Yield what a model was asked, for each attempt or for all together."""
    asked = [attempt for attempt in issue.attempts if attempt.cost.calls]
    if each:
        for one in asked:
            made = f"{one.candidates} of {count(one.tests, 'test')} failing as reported"
            yield f"{one.name}: {cost(one.cost)}; {one.seconds:.0f} s in all; {made}"
    elif asked:
        yield f"the model: {cost(sum((one.cost for one in asked), Cost()))}"


def cost(spent: Cost) -> str:
    """Return a cost in words.

    >>> cost(Cost(calls=2, prompt_tokens=3000, evaluated=1200, tokens=90, seconds=4.2))
    '2 requests, 3,000 prompt tokens (1,800 cached), 90 completion tokens, 4 s'
    """
    cached = spent.prompt_tokens - spent.evaluated
    return (
        f"{spent.calls:,} request{'' if spent.calls == 1 else 's'}, {spent.prompt_tokens:,} prompt "
        f"tokens ({cached:,} cached), {spent.tokens:,} completion tokens, {spent.seconds:.0f} s"
    )


def _seen(lines: list[str], room: int) -> tuple[int, int]:
    """Return which lines of a diff to show: the last of its first test decides, and is shown.

    >>> _seen(["+import a", "+def test_a():", "+    a.b()", "+    assert a.c"], 3)
    (1, 4)
    """
    tests = [at for at, line in enumerate(lines) if _TEST.match(line)] or [len(lines)]
    inner = range(tests[0], tests[1] if len(tests) > 1 else len(lines))
    end = max((at + 1 for at in inner if lines[at].startswith("+ ")), default=room)
    return max(0, end - room), max(end, min(len(lines), room))


def _added(lines: list[str]) -> list[str]:
    """Return the added lines of a diff, from the first that is code."""
    added = [line for line in lines if line.startswith("+") and not line.startswith("+++")]
    return list(dropwhile(lambda line: line == "+" or line.startswith("+#"), added))
