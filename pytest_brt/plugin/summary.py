"""The header, and the answer at the end, through pytest's own terminal reporter.

By default no more than a screen: a sentence per report and per ranking, then the best bug test or
the table of patches. ``-v`` shows the rest, ``-q`` the sentences alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from itertools import dropwhile

import pytest

from pytest_brt.edit.source_text import Edit
from pytest_brt.plugin.inputs import Inputs
from pytest_brt.plugin.options import Options, Write
from pytest_brt.render.answer import percent, reviewed
from pytest_brt.render.dialogue import HEADING, account, columns, prospect, total
from pytest_brt.render.report import IssueEntry, Ranking, Report, TestEntry, candidates
from pytest_brt.render.table import (
    brief_notes,
    grounds,
    is_writable,
    likeliest_place,
    places,
    repairs,
    table,
)
from pytest_brt.render.words import count, shortened
from pytest_brt.shown import show

#: Longest reason that is shown on one line, and most lines of a test; -v shows all of it.
REASON = 100
LINES = 12
#: Where a test begins, in a diff.
_TEST = re.compile(r"\+\s*(?:async )?def test")


def header(inputs: Inputs, options: Options, verbosity: int) -> list[str]:
    """Return the lines that say what runs, on what, and how it is isolated."""
    if verbosity < 0:
        return []
    engine = inputs.workbench.engine
    subject = engine.subject
    version = ".".join(str(part) for part in subject.python_version)
    strategies = ", ".join(inputs.plan.strategies) if options.issues else "ranking"
    model = inputs.workbench.model
    asked = "" if model.name == "none" else f"; model {model.name}"
    lines = [
        f"brt: {strategies}; python {version} ({subject.found}){asked}; "
        f"sandbox {engine.sandbox.isolation}; {options.jobs} jobs"
    ]
    lines += [
        f"brt: sandbox {engine.sandbox.isolation}: {remark}" for remark in engine.sandbox.remarks
    ]
    if inputs.earlier:
        said = reviewed(inputs.earlier.tests)
        lines.append(
            f"brt: bug tests from the last run ({inputs.earlier.about}){said and f'; {said}'}"
        )
    if not subject.packages:
        lines.append(
            f"brt: no package or module in {subject.root!r}: is it the project's root? "
            "(start pytest there, or --rootdir DIR)"
        )
    lines += [
        f"brt: {issue.source}: {issue.unread / 1000:,.0f} KB of it are not read: only 10 KB of a "
        "paragraph, 100 KB of prose and 300 blocks of code are (put logs into a code fence)"
        for issue in (case.issue for case in inputs.plan.cases)
        if issue and issue.unread
    ]
    lines += [f"brt: {note}" for note in (*options.notes, inputs.left_out) if note]
    if asked:
        lines.append(f"brt: {prospect(options.budget, inputs.spent)}")
    return lines


class Summary:
    """Shows what a run found out."""

    def __init__(self, reporter: pytest.TerminalReporter, options: Options) -> None:
        self.reporter = reporter
        self.verbose = reporter.config.get_verbosity() > 0
        self.quiet = reporter.config.get_verbosity() < 0
        self.options = options

    def show(self, report: Report, edits: tuple[Edit, ...], closing: Iterable[str]) -> None:
        """Show the answer, what it rests on, and what to do next."""
        ranked = bool(report.rankings)
        self.reporter.ensure_newline()
        if report.issues and not self.quiet:
            self.reporter.section("bug report" if len(report.issues) == 1 else "bug reports")
        for issue in report.issues:
            if issue.answer is not None:
                self._show_issue(report, issue, brief=ranked)
        given = [test for test in report.tests if test.given]
        if given and self.verbose:
            said = "tests that were given" if self.options.tests else "tests of the last run"
            self._say(said, bold=True)
            self._show_considered(given)
        if self.options.write is Write.DIFF and edits and not self.quiet and not ranked:
            self._show_unwritten(report, edits)
        self._show_found(report)
        if ranked:
            if not self.quiet:
                self.reporter.section("patch ranking")
            for ranking in report.rankings:
                self._show_ranking(report, ranking)
        for said in closing:
            self._say(said)

    def _show_found(self, report: Report) -> None:
        if report.repairs:
            self.reporter.section("repairs")
            for line in repairs(report):
                self._say(f"  {line.text}", green=line.good)

    def _say(self, text: str, **markup: bool) -> None:
        show(self.reporter, text, **markup)

    # -- reports ------------------------------------------------------------------------

    def _show_issue(self, report: Report, issue: IssueEntry, *, brief: bool) -> None:
        tests = report.made_for(issue.id)
        failing = candidates(tests)
        sure = any(test.counts for test in failing)
        if not self.quiet:
            self._say(f"{issue.source}: {issue.title}")
        about = f"{issue.source}: " if self.quiet and len(report.issues) > 1 else ""
        self._say(about + issue.verdict, bold=True, green=sure, yellow=not sure)
        for warning in issue.warnings:
            self._say(warning, yellow=True)
        if self.quiet:
            return
        if self.verbose:
            self._show_considered(tests)
        elif failing and not brief:
            self._show_best(failing)
        if not failing or self.verbose:
            self._show_notes(issue.notes)
        if self.verbose:
            for line in places(report, issue.id):
                self._say(f"  {line}")
        elif not failing and (place := likeliest_place(report, issue.id)):
            self._say(f"  {place}")
        spent = account(issue.attempts) if self.verbose else [total(issue.attempts)]
        for line in filter(None, spent):
            self._say(f"  {line}")

    def _show_notes(self, notes: Sequence[str]) -> None:
        shown = notes if self.verbose else notes[:LINES]
        for note in shown:
            self._say(f"  {note}")
        if len(shown) < len(notes):
            self._say(f"  … and {count(len(notes) - len(shown), 'more note')} (-v shows all)")

    def _show_best(self, failing: Sequence[TestEntry]) -> None:
        failure = failing[0].failure
        if failure is not None:
            for line in filter(None, (failure.reason, failure.at)):
                self._say(f"  {self._cut(line)}")
        unsure = sum(not test.counts for test in failing[1:])
        if unsure:
            tests, fail = ("test", "fails") if unsure == 1 else ("tests", "fail")
            said = f"{unsure} less certain {tests} made from the report {fail} as well"
            self._say(f"  {said} (-v shows all)")

    def _show_unwritten(self, report: Report, edits: tuple[Edit, ...]) -> None:
        """Show what could be written: the best test of each report, all with ``-v``."""
        write = "--brt-write new writes it"
        how = write if is_writable(report) else f"'pytest-brt review' accepts it, then {write}"
        self.reporter.section(f"not written ({how})", sep="-")
        for edit in edits:
            lines = edit.diff().splitlines()
            shown = lines if self.verbose else _added(lines)
            room = len(shown) if self.verbose else max(4, LINES // len(edits))
            first, last = _seen(shown, room)
            if first:
                self._say("  … (-v shows all of it)")
            for line in shown[first:last]:
                self._say(line, green=line.startswith("+"), red=line.startswith("-"))
            if last < len(shown):
                self._say("  … (-v shows the rest)")

    # -- tests, with -v -------------------------------------------------------------------

    def _show_considered(self, tests: Sequence[TestEntry]) -> None:
        wide = any(test.model for test in tests)
        if wide:
            self._say(f"  {HEADING}")
        failing = candidates(tests)
        parts = (
            ("bug tests", [test for test in failing if test.counts]),
            ("possible bug tests, less certain", [test for test in failing if not test.counts]),
            ("other tests that were tried", [test for test in tests if not test.candidate]),
        )
        for title, some in parts:
            if some:
                self._say(f"  {title}:")
            for test in some:
                self._show_test(test, wide=wide)

    def _show_test(self, test: TestEntry, *, wide: bool) -> None:
        said = f"  {columns(test)}" if wide else ""
        sure = percent(test.confidence, test.measured)
        self._say(f"    {sure:>4}{said}  {test.name}  ({test.oracle})")
        failed = (test.failure.reason, test.failure.at) if test.failure else ()
        for line in dict.fromkeys(filter(None, (*failed, test.reason))):
            self._say(f"          {self._cut(line)}")

    def _cut(self, reason: str) -> str:
        return shortened(reason, None if self.verbose else REASON)

    # -- ranks --------------------------------------------------------------------------

    def _show_ranking(self, report: Report, ranking: Ranking) -> None:
        titles = {issue.id: issue.source for issue in report.issues}
        about = f"{titles.get(ranking.issue, ranking.issue)}: " if len(titles) > 1 else ""
        self._say(about + ranking.verdict, bold=True)
        if not ranking.patches or self.quiet:
            return
        for line in table(ranking.patches, whole=self.verbose):
            self._say(f"  {line.text}", green=line.good)
        for text in ranking.notes if self.verbose else brief_notes(ranking):
            self._say(f"  {text}")
        if self.verbose:
            for text in grounds(ranking.patches, report.tests_of(ranking.issue)):
                self._say(f"  {text}")


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
