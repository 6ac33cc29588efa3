"""The header, and the answer at the end, through pytest's own terminal reporter.

By default no more than a screen: a sentence per report and per ranking, then the best bug test or
the table of patches. ``-v`` shows the rest, ``-q`` the sentences alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain, dropwhile, groupby

import pytest

from pytest_brt.code.source import Edit
from pytest_brt.execute.launch import weaknesses
from pytest_brt.plugin.inputs import Inputs
from pytest_brt.plugin.option_table import Options
from pytest_brt.plugin.option_values import Write
from pytest_brt.render.answer import (
    bug_tests,
    listed,
    of_ranking,
    of_report,
    place_of,
    reviewed,
    tests_of,
)
from pytest_brt.render.dialogue import (
    HEADING,
    account,
    columns,
    name_of,
    prospect,
    total,
)
from pytest_brt.render.table import (
    broken_tests,
    existing,
    pinned,
    places,
    reasons,
    repairs,
    shortened,
    table,
    with_harm,
)
from pytest_brt.run.attempts import UNFINISHED
from pytest_brt.shown import show
from pytest_brt.types import Attempt, Issue, JudgedTest, Rank, RunRecord, Verdict

#: Longest reason that is shown on one line, and most lines of a test; -v shows all of it.
REASON = 100
LINES = 12


class Summary:
    """Shows what a run found out."""

    def __init__(self, config: pytest.Config, options: Options) -> None:
        self.verbose = config.get_verbosity() > 0
        self.quiet = config.get_verbosity() < 0
        self.options = options

    def header(self, inputs: Inputs) -> list[str]:
        """Return the lines that say what runs, on what, and how it is isolated."""
        if self.quiet:
            return []
        engine = inputs.workbench.engine
        subject = engine.subject
        version = ".".join(str(part) for part in subject.python_version)
        strategies = ", ".join(inputs.plan.strategies) if self.options.issues else "ranking"
        model = inputs.workbench.model
        asked = "" if model.name == "none" else f"; model {model.name}"
        lines = [
            f"brt: {strategies}; python {version} ({subject.found}){asked}; "
            f"sandbox {engine.level}; {self.options.jobs} jobs"
        ]
        if self.verbose or engine.level != "ns":
            lines += [f"brt: sandbox {engine.level}: {one}" for one in weaknesses(engine)]
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
        lines += [f"brt: {note}" for note in self.options.notes]
        if asked:
            lines += [f"brt: {note}" for note in model.notes]
            lines.append(f"brt: {prospect(self.options.budget, inputs.spent)}")
        return lines

    def show(
        self,
        reporter: pytest.TerminalReporter,
        record: RunRecord,
        edits: tuple[Edit, ...],
        closing: Iterable[str],
    ) -> None:
        """Show the answer, what it rests on, and what to do next."""
        ranked = bool(record.ranks or record.not_run)
        reporter.ensure_newline()
        if record.issues and not self.quiet:
            reporter.section("bug report" if len(record.issues) == 1 else "bug reports")
        for issue in record.issues:
            self._show_report(reporter, record, issue, brief=ranked)
        if record.given and self.verbose:
            show(reporter, "tests that were given", bold=True)
            self._show_considered(reporter, record.given)
        if self.options.write is Write.DIFF and edits and not self.quiet and not ranked:
            self._show_unwritten(reporter, record, edits)
        if record.localised:
            reporter.section("where the bug may be")
            for text in places(record):
                show(reporter, f"  {text}")
        if record.repairs:
            reporter.section("repairs")
            for line in repairs(record):
                show(reporter, f"  {line.text}", green=line.good)
        if ranked:
            if not self.quiet:
                reporter.section("patch ranking")
            self._show_rankings(reporter, record)
        for said in closing:
            show(reporter, said)

    # -- reports ------------------------------------------------------------------------

    def _show_report(
        self, reporter: pytest.TerminalReporter, record: RunRecord, issue: Issue, *, brief: bool
    ) -> None:
        attempts = [attempt for attempt in record.attempts if attempt.issue == issue.id]
        if not attempts:
            return
        sure, possible = bug_tests(test for attempt in attempts for test in attempt.tests)
        if not self.quiet:
            show(reporter, f"{issue.source}: {issue.title}")
        about = f"{issue.source}: " if self.quiet and len(record.issues) > 1 else ""
        answer = of_report(attempts)
        show(reporter, about + answer, bold=True, green=bool(sure), yellow=not sure)
        if self.quiet:
            return
        if any(UNFINISHED in attempt.notes for attempt in attempts):
            show(reporter, UNFINISHED, yellow=True)
        for trouble in dict.fromkeys(attempt.trouble for attempt in attempts if attempt.trouble):
            show(reporter, f"without the model: {trouble}", yellow=True)
        if self.verbose:
            self._show_considered(reporter, [t for attempt in attempts for t in attempt.tests])
        elif not brief:
            self._show_best(reporter, (*sure, *possible))
        if not (sure or possible) or self.verbose:
            self._show_notes(reporter, attempts, answer)
        for spent in account(attempts) if self.verbose else filter(None, [total(attempts)]):
            show(reporter, f"  {spent}")

    def _show_notes(
        self, reporter: pytest.TerminalReporter, attempts: list[Attempt], answer: str
    ) -> None:
        """Show what the attempts noted, but for what the answer says already."""
        notes = [
            f"{f'{name_of(attempt, attempts)}: ' if len(attempts) > 1 else ''}{note}"
            for attempt in attempts
            for note in attempt.notes
            if note not in answer
        ]
        shown = notes if self.verbose else notes[:LINES]
        for note in shown:
            show(reporter, f"  {note}")
        if len(shown) < len(notes):
            show(reporter, f"  … and {len(notes) - len(shown)} more notes (-v shows them)")

    def _show_best(
        self, reporter: pytest.TerminalReporter, failing: tuple[JudgedTest, ...]
    ) -> None:
        """Show why the best test fails, and the names of the others."""
        if not failing:
            return
        run = next(iter(failing[0].judgement.runs), None)
        if run is not None:
            show(reporter, f"  {self._cut(run.reason)}")
            place = place_of(run)
            if place:
                show(reporter, f"  {self._cut(place)}")
        unsure = sum(not test.judgement.reproduces for test in failing[1:])
        if unsure:
            fail = "test fails" if unsure == 1 else "tests fail"
            show(reporter, f"  {unsure} more {fail}, perhaps for another reason (-v shows all)")

    def _show_unwritten(
        self, reporter: pytest.TerminalReporter, record: RunRecord, edits: tuple[Edit, ...]
    ) -> None:
        """Show what could be written: the best test of each report, all with ``-v``."""
        unsure = not any(t.judgement.reproduces for a in record.attempts for t in a.tests)
        option = "--brt-write new --brt-write-unsure" if unsure else "--brt-write new"
        reporter.section(f"not written ({option} writes it)", sep="-")
        for edit in edits:
            lines = edit.diff().splitlines()
            shown = lines if self.verbose else _added(lines)
            room = len(shown) if self.verbose else max(4, LINES // len(edits))
            for line in shown[:room]:
                show(reporter, line, green=line.startswith("+"), red=line.startswith("-"))
            if len(shown) > room:
                show(reporter, "  … (-v shows all of it)")

    # -- tests, with -v -------------------------------------------------------------------

    def _show_considered(
        self, reporter: pytest.TerminalReporter, tests: Iterable[JudgedTest]
    ) -> None:
        tests = tuple(tests)
        sure, possible = bug_tests(tests)
        rest = [test for test in tests if not test.judgement.candidate]
        wide = any(judged.test.origin.model for judged in tests)
        if wide:
            show(reporter, f"  {HEADING}")
        parts = {
            "bug tests": sure,
            "tests that fail, perhaps for another reason": possible,
            "other tests that were tried": rest,
        }
        for title, some in parts.items():
            if some:
                show(reporter, f"  {title}:")
            for judged in some:
                self._show_test(reporter, judged, wide=wide)

    def _show_test(
        self, reporter: pytest.TerminalReporter, judged: JudgedTest, *, wide: bool
    ) -> None:
        test, judgement = judged.test, judged.judgement
        said = f"  {columns(judged)}" if wide else ""
        show(reporter, f"    {judgement.confidence:4.0%}{said}  {test.name}  ({test.oracle.kind})")
        failure = judgement.runs[0].reason if judgement.runs else judgement.reason
        lines = [failure, place_of(judgement.runs[0]) if judgement.runs else "", judgement.reason]
        for line in dict.fromkeys(filter(None, lines)):
            show(reporter, f"          {self._cut(line)}")

    def _cut(self, reason: str) -> str:
        return shortened(reason, None if self.verbose else REASON)

    # -- ranks --------------------------------------------------------------------------

    def _show_rankings(self, reporter: pytest.TerminalReporter, record: RunRecord) -> None:
        titles = {issue.id: issue.source for issue in record.issues}
        missing = {found.issue: found for found in record.not_run}
        groups = {i: tuple(g) for i, g in groupby(record.ranks, key=lambda r: r.result.issue)}
        for issue in dict.fromkeys((*groups, *missing)):
            ranks = groups.get(issue, ())
            about = f"{titles.get(issue, issue)}: " if len(record.issues) > 1 else ""
            show(reporter, about + of_ranking(ranks, missing.get(issue)), bold=True)
            if ranks and not self.quiet:
                for line in table(ranks, whole=self.verbose):
                    show(reporter, f"  {line.text}", green=line.good)
                if self.verbose:
                    self._show_grounds(reporter, ranks, tests_of(record, issue))
                else:
                    for text in pinned(ranks):
                        show(reporter, f"  {text}")
                self._show_selected(reporter, ranks)

    def _show_grounds(
        self,
        reporter: pytest.TerminalReporter,
        ranks: tuple[Rank, ...],
        tests: tuple[JudgedTest, ...],
    ) -> None:
        candidates = [test for test in tests if test.judgement.candidate]
        grounds = (
            existing(ranks),
            broken_tests(ranks),
            pinned(ranks),
            reasons(ranks),
            _passing(ranks, candidates),
        )
        for text in chain.from_iterable(grounds):
            show(reporter, f"  {text}")

    def _show_selected(self, reporter: pytest.TerminalReporter, ranks: tuple[Rank, ...]) -> None:
        from pytest_brt.rank.epr import selected

        options = self.options
        for option, chosen in selected(ranks, options.top, options.threshold).items():
            names = ", ".join(with_harm(rank) for rank in chosen) or "no patch"
            show(reporter, f"  selected by {option}: {names}")


def _passing(ranks: tuple[Rank, ...], candidates: Iterable[JudgedTest]) -> Iterator[str]:
    """Say for each bug test on which patches it passes."""
    for judged in candidates:
        names = [
            rank.name
            for rank in ranks
            for cell in rank.result.cells
            if cell.test == judged.test.id and cell.verdict is Verdict.PASS
        ]
        yield f"{judged.test.name} passes on {listed(names) if names else 'no patch'}"


def _added(lines: list[str]) -> list[str]:
    """Return the added lines of a diff, from the first that is code."""
    added = [line for line in lines if line.startswith("+") and not line.startswith("+++")]
    return list(dropwhile(lambda line: line == "+" or line.startswith("+#"), added))
