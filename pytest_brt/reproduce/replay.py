"""The whole of replay: read, run, ask the oracles, write tests, judge them, order them."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import PurePosixPath

from pytest_brt.codec import content_id
from pytest_brt.edit.source_text import slug
from pytest_brt.observe.run_snippets import ObservedReport, Reports
from pytest_brt.oracle.draft import Draft
from pytest_brt.oracle.judge import Rating, judge, run_tests
from pytest_brt.oracle.oracles import already_right, ask_oracles
from pytest_brt.oracle.report_facts import ReportFacts, read_facts
from pytest_brt.oracle.write_test import complete_test, write_test
from pytest_brt.render.words import count
from pytest_brt.reproduce.order import select
from pytest_brt.reproduce.strategy import KEEP, Workbench
from pytest_brt.reproduce.why_not import why_not
from pytest_brt.sandbox.run_tests import Runner
from pytest_brt.types import (
    Attempt,
    CandidateTest,
    Evidence,
    Issue,
    JudgedTest,
    Note,
    Oracle,
    OracleKind,
    Origin,
    TestRun,
    Verdict,
)

#: Drafts that are run, those that are run once more, and those of what may be fixed.
_MOST, _MOST_AGAIN, _MOST_RIGHT = 16, 5, 3
#: What a test lacks that only wants an exception gone.
_OPEN = "it accepts any result: say what it should return"


def attempt(issue: Issue, index: int, bench: Workbench) -> Attempt:
    """Make one run of this strategy, with what `bench` has."""
    return replay(
        issue,
        engine=bench.engine,
        repeat=bench.repeat,
        keep=KEEP,
        index=index,
        progress=bench.say,
        reports=bench.reports,
    )


def replay(
    issue: Issue,
    *,
    engine: Runner,
    repeat: int = 2,
    keep: int | None = None,
    index: int = 0,
    progress: Callable[[str], None] = lambda _: None,
    reports: Reports | None = None,
) -> Attempt:
    """Make failing tests from what `issue` shows, running everything through `engine`.

    The attempt holds every test that was considered, best first, and, when none fails for
    the reported reason, why. Of the candidates `keep` are kept, None for all; `repeat` runs on the
    unpatched tree must agree; `index` is the number of the run, from 0, in the attempt's record;
    `progress` is told what happens, a line at a time; `reports` has what was read and seen of the
    report before.

    Raises:
        SubjectProblem: the subject's interpreter cannot be started at all.
    """
    begin = time.monotonic()
    reports = reports or Reports()
    progress(f"running {len(reports.reading(issue).statements)} statements of the report")
    observed = reports.observed(issue, engine)
    drafts = ask_oracles(observed)
    maker = _Maker(observed=observed, engine=engine, repeat=repeat)
    judged = maker.judge_all(drafts, progress)
    notes: tuple[Note, ...] = ()
    if judged and all(item.judgement.verdict is Verdict.BROKEN for item in judged):
        # Among the project's own tests their conftest.py may need what is not installed.
        top = _Maker(observed=observed, engine=engine, repeat=repeat, folder=".")
        moved = top.judge_all(drafts, progress)
        if any(item.judgement.verdict is not Verdict.BROKEN for item in moved):
            notes = (_put_at_top(engine.subject.test_root, judged[0].judgement.runs[0]),)
            maker, judged = top, moved
    if not any(item.judgement.candidate for item in judged):
        # The set-up may be in statements that no name leads to.
        whole = [replace(draft, whole=True) for draft in drafts if draft.index is not None]
        judged = (*judged, *maker.judge(maker.tests(whole, _MOST_AGAIN)))
    kept = select(judged, keep)
    is_found = any(item.judgement.candidate for item in kept)
    return Attempt(
        issue=issue.id,
        strategy="replay",
        index=index,
        tests=kept,
        misses=why_not(observed, kept),
        notes=notes,
        settled=() if is_found else maker.passing(already_right(observed)),
        seconds=time.monotonic() - begin,
    )


def _put_at_top(folder: str, run: TestRun) -> Note:
    """Say why tests are not among the project's own."""
    text = run.cause.text
    is_plain = "conftest" in text
    reason = text if is_plain else f"no test can be run in {folder!r} ({text})"
    return Note(code="put-at-top", text=f"placed in the project root, because {reason}")


