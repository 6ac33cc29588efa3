"""The header, and the answer at the end, through pytest's own terminal reporter.

By default no more than a screen: a sentence per report and per ranking, then the best bug test or
the table of patches. ``-v`` shows the rest, ``-q`` the sentences alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import chain, dropwhile, groupby
from pathlib import Path

import pytest

from pytest_brt.answers import answer_issue, bug_tests
from pytest_brt.code.source import Edit
from pytest_brt.execute.launch import weaknesses
from pytest_brt.execute.layout import passed_over
from pytest_brt.plugin.inputs import Inputs
from pytest_brt.plugin.options import Options, Write
from pytest_brt.render.answer import (
    issue_sentence,
    of_ranking,
    place_of,
    ranking_tests_of,
    reviewed,
)
from pytest_brt.render.causes import run_words
from pytest_brt.render.dialogue import HEADING, account, columns, name_of, prospect, total
from pytest_brt.render.disputes import dispute_sentences
from pytest_brt.render.models import note_words
from pytest_brt.render.notes import attempt_words, note_sentence
from pytest_brt.render.table import (
    authors,
    broken_tests,
    existing,
    failing_before,
    matrix,
    places,
    reasons,
    repairs,
    shortened,
    table,
    with_harm,
)
from pytest_brt.render.values import tellings, values
from pytest_brt.shown import show
from pytest_brt.types import Attempt, Issue, IssueAnswer, JudgedTest, Rank, RunRecord
from pytest_brt.types.attempt import Interrupted, WithoutModel

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
        f"sandbox {engine.level}; {options.jobs} jobs"
    ]
    if verbosity > 0 or engine.level != "ns":
        lines += [f"brt: sandbox {engine.level}: {one}" for one in weaknesses(engine)]
    if verbosity > 0:
        lines += [f"brt: {text}" for text in _passed_over(Path(subject.root))]
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
        lines += [f"brt: {note_words(note)}" for note in model.notes]
        lines.append(f"brt: {prospect(options.budget, inputs.spent)}")
    return lines


def _passed_over(root: Path) -> Iterator[str]:
    """Yield what of the project's folder no test will find there."""
    found = passed_over(root)
    if found.special:
        yield f"pipes, sockets and devices passed over in the project: {found.special}"
    for folder in found.unreadable:
        yield f"left out of the project, for it may not be read: {folder!r}"


