"""The header and the tables at the end, through pytest's own terminal reporter."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import groupby

import pytest

from pytest_brt.attempting import UNFINISHED
from pytest_brt.code.edits import Edit
from pytest_brt.inputs import Inputs
from pytest_brt.option_values import Write
from pytest_brt.options import Options
from pytest_brt.rank.choose import at_least, top_k
from pytest_brt.rank.differ import difference_of
from pytest_brt.rank.standing import has_verdict, verdict_of
from pytest_brt.report.attempts import (
    account,
    by_model,
    columns,
    heading,
    name_of,
    prospect,
    total,
)
from pytest_brt.report.failure import place_of
from pytest_brt.report.others import others
from pytest_brt.report.repairs import places, repairs
from pytest_brt.report.table import (
    exposures,
    question,
    reasons,
    regressions,
    table,
    unfinished,
    untried,
    with_harm,
)
from pytest_brt.shown import show
from pytest_brt.types import Attempt, JudgedTest, Rank, RunRecord, Verdict

#: Longest reason that is shown on one line; -v shows all of it.
REASON = 100


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
        strategies = ", ".join(inputs.plan.strategies) if self.options.issues else "tests given"
        model = inputs.workbench.model
        asked = "" if model.name == "none" else f"; model {model.name}"
        lines = [
            f"brt: {strategies}; python {version} ({subject.found}){asked}; "
            f"sandbox {engine.level}; {self.options.jobs} jobs"
        ]
        if inputs.earlier:
            lines.append(f"brt: by the tests of {inputs.earlier}")
        if not subject.packages:
            lines.append(
                f"brt: no package or module in {subject.root!r}: is it the project's root? "
                "(start pytest there, or --rootdir DIR)"
            )
        if self.options.passed_over:
            lines.append(f"brt: {self.options.passed_over}")
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
        """Show the tests, the ranking, and what to do next."""
        if record.issues or record.given:
            reporter.section("bug reproduction tests")
            self._show_tests(reporter, record)
        if self.options.write is Write.DIFF and edits and not self.quiet:
            unsure = not any(j.judgement.reproduces for a in record.attempts for j in a.tests)
            option = "--brt-write new --brt-write-unsure" if unsure else "--brt-write new"
            reporter.section(f"not written ({option} writes it)", sep="-")
            for edit in edits:
                _show_diff(reporter, edit)
        if record.localised:
            reporter.section("where the bug may be")
            for text in places(record):
                show(reporter, f"  {text}")
        if record.repairs:
            reporter.section("repairs")
            for line in repairs(record):
                show(reporter, f"  {line.text}", green=line.good)
        if record.ranks or record.not_run:
            plain = all(rank.score is None for rank in record.ranks)
            order = "Ensemble Pass Rate" if plain else "weighted score, beside Ensemble Pass Rate"
            reporter.section(f"fixes by {order}")
            self._show_ranks(reporter, record)
        for said in closing:
            show(reporter, said)

    # -- tests --------------------------------------------------------------------------

    def _show_tests(self, reporter: pytest.TerminalReporter, record: RunRecord) -> None:
        for issue in record.issues:
            show(reporter, f"{issue.source}: {issue.title}", bold=True)
            attempts = [attempt for attempt in record.attempts if attempt.issue == issue.id]
            self._show_attempts(reporter, attempts)
        if record.given:
            show(reporter, "tests given", bold=True)
            self._show_considered(reporter, record.given, "on the unpatched tree")

    def _show_attempts(self, reporter: pytest.TerminalReporter, attempts: list[Attempt]) -> None:
        tests = [judged for attempt in attempts for judged in attempt.tests]
        self._show_considered(reporter, tests, "for the reported reason")
        if not any(judged.judgement.candidate for judged in tests) or self.verbose:
            for attempt in attempts:
                name = f"{name_of(attempt, attempts)}: " if len(attempts) > 1 else ""
                for note in attempt.notes:
                    show(reporter, f"  {name}{note}")
        elif any(UNFINISHED in attempt.notes for attempt in attempts):
            show(reporter, f"  {UNFINISHED}", yellow=True)
        for trouble in dict.fromkeys(attempt.trouble for attempt in attempts if attempt.trouble):
            show(reporter, f"  without the model: {trouble}", yellow=True)
        for spent in account(attempts) if self.verbose else filter(None, [total(attempts)]):
            show(reporter, f"  {spent}")

    def _show_considered(
        self, reporter: pytest.TerminalReporter, tests: Iterable[JudgedTest], how: str
    ) -> None:
        tests = tuple(tests)
        sure = [judged for judged in tests if judged.judgement.reproduces]
        possible = [j for j in tests if j.judgement.candidate and not j.judgement.reproduces]
        rest = [judged for judged in tests if not judged.judgement.candidate]
        show(
            reporter,
            f"  {_count(len(tests), 'test')} considered, {len(sure)} "
            f"{'fails' if len(sure) == 1 else 'fail'} {how}",
        )
        if rest and not self.verbose:
            show(reporter, f"  {others(tests)}")
        wide = by_model(tests if self.verbose else [*sure, *possible])
        if wide:
            show(reporter, f"  {heading()}")
        self._show_each(reporter, sure, wide=wide)
        if possible:
            show(
                reporter,
                f"  possible: {_count(len(possible), 'failing test')} that may not be about the "
                "report's bug",
            )
            self._show_each(reporter, possible, wide=wide)
        if self.verbose:
            self._show_each(reporter, rest, wide=wide)

    def _show_each(
        self, reporter: pytest.TerminalReporter, tests: Iterable[JudgedTest], *, wide: bool
    ) -> None:
        if wide:
            tests = sorted(tests, key=lambda judged: -judged.judgement.confidence)
        for judged in tests:
            self._show_test(reporter, judged, wide=wide)

    def _show_test(
        self, reporter: pytest.TerminalReporter, judged: JudgedTest, *, wide: bool
    ) -> None:
        test, judgement = judged.test, judged.judgement
        colour = {"red": judgement.reproduces, "yellow": not judgement.reproduces}
        colour = colour if judgement.candidate else {}
        show(
            reporter,
            f"  {judgement.verdict:<8} {judgement.confidence:4.0%}  "
            f"{columns(judged) + '  ' if wide else ''}{test.name}  [{test.oracle.kind}]",
            **colour,
        )
        failure = judgement.runs[0].reason if judgement.runs else judgement.reason
        show(reporter, f"           {self._cut(failure)}")
        place = place_of(judgement.runs[0]) if judgement.runs else ""
        if place:
            show(reporter, f"           {self._cut(place)}")
        if failure != judgement.reason:
            show(reporter, f"           {self._cut(judgement.reason)}")

    def _cut(self, reason: str) -> str:
        line = " ".join(reason.split())
        return line if self.verbose or len(line) <= REASON else f"{line[: REASON - 1]}…"

    # -- ranks --------------------------------------------------------------------------

    def _show_ranks(self, reporter: pytest.TerminalReporter, record: RunRecord) -> None:
        titles = {issue.id: issue.source for issue in record.issues}
        missing = {found.issue: found for found in record.not_run}
        groups = {i: tuple(g) for i, g in groupby(record.ranks, key=lambda r: r.result.issue)}
        for issue in dict.fromkeys((*groups, *missing)):
            ranks = groups.get(issue, ())
            if len(record.issues) > 1:
                show(reporter, titles.get(issue, issue), bold=True)
            for line in table(ranks, cut=None if self.verbose else REASON) if ranks else ():
                show(reporter, f"  {line.text}", green=line.good)
            for text in unfinished(missing.get(issue)):
                show(reporter, f"  {text}", yellow=True)
            if not ranks:
                continue
            if has_verdict(ranks) or issue in missing:
                verdict = verdict_of(ranks, missing.get(issue))
                show(reporter, f"  {verdict}", bold=True)
            names = {judged.test.id: judged.test.name for judged in _candidates(record, issue)}
            asked = question(difference_of(ranks), names)
            for text in (*regressions(ranks), *untried(ranks), *exposures(ranks), *asked):
                show(reporter, f"  {text}")
            for text in reasons(ranks) if self.verbose else ():
                show(reporter, f"  {text}")
            self._show_selected(reporter, ranks)
            for text in _flips(ranks, _candidates(record, issue)):
                show(reporter, f"  {text}")

    def _show_selected(self, reporter: pytest.TerminalReporter, ranks: tuple[Rank, ...]) -> None:
        chosen: dict[str, tuple[Rank, ...]] = {}
        if self.options.top is not None:
            chosen[f"--brt-top {self.options.top}"] = top_k(ranks, self.options.top)
        if self.options.threshold is not None:
            option = f"--brt-threshold {self.options.threshold:g}"
            chosen[option] = at_least(ranks, self.options.threshold)
        for option, selected in chosen.items():
            names = ", ".join(with_harm(rank) for rank in selected) or "no patch"
            show(reporter, f"  selected by {option}: {names}")


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _candidates(record: RunRecord, issue: str) -> tuple[JudgedTest, ...]:
    made = (
        judged for attempt in record.attempts if attempt.issue == issue for judged in attempt.tests
    )
    return tuple(judged for judged in (*made, *record.given) if judged.judgement.candidate)


def _flips(ranks: tuple[Rank, ...], candidates: tuple[JudgedTest, ...]) -> Iterator[str]:
    """Say for each candidate which patches turn it green, and sum up."""
    plausible = 0
    for judged in candidates:
        green = [
            rank.result.patch.name
            for rank in ranks
            for cell in rank.result.cells
            if cell.test == judged.test.id and cell.verdict is Verdict.PASS
        ]
        plausible += bool(green)
        flipped = ", ".join(green) if green else "no patch"
        yield f"F→P {judged.test.name}: {flipped}"
    if candidates:
        yield (
            f"{_count(len(candidates), 'candidate')}, {plausible} plausible "
            f"(green on at least one patch)"
        )
    else:
        yield "no evidence: no test fails on the unpatched tree for the reported reason"


def _show_diff(reporter: pytest.TerminalReporter, edit: Edit) -> None:
    for line in edit.diff().splitlines():
        colour = {"green": line.startswith("+"), "red": line.startswith("-")}
        show(reporter, line, **colour)
