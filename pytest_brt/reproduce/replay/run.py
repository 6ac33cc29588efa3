"""The whole of replay: read, run, draft, write, judge, choose."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import PurePosixPath

from pytest_brt.codec import content_id
from pytest_brt.edit.source_text import slug
from pytest_brt.execute.engine import Engine
from pytest_brt.issue.read import complained
from pytest_brt.observe.reports import Reports
from pytest_brt.observe.watch import Replayed
from pytest_brt.oracle.facts import Facts
from pytest_brt.oracle.judge import Rating, judge, run_tests
from pytest_brt.oracle.rules.apply import apply_rules
from pytest_brt.oracle.rules.report_run import ReportRun
from pytest_brt.oracle.rules.settled import settled
from pytest_brt.oracle.write import Draft, module
from pytest_brt.reproduce.replay.misses import misses_of
from pytest_brt.reproduce.replay.own import own_candidates
from pytest_brt.reproduce.select import select
from pytest_brt.reproduce.strategy import KEEP, Workbench
from pytest_brt.types import (
    Attempt,
    AttemptNote,
    CandidateTest,
    Evidence,
    Issue,
    JudgedTest,
    Oracle,
    OracleKind,
    Origin,
    TestRun,
    Verdict,
)

#: Drafts that are run, best first; those that are run once more; those of what may be fixed.
_MOST, _MOST_AGAIN, _MOST_SETTLED = 16, 5, 3


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
    engine: Engine,
    repeat: int = 2,
    keep: int | None = None,
    index: int = 0,
    progress: Callable[[str], None] = lambda _: None,
    reports: Reports | None = None,
) -> Attempt:
    """Make failing tests from what `issue` shows, running everything through `engine`.

    The attempt holds every test that was considered, best first, and, when none fails for
    the reported reason, what was looked for, found, and is missing. Of the candidates
    `keep` are kept, None for all; `repeat` runs on the buggy tree must agree; `index` is the number
    of the run, from 0, in the attempt's record; `progress` is told what happens, a line at a time;
    `reports` has what was read and seen of the report before.

    Raises:
        SubjectProblem: the subject's interpreter cannot be started at all.
    """
    begin = time.monotonic()
    reports = reports or Reports()
    reading = reports.reading(issue)
    progress(f"running {len(reading.steps)} statements of the report")
    replayed = reports.observed(issue, engine)
    view = ReportRun(replayed=replayed)
    drafts = apply_rules(view)
    usual = engine.subject.test_root
    maker = _Maker(issue=issue, replayed=replayed, engine=engine, repeat=repeat, folder=usual)
    judged = maker.judge_all(drafts, progress)
    notes: tuple[AttemptNote, ...] = ()
    if judged and all(item.judgement.verdict is Verdict.BROKEN for item in judged):
        folder = reports.folder(engine)
        if folder.note:
            progress("none of them works there: moving them to the top of the project")
            maker = replace(maker, folder=folder.path, taken=set())
            judged, notes = maker.judge_all(drafts, progress), (folder.note,)
    if not any(item.judgement.candidate for item in judged):
        again = maker.with_whole_set_up(drafts, judged)
        if again:
            progress(f"trying {len(again)} tests after all statements")
        judged = (*judged, *maker.judge(again))
    kept = select(judged, keep)
    found = any(item.judgement.candidate for item in kept)
    return Attempt(
        issue=issue.id,
        strategy="replay",
        index=index,
        tests=kept,
        misses=misses_of(view, kept),
        notes=notes,
        settled=() if found else maker.settled(view),
        seconds=time.monotonic() - begin,
    )


#: A test, and the draft that it was written after.
_Written = tuple[CandidateTest, Draft]


@dataclass(slots=True, kw_only=True)
class _Maker:
    """Makes tests of the drafts for one report."""

    issue: Issue
    replayed: Replayed
    engine: Engine
    #: Runs on the buggy tree that must agree.
    repeat: int
    #: Where the tests are put; "." is the top of the project.
    folder: str
    #: Names of the tests so far.
    taken: set[str] = field(default_factory=set)

    def judge_all(
        self, drafts: Sequence[Draft], progress: Callable[[str], None]
    ) -> tuple[JudgedTest, ...]:
        """Run the reporter's tests and those of the best drafts on the unpatched tree."""
        own = tuple(own_candidates(self.replayed, self.folder, slug(self.issue.title)))
        tests = self.tests(drafts)
        progress(f"trying {len(own) + len(tests)} tests on the unpatched tree")
        return (*self._judge_own(own), *self.judge(tests))

    def _judge_own(self, tests: Sequence[CandidateTest]) -> tuple[JudgedTest, ...]:
        """Judge the reporter's tests by their runs on the unpatched tree."""
        runs = run_tests(tests, self.engine, self.repeat)
        facts = self._facts(OracleKind.WRITTEN)
        rating = Rating(evidence=Evidence.OWN_TEST)
        return tuple(judge(test, runs[test.id], facts, lambda _: rating) for test in tests)

    def tests(self, drafts: Sequence[Draft], most: int = _MOST) -> list[_Written]:
        """Return the best drafts as tests, each once."""
        found: dict[str, _Written] = {}
        for draft in drafts:
            test = self._test(draft) if len(found) < most else None
            if test is not None and test.id not in found:
                self.taken.add(test.name)
                found[test.id] = (test, draft)
        return list(found.values())

    def settled(self, view: ReportRun) -> tuple[JudgedTest, ...]:
        """Return tests that pass because the report's complaint does not hold here."""
        drafts = sorted(settled(view), key=lambda draft: -draft.signs)
        judged = self.judge(self.tests(drafts, _MOST_SETTLED))
        return tuple(item for item in judged if item.judgement.verdict is Verdict.PASS)

    def judge(self, tests: Sequence[_Written]) -> tuple[JudgedTest, ...]:
        """Run every test on the unpatched tree and judge it."""
        runs = run_tests([test for test, _ in tests], self.engine, self.repeat)
        return tuple(self._judged(test, draft, runs[test.id]) for test, draft in tests)

    def _judged(self, test: CandidateTest, draft: Draft, runs: tuple[TestRun, ...]) -> JudgedTest:
        facts = self._facts(draft.kind)
        rating = Rating(evidence=draft.evidence)
        return judge(test, runs, facts, lambda _: rating)

    def _facts(self, kind: OracleKind) -> Facts:
        """Return what a test of a kind must not demand, of what the report complains about."""
        wrong, raised = complained(seen.step for seen in self.replayed.seen)
        return Facts(
            text=self.issue.text,
            crash=False,
            context="",
            wrong=wrong if kind in (OracleKind.EQUALS, OracleKind.WRITTEN) else (),
            raised=raised if kind in (OracleKind.MUST_RAISE, OracleKind.WRITTEN) else (),
        )

    def with_whole_set_up(
        self, drafts: Sequence[Draft], judged: Sequence[JudgedTest]
    ) -> list[_Written]:
        """Return the tests with every earlier statement as their set-up, as far as that is more."""
        known = {_body(item.test.source) for item in judged}
        whole = [replace(draft, whole=True) for draft in drafts if draft.index is not None]
        again = self.tests(whole, _MOST_AGAIN)
        return [(test, draft) for test, draft in again if _body(test.source) not in known]

    def _test(self, draft: Draft) -> CandidateTest | None:
        name = self._name()
        source = module(draft, self.replayed, name)
        if source is None:
            return None
        path = self._path(name)
        return CandidateTest(
            id=content_id(self.issue.id, path, source),
            name=name,
            issue=self.issue.id,
            origin=Origin(strategy="replay"),
            oracle=Oracle(kind=draft.kind, sentence=draft.docstring, quote=draft.quote),
            path=path,
            source=source,
            expects=draft.expects,
        )

    def _path(self, name: str) -> str:
        return (PurePosixPath(self.folder) / f"{name}.py").as_posix()

    def _name(self) -> str:
        stem = f"test_{slug(self.issue.title)}"
        name, number = stem, 2
        while name in self.taken:
            name, number = f"{stem}_{number}", number + 1
        return name


def _body(source: str | None) -> str:
    return re.sub(r"def test_\w+", "def test", source or "")
