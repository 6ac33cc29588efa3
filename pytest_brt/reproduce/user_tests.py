"""Tests that a person wrote, or an earlier run: found in their files, and judged."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from pytest_brt.bounded import bounded_text
from pytest_brt.codec import content_id
from pytest_brt.errors import EditProblem, UsageProblem
from pytest_brt.oracle.judge import dropped, judge, run_tests
from pytest_brt.reproduce.strategy import REPEAT
from pytest_brt.sandbox.run_tests import Runner
from pytest_brt.types import (
    CandidateTest,
    JudgedTest,
    Origin,
    Review,
    TestRun,
)


def load_targets(
    paths: Iterable[str], root: Path, test_root: str, by: str = "--brt-tests"
) -> tuple[CandidateTest, ...]:
    """Return the test files at `paths`, each as one test.

    They are given `by` this option or command, which a complaint names.

    A file outside the project is placed in its `test_root` under its own name. Strict xfail marks
    are taken off: such a test waits for its fix, and whoever gives it wants to know what it does.

    Raises:
        UsageProblem: there is no such file, or it cannot be read as text.
    """
    tests: list[CandidateTest] = []
    for path in paths:
        file = Path(path)
        try:
            source = bounded_text(file)
        except (OSError, UnicodeDecodeError) as error:
            reason = error.strerror if isinstance(error, OSError) else error
            raise UsageProblem(f"{by}: cannot read {path!r}: {reason}") from error
        own, place = file.resolve(), Path(test_root, file.name)
        name = (own.relative_to(root) if own.is_relative_to(root) else place).as_posix()
        source = _without_marks(name, source)
        test = CandidateTest(
            id=content_id(name, source),
            name="",
            origin=Origin(strategy="given"),
            path=name,
            source=source,
        )
        tests.append(test)
    return tuple(tests)


def _without_marks(path: str, source: str) -> str:
    """Return the text without the strict xfail marks of its tests; as it is where it is broken."""
    if "xfail" not in source:
        return source
    from pytest_brt.edit.add_tests import marked_tests, unmark  # libcst takes half a second

    data = source.encode()
    try:
        for node in marked_tests(path, data):
            data = unmark(path, data, node)
    except EditProblem:  # running it says what is wrong with it
        return source
    return data.decode()


def judge_given(files: Sequence[CandidateTest], engine: Runner) -> tuple[JudgedTest, ...]:
    """Run the files on the unpatched tree and return each test found in them, judged.

    A candidate fails every time; what it fails of is the business of who wrote it.
    """
    return tuple(
        judge(test, runs, None, confidence=1.0)
        for test, runs in each_test(files, engine, REPEAT)
    )


def each_test(
    files: Sequence[CandidateTest], engine: Runner, repeat: int
) -> Iterator[tuple[CandidateTest, tuple[TestRun, ...]]]:
    """Run the files on the unpatched tree and yield each test found in them, with its runs."""
    runs = run_tests(files, engine, repeat)
    for file in files:
        for node in dict.fromkeys(run.node for run in runs[file.id]):
            own = tuple(run for run in runs[file.id] if run.node == node)
            yield replace(file, id=content_id(file.id, node), name=node), own


def with_review(judged: JudgedTest, review: Review) -> JudgedTest:
    """Return a bug test as a person judged it: one that is accepted is sure."""
    judged = replace(judged, review=review)
    if review is Review.REJECTED:
        return dropped(judged, "rejected by you")
    if review is Review.ACCEPTED and judged.judgement.candidate:
        sure = replace(judged.judgement, confidence=1.0, evidence=None, measured=None)
        judged = replace(judged, judgement=sure)
    return judged


def rejudge(tests: tuple[JudgedTest, ...], engine: Runner) -> tuple[JudgedTest, ...]:
    """Run tests of an earlier run again on the tree as it is now.

    What was a candidate stays one only if it still fails; its confidence is kept, but a person who
    accepted it is sure. Once one is accepted, those that are not no longer count.
    """
    before = [judged for judged in tests if judged.judgement.candidate]
    is_sure = any(judged.review is Review.ACCEPTED for judged in before)
    runs = run_tests([judged.test for judged in before], engine, REPEAT)
    again = []
    for judged in before:
        old = judged.judgement
        evidence, own = old.evidence if old.measured else None, runs[judged.test.id]
        new = judge(judged.test, own, None, confidence=old.confidence, evidence=evidence)
        if is_sure and judged.review is Review.OPEN:
            new = dropped(new, "you accepted others")
        again.append(with_review(new, judged.review))
    return tuple(again)
