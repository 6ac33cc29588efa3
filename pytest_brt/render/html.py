"""A report as one HTML page: no script, and nothing loaded from elsewhere."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from markupsafe import Markup
from pygments import highlight  # type: ignore[import-untyped]  # comes with pytest, untyped
from pygments.formatters import HtmlFormatter  # type: ignore[import-untyped]
from pygments.lexers import PythonLexer  # type: ignore[import-untyped]

from pytest_brt.render.bug_report import marked_report
from pytest_brt.render.report import (
    Failure,
    IssueEntry,
    PatchEntry,
    Ranking,
    Report,
    TestEntry,
    candidates,
)
from pytest_brt.render.table import origin_words, place_words
from pytest_brt.render.template import coded, filled
from pytest_brt.render.words import count
from pytest_brt.types import Review, Verdict
from pytest_brt.types.answer import Reproduced

_TEMPLATE = Path(__file__).parent / "page.html.jinja"
#: Existing tests, of those that patches break, that have a column of their own.
_COLUMNS = 12


def html(report: Report) -> str:
    """Return the page."""
    sections = [
        Section(issue=issue, ranking=ranking, all_tests=report.tests_of(_id(issue, ranking)))
        for issue, ranking in report.sections()
    ]
    title = report.issues[0].title if len(report.issues) == 1 else "Bug reproduction tests"
    return filled(
        _TEMPLATE,
        title=title,
        sections=sections,
        facts=report.setting.facts,
        begun=begun,
        coded=coded,
        evidence=evidence,
        failure=failure_text,
        highlighted=highlighted,
        line_kind=line_kind,
        origin=origin_words,
        full_name=full_name,
        place=place_words,
    )


def _id(issue: IssueEntry | None, ranking: Ranking | None) -> str:
    if issue is not None:
        return issue.id
    return ranking.issue if ranking is not None else ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark:
    """What stands in the matrix for a test on a patch."""

    #: Class of its colours.
    kind: str
    glyph: str
    #: What it means, said aloud and below a pointer.
    words: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """A report and its ranking, as far as there are both."""

    issue: IssueEntry | None
    ranking: Ranking | None
    #: Those by which patches may be ranked.
    all_tests: Sequence[TestEntry]

    @property
    def is_reproduced(self) -> bool:
        """Whether it may be said that the report was reproduced."""
        return self.issue is not None and isinstance(self.issue.answer, Reproduced)

    @property
    def tests(self) -> tuple[TestEntry, ...]:
        """The bug tests, in the order of their columns."""
        return candidates(self.all_tests)

    @property
    def rejected(self) -> list[str]:
        """Names of the tests that a person rejected."""
        return [full_name(test) for test in self.all_tests if test.review is Review.REJECTED]

    @property
    def patches(self) -> tuple[PatchEntry, ...]:
        """The patches, best first."""
        return self.ranking.patches if self.ranking else ()

    @property
    def broken(self) -> list[str]:
        """The existing tests that some patch breaks, as many as have room."""
        broken = (outcome.test for patch in self.patches for outcome in patch.broken)
        return list(dict.fromkeys(broken))[:_COLUMNS]

    @property
    def leaders(self) -> list[PatchEntry]:
        """The two patches at the top that are not the same patch; none where there is one."""
        tried = [patch for patch in self.patches if patch.epr is not None]
        others = [patch for patch in tried[1:] if patch.name not in tried[0].copies]
        return [tried[0], others[0]] if others else []

    @property
    def groups(self) -> list[list[PatchEntry]]:
        """The patches that pass the same tests, where there are several."""
        groups: dict[int, list[PatchEntry]] = {}
        for patch in self.patches:
            if patch.group:
                groups.setdefault(patch.group, []).append(patch)
        return [group for group in groups.values() if len(group) > 1]

    @property
    def report(self) -> Markup:
        """The text of the report, with what sure bug tests rest on marked."""
        assert self.issue is not None, "asked for where there is one"
        return marked_report(self.issue.text, self.quotes)

    @property
    def quotes(self) -> list[str]:
        """What sure bug tests quote of the report."""
        return [test.quote for test in self.tests if test.counts and test.quote]

    def marks(self, patch: PatchEntry) -> Iterator[tuple[str, Mark]]:
        """Yield the name of each column of bug tests, and what stands there for a patch."""
        for number, test in enumerate(self.tests, start=1):
            yield f"T{number}", _mark(patch, test)

    def broken_marks(self, patch: PatchEntry) -> Iterator[tuple[str, Mark]]:
        """Yield the same of each existing test that some patch breaks."""
        reasons = {outcome.test: outcome.reason for outcome in patch.broken}
        for number, test in enumerate(self.broken, start=1):
            if test in reasons:
                mark = Mark(kind="fail", glyph="✗", words=f"breaks {test}: {reasons[test]}")
            else:
                mark = Mark(kind="none", glyph="·", words=f"does not break {test}, or did not run")
            yield f"E{number}", mark

    def outcomes(self, test: TestEntry) -> Iterator[tuple[str, str]]:
        """Yield each patch on which a bug test ran, with what it did."""
        for patch in self.patches:
            for cell in patch.cells:
                if cell.test == test.id:
                    yield patch.name, "passes" if cell.verdict is Verdict.PASS else cell.reason


def _mark(patch: PatchEntry, test: TestEntry) -> Mark:
    name = full_name(test)
    if any(cell.test == test.id for cell in patch.own_cells):
        return Mark(kind="none", glyph="○", words=f"{name} came with it")
    for cell in patch.cells:
        if cell.test == test.id and cell.verdict is not Verdict.INVALID:
            kinds = {Verdict.PASS: ("pass", "✓"), Verdict.FAIL: ("fail", "✗")}
            kind, glyph = kinds.get(cell.verdict, ("other", "!"))
            return Mark(kind=kind, glyph=glyph, words=f"{name}: {cell.verdict} {cell.reason}")
    return Mark(kind="none", glyph="·", words=f"{name} did not run")


def full_name(test: TestEntry) -> str:
    """Return a test's name, with its file where the project holds that."""
    return test.name if test.source else f"{test.file}::{test.name}"


def begun(sentence: str, headline: str) -> Markup:
    """Return a verdict with only its first words set off."""
    return Markup("<strong>{}</strong>{}").format(headline, coded(sentence.removeprefix(headline)))


def evidence(patch: PatchEntry) -> str:
    """Return how many tests a patch is judged by: "2 bug tests, 14 of 53 existing tests"."""
    bug_tests = count(patch.total, "bug test")
    if patch.existing is None:
        return f"{bug_tests}, no existing test"
    return f"{bug_tests}, {patch.existing.ran} of {patch.existing.total} existing tests"


def highlighted(source: str) -> Markup:
    """Return Python code in colours."""
    formatter = HtmlFormatter(nowrap=True, classprefix="py-")
    return Markup(highlight(source, PythonLexer(stripnl=False), formatter))  # it escapes the text


def line_kind(line: str) -> str:
    """Return what a line of a diff is: added, removed or neither."""
    if line.startswith("+") and not line.startswith("+++"):
        return "add"
    return "del" if line.startswith("-") and not line.startswith("---") else "ctx"


def failure_text(failure: Failure) -> str:
    """Return what a test failed with, and where, outermost frame first."""
    if failure.raised is None:
        return failure.reason
    frames = [
        f"{frame.path}:{frame.line} in {frame.function}" + ("  (project)" if frame.project else "")
        for frame in failure.raised.frames
    ]
    values = [f"    {name} = {value}" for name, value in failure.raised.values]
    return "\n".join([*frames, *values, f"{failure.raised.type}: {failure.raised.message}"])
