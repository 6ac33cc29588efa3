"""The whole of replay: read, run, ask the oracles, write tests, judge them, order them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import chain, islice
from pathlib import PurePosixPath

from pytest_brt.codec import content_id
from pytest_brt.edit.source_text import slug
from pytest_brt.observe.run_snippets import ObservedReport
from pytest_brt.oracle.draft import Draft
from pytest_brt.oracle.judge import judge, run_tests
from pytest_brt.oracle.oracles import already_right, ask_oracles
from pytest_brt.oracle.write_test import complete_test, write_test
from pytest_brt.reproduce.order import select
from pytest_brt.reproduce.strategy import REPEAT, Workbench
from pytest_brt.reproduce.why_not import why_not
from pytest_brt.types import (
    Attempt,
    CandidateTest,
    Evidence,
    Issue,
    JudgedTest,
    Note,
    Oracle,
    Origin,
    Raised,
    Verdict,
)

#: Tests that are run at once.
_MOST = 16


def attempt(issue: Issue, index: int, bench: Workbench) -> Attempt:
    """Make failing tests from what `issue` shows.

    The attempt holds every test that was considered, best first, and, when none fails for
    the reported reason, why.

    Raises:
        SubjectProblem: the subject's interpreter cannot be started at all.
    """
    bench.say(f"running {len(bench.facts(issue).statements)} statements of the report")
    observed = bench.observed(issue)
    drafts = ask_oracles(observed)
    bench.say("trying the tests of the report on the unpatched tree")
    maker = _Maker(observed, bench, bench.engine.subject.test_root)
    judged = maker.judge(chain(maker.reporters_tests(), maker.tests(drafts)))
    notes: tuple[Note, ...] = ()
    if judged and _all_broken(judged):
        # Among the project's own tests their conftest.py may need what is not installed.
        maker = _Maker(observed, bench, ".")
        moved = maker.judge(chain(maker.reporters_tests(), maker.tests(drafts)))
        if not _all_broken(moved):
            text = f"placed in the project root, because {judged[0].judgement.runs[0].cause.text}"
            judged, notes = moved, (Note(code="put-at-top", text=text),)
    if not any(item.judgement.candidate for item in judged):
        # The set-up may be in statements that no name leads to.
        whole = [replace(draft, whole=True) for draft in drafts]
        judged += maker.judge(maker.tests(whole))
    settled: list[JudgedTest] = []
    if not any(item.judgement.candidate for item in judged):
        settled = maker.judge(maker.tests(already_right(observed)))
    passing = tuple(one for one in settled if one.judgement.verdict is Verdict.PASS)
    kept = select(judged)
    return Attempt(
        issue=issue.id,
        strategy="replay",
        index=index,
        tests=kept,
        # Of a bug that is fixed, nothing in the report is unclear.
        notes=(*(() if passing else why_not(observed, kept)), *notes),
        settled=passing,
    )


def _all_broken(judged: Iterable[JudgedTest]) -> bool:
    return all(item.judgement.verdict is Verdict.BROKEN for item in judged)


#: A test, before it has its place, and what it rests on.
_Made = tuple[CandidateTest, Evidence]


class _Maker:
    """Makes tests for one report, and judges them."""

    def __init__(self, observed: ObservedReport, bench: Workbench, folder: str) -> None:
        self.observed, self.bench = observed, bench
        #: Where the tests are put.
        self.folder = folder
        self.stem = f"test_{slug(observed.reading.issue.title)}"
        #: Tests so far, but for their names.
        self.bodies: set[str] = set()

    def reporters_tests(self) -> Iterator[_Made]:
        """Yield the tests that the report brings, but for those with names that nothing has."""
        for own in self.observed.reading.tests:
            if source := complete_test(own, self.observed.imports):
                file = f"{self.stem}_{own.name.rpartition('::')[2]}.py"
                yield self._test(own.name, file, source, Oracle()), Evidence.OWN_TEST

    def tests(self, drafts: Iterable[Draft]) -> Iterator[_Made]:
        """Yield the best drafts as tests, each once."""
        for draft in drafts:
            number = len(self.bodies) + 1
            name = f"{self.stem}_{number}" if number > 1 else self.stem
            source = write_test(draft, self.observed, name) or ""
            body = source.replace(f"def {name}(", "def test(")
            if source and body not in self.bodies:
                self.bodies.add(body)
                oracle = Oracle(kind=draft.kind, sentence=draft.sentence)
                test = self._test(name, f"{name}.py", source, oracle, draft.expects)
                yield test, draft.evidence

    def _test(
        self,
        name: str,
        file: str,
        source: str,
        oracle: Oracle,
        expects: Raised | None = None,
    ) -> CandidateTest:
        issue, path = (
            self.observed.reading.issue.id,
            PurePosixPath(self.folder, file).as_posix(),
        )
        return CandidateTest(
            id=content_id(issue, path, source, name),
            name=name,
            issue=issue,
            origin=Origin(strategy="replay"),
            oracle=oracle,
            path=path,
            source=source,
            expects=expects,
        )

    def judge(self, made: Iterable[_Made]) -> list[JudgedTest]:
        """Run tests on the unpatched tree and judge them."""
        made = [*islice(made, _MOST)]
        runs = run_tests([test for test, _ in made], self.bench.engine, REPEAT)
        judged = []
        for test, evidence in made:
            reading = self.observed.reading
            judged.append(judge(test, runs[test.id], reading, evidence=evidence))
        return judged