#: A test, and the evidence that it rests on.
_Written = tuple[CandidateTest, Evidence]


@dataclass(slots=True, kw_only=True)
class _Maker:
    """Makes tests for one report, and judges them."""

    observed: ObservedReport
    engine: Runner
    #: Runs on the unpatched tree that must agree.
    repeat: int
    #: Where the tests are put; "" is where the project has its own.
    folder: str = ""
    #: Names of the tests so far, and what they are but for their names.
    names: set[str] = field(default_factory=set)
    bodies: set[str] = field(default_factory=set)

    @property
    def issue(self) -> Issue:
        """The report."""
        return self.observed.reading.issue

    @property
    def facts(self) -> ReportFacts:
        """What the report says of its failure."""
        return read_facts(self.observed.reading)

    def judge_all(
        self, drafts: Sequence[Draft], progress: Callable[[str], None]
    ) -> tuple[JudgedTest, ...]:
        """Judge the reporter's tests and those of the best drafts."""
        tests = [*self.reporters_tests(), *self.tests(drafts, _MOST)]
        progress(f"trying {count(len(tests), 'test')} on the unpatched tree")
        return self.judge(tests)

    def reporters_tests(self) -> Iterator[_Written]:
        """Yield the tests that the report brings, but for those with names that nothing has."""
        for own in self.observed.reading.tests:
            source = complete_test(own, self.observed.imports)
            if source is not None:
                stem = own.name.rpartition("::")[2].removeprefix("test").strip("_").lower()
                file = f"test_{slug(self.issue.title)}_{stem}"
                oracle = Oracle(kind=OracleKind.WRITTEN, sentence="The report brings this test.")
                yield self._test(own.name, file, source, oracle), Evidence.OWN_TEST

    def tests(self, drafts: Iterator[Draft] | Sequence[Draft], most: int) -> list[_Written]:
        """Return the best drafts as tests, each once."""
        written: list[_Written] = []
        for draft in drafts:
            name = self._free_name()
            source = write_test(draft, self.observed, name)
            body = re.sub(r"def test_\w+", "def test", source or "")
            if source is None or body in self.bodies or len(written) == most:
                continue
            self.names.add(name)
            self.bodies.add(body)
            oracle = Oracle(kind=draft.kind, sentence=draft.docstring, quote=draft.quote)
            test = self._test(name, name, source, oracle)
            written.append((replace(test, expects=draft.expects), draft.evidence))
        return written

    def judge(self, tests: Sequence[_Written]) -> tuple[JudgedTest, ...]:
        """Run tests on the unpatched tree and judge them."""
        runs = run_tests([test for test, _ in tests], self.engine, self.repeat)
        judged = []
        for test, evidence in tests:
            is_open = test.oracle.kind is OracleKind.NO_RAISE
            rating = Rating(evidence=evidence, reasons=(_OPEN,) if is_open else ())
            judged.append(judge(test, runs[test.id], self.facts, rating))
        return tuple(judged)

    def passing(self, drafts: Iterator[Draft]) -> tuple[JudgedTest, ...]:
        """Return the tests of drafts that pass here."""
        judged = self.judge(self.tests(drafts, _MOST_RIGHT))
        return tuple(item for item in judged if item.judgement.verdict is Verdict.PASS)

    def _test(self, name: str, file: str, source: str, oracle: Oracle) -> CandidateTest:
        folder = PurePosixPath(self.folder or self.engine.subject.test_root)
        path = (folder / f"{file}.py").as_posix()
        return CandidateTest(
            id=content_id(self.issue.id, path, source, name),
            name=name,
            issue=self.issue.id,
            origin=Origin(strategy="replay"),
            oracle=oracle,
            path=path,
            source=source,
        )

    def _free_name(self) -> str:
        stem = f"test_{slug(self.issue.title)}"
        name, number = stem, 2
        while name in self.names:
            name, number = f"{stem}_{number}", number + 1
        return name