class Summary:
    """Shows what a run found out."""

    def __init__(self, reporter: pytest.TerminalReporter, options: Options) -> None:
        self.reporter = reporter
        self.verbose = reporter.config.get_verbosity() > 0
        self.quiet = reporter.config.get_verbosity() < 0
        self.options = options

    def show(self, record: RunRecord, edits: tuple[Edit, ...], closing: Iterable[str]) -> None:
        """Show the answer, what it rests on, and what to do next."""
        ranked = bool(record.ranks or record.not_run)
        self.reporter.ensure_newline()
        if record.issues and not self.quiet:
            self.reporter.section("bug report" if len(record.issues) == 1 else "bug reports")
        for issue in record.issues:
            self._show_report(record, issue, brief=ranked)
        if record.given and self.verbose:
            given = "tests that were given" if self.options.tests else "tests of the last run"
            self._say(given, bold=True)
            self._show_considered(record.given)
        if self.options.write is Write.DIFF and edits and not self.quiet and not ranked:
            self._show_unwritten(record, edits)
        if record.localised:
            self.reporter.section("where the bug may be")
            for text in places(record):
                self._say(f"  {text}")
        if record.repairs:
            self.reporter.section("repairs")
            for line in repairs(record):
                self._say(f"  {line.text}", green=line.good)
        if ranked:
            if not self.quiet:
                self.reporter.section("patch ranking")
            self._show_rankings(record)
        for said in closing:
            self._say(said)

    def _say(self, text: str, **markup: bool) -> None:
        show(self.reporter, text, **markup)

    # -- reports ------------------------------------------------------------------------

    def _show_report(self, record: RunRecord, issue: Issue, *, brief: bool) -> None:
        attempts = [attempt for attempt in record.attempts if attempt.issue == issue.id]
        if not attempts:
            return
        sure, possible = bug_tests(test for attempt in attempts for test in attempt.tests)
        if not self.quiet:
            self._say(f"{issue.source}: {issue.title}")
        about = f"{issue.source}: " if self.quiet and len(record.issues) > 1 else ""
        answer = answer_issue(attempts)
        self._say(about + issue_sentence(answer), bold=True, green=bool(sure), yellow=not sure)
        if self.quiet:
            return
        notes = dict.fromkeys(note for attempt in attempts for note in attempt.notes)
        for note in notes:
            if isinstance(note, Interrupted):
                self._say(note_sentence(note), yellow=True)
            elif isinstance(note, WithoutModel):
                self._say(f"without the model: {note_sentence(note)}", yellow=True)
        if self.verbose:
            self._show_considered([t for attempt in attempts for t in attempt.tests])
        elif not brief:
            self._show_best((*sure, *possible))
        if not (sure or possible) or self.verbose:
            self._show_notes(attempts, answer)
        for spent in account(attempts) if self.verbose else filter(None, [total(attempts)]):
            self._say(f"  {spent}")

    def _show_notes(self, attempts: list[Attempt], answer: IssueAnswer) -> None:
        """Show what the attempts noted, but for what the answer says already."""
        notes = []
        for attempt in attempts:
            by = f"{name_of(attempt, attempts)}: " if len(attempts) > 1 else ""
            notes += [f"{by}{words}" for words in attempt_words(attempt, answer)]
        shown = notes if self.verbose else notes[:LINES]
        for note in shown:
            self._say(f"  {note}")
        if len(shown) < len(notes):
            self._say(f"  … and {len(notes) - len(shown)} more notes (-v shows them)")

    def _show_best(self, failing: tuple[JudgedTest, ...]) -> None:
        if not failing:
            return
        run = next(iter(failing[0].judgement.runs), None)
        if run is not None:
            self._say(f"  {self._cut(run_words(run))}")
            place = place_of(run)
            if place:
                self._say(f"  {self._cut(place)}")
        unsure = sum(not test.judgement.counts for test in failing[1:])
        if unsure:
            tests, fail = ("test", "fails") if unsure == 1 else ("tests", "fail")
            said = f"{unsure} less certain {tests} made from the report {fail} as well"
            self._say(f"  {said} (-v shows all)")

    def _show_unwritten(self, record: RunRecord, edits: tuple[Edit, ...]) -> None:
        """Show what could be written: the best test of each report, all with ``-v``."""
        unsure = not any(t.judgement.counts for a in record.attempts for t in a.tests)
        option = "--brt-write new --brt-write-unsure" if unsure else "--brt-write new"
        self.reporter.section(f"not written ({option} writes it)", sep="-")
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

    def _show_considered(self, tests: Iterable[JudgedTest]) -> None:
        tests = tuple(tests)
        sure, possible = bug_tests(tests)
        rest = [test for test in tests if not test.judgement.candidate]
        wide = any(judged.test.origin.model for judged in tests)
        if wide:
            self._say(f"  {HEADING}")
        parts = (
            ("bug tests", sure),
            ("possible bug tests, less certain", possible),
            ("other tests that were tried", rest),
        )
        for title, some in parts:
            if some:
                self._say(f"  {title}:")
            for judged in some:
                self._show_test(judged, wide=wide)

    def _show_test(self, judged: JudgedTest, *, wide: bool) -> None:
        test, judgement = judged.test, judged.judgement
        said = f"  {columns(judged)}" if wide else ""
        self._say(f"    {judgement.confidence:4.0%}{said}  {test.name}  ({test.oracle.kind})")
        failure = run_words(judgement.runs[0]) if judgement.runs else judgement.reason
        lines = [failure, place_of(judgement.runs[0]) if judgement.runs else "", judgement.reason]
        for line in dict.fromkeys(filter(None, lines)):
            self._say(f"          {self._cut(line)}")

    def _cut(self, reason: str) -> str:
        return shortened(reason, None if self.verbose else REASON)

    # -- ranks --------------------------------------------------------------------------

    def _show_rankings(self, record: RunRecord) -> None:
        titles = {issue.id: issue.source for issue in record.issues}
        missing = {found.issue: found for found in record.not_run}
        groups = {i: tuple(g) for i, g in groupby(record.ranks, key=lambda r: r.result.issue)}
        for issue in dict.fromkeys((*groups, *missing)):
            ranks = groups.get(issue, ())
            about = f"{titles.get(issue, issue)}: " if len(record.issues) > 1 else ""
            self._say(about + of_ranking(ranks, missing.get(issue)), bold=True)
            if ranks and not self.quiet:
                for line in table(ranks, whole=self.verbose):
                    self._say(f"  {line.text}", green=line.good)
                for text in dispute_sentences(record.disputes, issue, whole=self.verbose):
                    self._say(f"  {text}")
                for text in tellings(record.tellings, issue):
                    self._say(f"  {text} (say which is right: 'pytest-brt review')")
                if self.verbose:
                    self._show_grounds(ranks, ranking_tests_of(record, issue))
                self._show_selected(ranks)

    def _show_grounds(self, ranks: tuple[Rank, ...], tests: tuple[JudgedTest, ...]) -> None:
        candidates = [test for test in tests if test.judgement.candidate]
        grounds = chain(
            authors(candidates),
            existing(ranks),
            broken_tests(ranks),
            failing_before(ranks),
            reasons(ranks),
        )
        for text in (*grounds, *matrix(ranks, tests), *values(ranks)):
            self._say(f"  {text}")

    def _show_selected(self, ranks: tuple[Rank, ...]) -> None:
        from pytest_brt.rank.epr import selected

        options = self.options
        for option, chosen in selected(ranks, options.top, options.threshold).items():
            names = ", ".join(with_harm(rank) for rank in chosen) or "no patch"
            self._say(f"  selected by {option}: {names}")


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
