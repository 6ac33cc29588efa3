"""The whole of replay: read, run, ask the oracles, write tests, judge them, order them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import PurePosixPath

from pytest_brt.codec import content_id
from pytest_brt.edit.source_text import slug
from pytest_brt.observe.run_snippets import ObservedReport, Reports
from pytest_brt.oracle.draft import Draft
from pytest_brt.oracle.judge import Rating, judge, run_tests
from pytest_brt.oracle.oracles import already_right, ask_oracles
from pytest_brt.oracle.report_facts import read_facts
from pytest_brt.oracle.write_test import complete_test, write_test
from pytest_brt.reproduce.order import select
from pytest_brt.reproduce.strategy import KEEP, REPEAT, Workbench
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
    Verdict,
)

#: Drafts that are run, those that are run once more, and those of what may be fixed.
_MOST, _MOST_AGAIN, _MOST_RIGHT = 16, 5, 3
#: What a test lacks that only wants an exception gone.
_OPEN = "it accepts any result: say what it should return"


def attempt(issue: Issue, index: int, bench: Workbench) -> Attempt:
    """Make one run of this strategy, with what `bench` has."""
    made = replay(issue, engine=bench.engine, say=bench.say, reports=bench.reports)
    return replace(made, index=index)


def replay(
    issue: Issue,
    *,
    engine: Runner,
    say: Callable[[str], None] = lambda _: None,
    reports: Reports | None = None,
) -> Attempt:
    """Make failing tests from what `issue` shows, running everything through `engine`.

    The attempt holds every test that was considered, best first, and, when none fails for
    the reported reason, why. `say` is told what happens, a line at a time; `reports` has what was
    read and seen of the report before.

    Raises:
        SubjectProblem: the subject's interpreter cannot be started at all.
    """
    reports = reports or Reports()
    say(f"running {len(reports.reading(issue).statements)} statements of the report")
    observed = reports.observed(issue, engine)
    drafts = ask_oracles(observed)
    say("trying the tests of the report on the unpatched tree")
    maker = _Maker(observed, engine, engine.subject.test_root)
    judged, notes = maker.judge_all(drafts), tuple[Note, ...]()
    if judged and _all_broken(judged):
        # Among the project's own tests their conftest.py may need what is not installed.
        top = _Maker(observed, engine, ".")
        moved = top.judge_all(drafts)
        if not _all_broken(moved):
            reason = judged[0].judgement.runs[0].cause.text
            text = f"placed in the project root, because {reason}"
            maker, judged, notes = top, moved, (Note(code="put-at-top", text=text),)
    if not any(item.judgement.candidate for item in judged):
        # The set-up may be in statements that no name leads to.
        whole = [replace(draft, whole=True) for draft in drafts if draft.index is not None]
        judged += maker.judge(maker.tests(whole, _MOST_AGAIN))
    kept = select(judged, KEEP)
    settled: list[JudgedTest] = []
    if not any(item.judgement.candidate for item in kept):
        settled = maker.judge(maker.tests(already_right(observed), _MOST_RIGHT))
    return Attempt(
        issue=issue.id,
        strategy="replay",
        index=0,
        tests=kept,
        misses=why_not(observed, kept),
        notes=notes,
        settled=tuple(one for one in settled if one.judgement.verdict is Verdict.PASS),
    )


def _all_broken(judged: Iterable[JudgedTest]) -> bool:
    return all(item.judgement.verdict is Verdict.BROKEN for item in judged)


class _Maker:
    """Makes tests for one report, to be put into one folder, and judges them."""

    def __init__(self, observed: ObservedReport, engine: Runner, folder: str) -> None:
        self.observed, self.engine, self.folder = observed, engine, folder
        self.issue = observed.reading.issue
        self.stem = f"test_{slug(self.issue.title)}"
        #: Tests so far, but for their names.
        self.bodies: set[str] = set()
        #: What each test rests on, by its id.
        self.evidence: dict[str, Evidence] = {}

    def judge_all(self, drafts: Iterable[Draft]) -> list[JudgedTest]:
        """Judge the reporter's tests and those of the best drafts."""
        return self.judge([*self.reporters_tests(), *self.tests(drafts, _MOST)])

    def reporters_tests(self) -> Iterator[CandidateTest]:
        """Yield the tests that the report brings, but for those with names that nothing has."""
        oracle = Oracle(kind=OracleKind.WRITTEN, sentence="The report brings this test.")
        for own in self.observed.reading.tests:
            if source := complete_test(own, self.observed.imports):
                end = own.name.rpartition("::")[2].removeprefix("test").strip("_").lower()
                yield self._test(own.name, f"{self.stem}_{end}", source, oracle, Evidence.OWN_TEST)

    def tests(self, drafts: Iterable[Draft], most: int) -> list[CandidateTest]:
        """Return the best drafts as tests, each once."""
        tests: list[CandidateTest] = []
        for draft in drafts:
            number = len(self.bodies) + 1
            name = f"{self.stem}_{number}" if number > 1 else self.stem
            source = write_test(draft, self.observed, name) or ""
            body = re.sub(r"def test_\w+", "def test", source)
            if source and body not in self.bodies and len(tests) < most:
                self.bodies.add(body)
                oracle = Oracle(kind=draft.kind, sentence=draft.docstring)
                test = self._test(name, name, source, oracle, draft.evidence)
                tests.append(replace(test, expects=draft.expects))
        return tests

    def judge(self, tests: Sequence[CandidateTest]) -> list[JudgedTest]:
        """Run tests on the unpatched tree and judge them."""
        runs = run_tests(tests, self.engine, REPEAT)
        facts = read_facts(self.observed.reading)
        judged = []
        for test in tests:
            reasons = (_OPEN,) if test.oracle.kind is OracleKind.NO_RAISE else ()
            rating = Rating(evidence=self.evidence[test.id], reasons=reasons)
            judged.append(judge(test, runs[test.id], facts, rating))
        return judged

    def _test(
        self, name: str, file: str, source: str, oracle: Oracle, evidence: Evidence
    ) -> CandidateTest:
        path = PurePosixPath(self.folder, f"{file}.py").as_posix()
        id_ = content_id(self.issue.id, path, source, name)
        self.evidence[id_] = evidence
        return CandidateTest(
            id=id_,
            name=name,
            issue=self.issue.id,
            origin=Origin(strategy="replay"),
            oracle=oracle,
            path=path,
            source=source,
        )
