"""The whole of replay: read, run, draft, write, judge, choose."""

from __future__ import annotations

import ast
import re
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import PurePosixPath

from pytest_brt.codec import content_id
from pytest_brt.execute.engine import Engine, Row, TestTarget
from pytest_brt.issue.alike import is_steady, likeness
from pytest_brt.issue.read import complained
from pytest_brt.observe.reports import Reports
from pytest_brt.observe.watch import Replayed
from pytest_brt.oracle.assertion import literal
from pytest_brt.oracle.facts import Facts
from pytest_brt.oracle.judge import Rating, judge, refused, run_tests
from pytest_brt.oracle.rules.apply import apply_rules
from pytest_brt.oracle.rules.report_run import ReportRun
from pytest_brt.oracle.rules.settled import settled
from pytest_brt.oracle.write import Draft, module, script, slug
from pytest_brt.reproduce.replay.misses import misses_of
from pytest_brt.reproduce.replay.own import own_candidates
from pytest_brt.reproduce.select import select
from pytest_brt.reproduce.strategy import Workbench
from pytest_brt.syntax.parse import parse_expression, parses
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

#: Drafts that are run, best first, and those of what may be fixed.
_MOST, _MOST_SETTLED = 16, 3


def attempt(issue: Issue, index: int, bench: Workbench) -> Attempt:
    """Make one run of this strategy, with what `bench` has."""
    return replay(
        issue,
        engine=bench.engine,
        repeat=bench.repeat,
        keep=bench.keep,
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
    again = maker.second_chances(drafts, judged)
    if again:
        progress(f"trying {len(again)} tests in another way")
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
        drafts = sorted(settled(view), key=lambda draft: -draft.score)
        judged = self.judge(self.tests(drafts, _MOST_SETTLED))
        return tuple(item for item in judged if item.judgement.verdict is Verdict.PASS)

    def judge(self, tests: Sequence[_Written]) -> tuple[JudgedTest, ...]:
        """Run every test on the unpatched tree and judge it."""
        runs = run_tests([test for test, _ in tests], self.engine, self.repeat)
        return tuple(self._judged(test, draft, runs[test.id]) for test, draft in tests)

    def _judged(self, test: CandidateTest, draft: Draft, runs: tuple[TestRun, ...]) -> JudgedTest:
        facts = self._facts(draft.kind)
        rating = Rating(reasons=draft.reasons, evidence=draft.evidence)
        judged = judge(test, runs, facts, lambda _: rating)
        if draft.against and judged.judgement.candidate:
            return replace(judged, judgement=refused(Verdict.FAIL, draft.against, runs))
        return judged

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

    def second_chances(
        self, drafts: Sequence[Draft], judged: Sequence[JudgedTest]
    ) -> list[_Written]:
        """Return those that passed in another way: as tests see it, or after all statements."""
        passed = {
            (item.test.oracle.kind, item.test.oracle.sentence)
            for item in judged
            if not item.judgement.candidate
        }
        known = {_body(item.test.source) for item in judged}
        found: list[_Written] = []
        for draft in drafts:
            if (draft.kind, draft.docstring) not in passed or len(found) >= 5:
                continue
            if draft.index is None or draft.against:
                continue
            whole = replace(draft, whole=True, score=draft.score - 0.05)
            for other in (self._retold(draft), whole):
                test = self._test(other) if other else None
                if other and test and _body(test.source) not in known:
                    self.taken.add(test.name)
                    found.append((test, other))
                    break
        return found

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

    def _retold(self, draft: Draft) -> Draft | None:
        """Return the draft with the text that a test gets to see, None when it cannot be told."""
        if draft.index is None or draft.kind is not OracleKind.GONE:
            return None
        left = _left(draft.body[-1].removeprefix("assert "))
        if not (left.endswith(".out") or left.startswith(("str(", "repr(", "re.sub("))):
            return None
        lines = [line for line in draft.body[:-1] if not line.startswith("reported = ")]
        probe = replace(draft, body=(*lines, f"raise LookupError({left})"))
        source = module(probe, self.replayed, "test_probe")
        if source is None:
            return None
        path = self._path("test_brt_probe")
        target = TestTarget(id="probe", path=path, source=source, node="test_probe")
        runs = self.engine.run(Row(targets=(target,))).runs
        raised = runs[0].raised if runs else None
        if raised is None or raised.type != "LookupError" or not is_steady(raised.message):
            return None
        seen = self.replayed.seen[draft.index].did
        if left.endswith(".out") and seen and not likeness(raised.message, seen.stdout):
            return self._in_own_process(draft, lines[0], seen.stdout)
        constant = literal(raised.message)
        body = [*lines, f"assert {left} != {constant}"]
        if "\n" in constant:
            body = [f"reported = {constant}", *lines, f"assert {left} != reported"]
        return replace(
            draft,
            body=tuple(body),
            score=draft.score - 0.02,
            reasons=(*draft.reasons, "as this project's tests see it"),
        )

    def _in_own_process(self, draft: Draft, statement: str, seen: str) -> Draft | None:
        """Print in a process that no conftest has changed, as the report did."""
        text = script(replace(draft, body=(statement,), fixtures=()), self.replayed)
        if text is None:
            return None
        return replace(
            draft,
            body=(
                f"script = {literal(text)}",
                f"reported = {literal(seen)}",
                'command = [sys.executable, "-c", script]',
                'done = subprocess.run(command, capture_output=True, encoding="utf-8", check=True)',
                "assert done.stdout != reported",
            ),
            fixtures=(),
            imports=("import subprocess", "import sys"),
            score=draft.score - 0.02,
            reasons=(*draft.reasons, "in a process of its own, as the report shows it"),
        )


def _body(source: str | None) -> str:
    return re.sub(r"def test_\w+", "def test", source or "")


def _left(text: str) -> str:
    """Return the left side of a comparison for difference, "" for anything else."""
    node = parse_expression(text) if parses(text) else None
    if isinstance(node, ast.Compare) and len(node.ops) == 1 and isinstance(node.ops[0], ast.NotEq):
        return ast.get_source_segment(text, node.left) or ""
    return ""
