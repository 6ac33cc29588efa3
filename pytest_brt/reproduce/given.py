"""Tests that a person wrote, or an earlier run: found in their files, and judged."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from pytest_brt.code.marks import marked_tests, unmark
from pytest_brt.codec import content_id
from pytest_brt.errors import EditProblem, UsageProblem
from pytest_brt.execute.engine import Engine
from pytest_brt.execute.row import Row, RowResult, TestTarget
from pytest_brt.types import (
    CandidateTest,
    JudgedTest,
    Judgement,
    Oracle,
    OracleKind,
    Origin,
    TestRun,
    Verdict,
)


def load_targets(paths: Iterable[str], root: Path, test_root: str) -> tuple[TestTarget, ...]:
    """Return the test files at `paths` (files, or folders of test_*.py) as targets.

    A file outside the project is placed in its `test_root` under its own name. Strict xfail marks
    are taken off: such a test waits for its fix, and whoever gives it wants to know what it does.

    Raises:
        UsageProblem: a path does not exist, cannot be read as text, or holds no test file.
    """
    targets: list[TestTarget] = []
    for path in paths:
        given = Path(path)
        if not given.exists():
            raise UsageProblem(f"--brt-tests: no such file: {path!r}")
        files = sorted(given.rglob("test_*.py")) if given.is_dir() else [given]
        if not files:
            raise UsageProblem(f"--brt-tests: no test_*.py file in {path!r}")
        targets.extend(_target(file, root, test_root) for file in files)
    return tuple(targets)


def _target(file: Path, root: Path, test_root: str) -> TestTarget:
    try:
        source = file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageProblem(f"--brt-tests: cannot read {str(file)!r}: {error}") from error
    resolved = file.resolve()
    if resolved.is_relative_to(root):
        place = resolved.relative_to(root).as_posix()
    else:
        place = (Path(test_root) / file.name).as_posix()
    source = _without_marks(place, source)
    return TestTarget(id=content_id(place, source), path=place, source=source)


def _without_marks(path: str, source: str) -> str:
    """Return the text without the strict xfail marks of its tests; as it is where it is broken."""
    data = source.encode()
    try:
        for node in marked_tests(path, data):
            data = unmark(path, data, node)
    except EditProblem:  # running it says what is wrong with it
        return source
    return data.decode() if data != source.encode() else source


def judge_given(
    targets: tuple[TestTarget, ...], engine: Engine, repeat: int
) -> tuple[JudgedTest, ...]:
    """Run the files on the unpatched tree and return each test found in them, judged.

    A candidate fails every time; what it fails of is the business of who wrote it.
    """
    rows = [engine.run(Row(targets=targets, hash_seed=seed)) for seed in range(repeat)]
    by_id = {target.id: target for target in targets}
    first = rows[0]
    return tuple(_judged(by_id[run.test], run, _same_node(run, rows)) for run in first.runs)


def _same_node(run: TestRun, rows: list[RowResult]) -> tuple[TestRun, ...]:
    return tuple(
        other
        for row in rows
        for other in row.runs
        if (other.test, other.node) == (run.test, run.node)
    )


def _judged(target: TestTarget, run: TestRun, runs: tuple[TestRun, ...]) -> JudgedTest:
    test = CandidateTest(
        id=content_id(target.path, target.source or "", run.node),
        name=run.node or target.path,
        issue="",
        origin=Origin(strategy="given"),
        oracle=Oracle(kind=OracleKind.WRITTEN, sentence="Written by hand.", prior=1.0),
        path=target.path,
        source=target.source,
    )
    return JudgedTest(test=test, judgement=judge_runs(runs))


def rejudge(tests: tuple[JudgedTest, ...], engine: Engine, repeat: int) -> tuple[JudgedTest, ...]:
    """Run tests of an earlier run again on the tree as it is now.

    What was a candidate stays one only if it still fails; its confidence is kept.
    """
    before = tuple(judged for judged in tests if judged.judgement.candidate)
    targets = tuple(
        TestTarget(
            id=judged.test.id,
            path=judged.test.path,
            source=judged.test.source,
            node=judged.test.name,
        )
        for judged in before
    )
    if not targets:
        return ()
    rows = [engine.run(Row(targets=targets, hash_seed=seed)) for seed in range(repeat)]
    again = []
    for judged in before:
        runs = tuple(run for row in rows for run in row.runs if run.test == judged.test.id)
        now = judge_runs(runs)
        confidence = judged.judgement.confidence if now.candidate else 0.0
        again.append(replace(judged, judgement=replace(now, confidence=confidence)))
    return tuple(again)


def judge_runs(runs: tuple[TestRun, ...]) -> Judgement:
    """Judge a test by its runs on the unpatched tree alone, without a report to compare."""
    verdicts = {run.verdict for run in runs}
    if len(verdicts) > 1:
        seen = ", ".join(run.verdict for run in runs)
        return Judgement(
            verdict=Verdict.FLAKY,
            candidate=False,
            reason=f"runs on the same tree differ: {seen}",
            confidence=0.0,
            runs=runs,
        )
    verdict = runs[0].verdict
    failed = verdict is Verdict.FAIL
    return Judgement(
        verdict=verdict,
        candidate=failed,
        reason=runs[0].reason,
        confidence=1.0 if failed else 0.0,
        runs=runs,
    )
