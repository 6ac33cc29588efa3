"""Tests that a person wrote, or an earlier run: found in their files, and judged."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path

from pytest_brt.bounded import bounded_text
from pytest_brt.codec import content_id
from pytest_brt.errors import EditProblem, UsageProblem
from pytest_brt.execute.layout import files_of
from pytest_brt.oracle.judge import Rating, judge, refused, run_tests
from pytest_brt.project.pytest_config import USUAL, read_config
from pytest_brt.sandbox.placing import Test
from pytest_brt.sandbox.run_tests import Runner
from pytest_brt.types import (
    CandidateTest,
    JudgedTest,
    Judgement,
    Oracle,
    OracleKind,
    Origin,
    Review,
    TestRun,
)


def load_targets(
    paths: Iterable[str], root: Path, test_root: str, by: str = "--brt-tests"
) -> tuple[Test, ...]:
    """Return the test files at `paths` (files, or folders of test files) as targets.

    They are given `by` this option or command, which a complaint names.

    A file outside the project is placed in its `test_root` under its own name. Strict xfail marks
    are taken off: such a test waits for its fix, and whoever gives it wants to know what it does.

    Raises:
        UsageProblem: a path does not exist, cannot be read as text, or holds no test file.
    """
    targets: list[Test] = []
    for path in paths:
        given = Path(path)
        if not given.exists():
            raise UsageProblem(f"{by}: no such file: {path!r}")
        files = _test_files(given, root) if given.is_dir() else [given]
        if not files:
            raise UsageProblem(f"{by}: no test file in {path!r}")
        targets.extend(read_target(file, root, test_root, by) for file in files)
    return tuple(targets)


def _test_files(folder: Path, root: Path) -> list[Path]:
    """Return the test files in a folder, by the project's settings or by their usual names."""
    kinds = (USUAL, read_config(root).collected)
    names = (name for name in files_of(folder) if any(kind.has_file(name) for kind in kinds))
    return [folder / name for name in sorted(names)]


def read_target(file: Path, root: Path, test_root: str, option: str) -> Test:
    """Return one file that `option` names as a target; see `load_targets`."""
    try:
        source = bounded_text(file)
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise UsageProblem(f"{option}: cannot read {str(file)!r}: {reason}") from error
    resolved = file.resolve()
    if resolved.is_relative_to(root):
        place = resolved.relative_to(root).as_posix()
    else:
        place = (Path(test_root) / file.name).as_posix()
    source = _without_marks(place, source)
    return Test(id=content_id(place, source), path=place, source=source)


def _without_marks(path: str, source: str) -> str:
    """Return the text without the strict xfail marks of its tests; as it is where it is broken."""
    if "xfail" not in source:
        return source
    from pytest_brt.edit.xfail import marked_tests, unmark  # libcst takes half a second

    data = source.encode()
    try:
        for node in marked_tests(path, data):
            data = unmark(path, data, node)
    except EditProblem:  # running it says what is wrong with it
        return source
    return data.decode() if data != source.encode() else source


def judge_given(targets: tuple[Test, ...], engine: Runner, repeat: int) -> tuple[JudgedTest, ...]:
    """Run the files on the unpatched tree and return each test found in them, judged.

    A candidate fails every time; what it fails of is the business of who wrote it.
    """
    return tuple(
        judge(test, runs, None, Rating(confidence=1.0))
        for test, runs in each_test(targets, engine, repeat)
    )


def each_test(
    targets: tuple[Test, ...], engine: Runner, repeat: int
) -> Iterator[tuple[CandidateTest, tuple[TestRun, ...]]]:
    """Run the files on the unpatched tree and yield each test found in them, with its runs."""
    files = tuple(_test(target, "") for target in targets)
    by_id = {target.id: target for target in targets}
    for runs in run_tests(files, engine, repeat).values():
        for node in dict.fromkeys(run.node for run in runs):
            same = tuple(run for run in runs if run.node == node)
            yield _test(by_id[runs[0].test], node), same


def _as_before(judgement: Judgement) -> Rating:
    evidence = judgement.evidence if judgement.measured else None
    return Rating(confidence=judgement.confidence, evidence=evidence)


def _test(target: Test, node: str) -> CandidateTest:
    """Return a file of tests, or the one of them that `node` names, as a test."""
    return CandidateTest(
        id=content_id(target.path, target.source or "", node) if node else target.id,
        name=node,
        issue="",
        origin=Origin(strategy="given"),
        oracle=Oracle(kind=OracleKind.WRITTEN, sentence="Written by hand."),
        path=target.path,
        source=target.source,
    )


def rejudge(tests: tuple[JudgedTest, ...], engine: Runner, repeat: int) -> tuple[JudgedTest, ...]:
    """Run tests of an earlier run again on the tree as it is now.

    What was a candidate stays one only if it still fails; its confidence is kept, but a person who
    accepted it is sure. Once one is accepted, those that are not no longer count.
    """
    before = [judged for judged in tests if judged.judgement.candidate]
    accepted = [judged for judged in before if judged.review is Review.ACCEPTED]
    counting = accepted or [judged for judged in before if judged.review is Review.OPEN]
    runs = run_tests([judged.test for judged in counting], engine, repeat)
    found = []
    for judged in before:
        if judged in counting:
            rating = Rating(confidence=1.0) if accepted else _as_before(judged.judgement)
            again = judge(judged.test, runs[judged.test.id], None, rating)
        else:
            reason = f"{judged.review} by you"
            again = replace(judged, judgement=refused(judged.judgement.verdict, reason, ()))
        found.append(replace(again, review=judged.review))
    return tuple(found)
