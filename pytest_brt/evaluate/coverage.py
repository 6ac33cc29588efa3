"""How much of what the true fix changes the candidates run, after SWT-bench's change coverage.

SWT-bench (arXiv 2406.12952, section 3) asks for the share of the lines that the true fix takes
away (on the buggy tree) and adds (on the fixed one) that are run more often with the submitted
tests than without; only lines that its own tests run at all count. What is seen here differs
in a few points, told in docs/evaluate.md: only what runs within a test, and in its process, is
counted; the tests that say which lines can be run are those of the files of the hidden tests;
and it is seen that a line is run, not how often. A test that runs a line runs it more often than
it was run before, so a candidate's line needs no count of the others.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from pytest_brt.errors import PatchProblem, SubjectProblem
from pytest_brt.evaluate.dataset import Instance
from pytest_brt.evaluate.record import Covered
from pytest_brt.evaluate.truth import fix_changes, hidden_files
from pytest_brt.execute.engine import Engine
from pytest_brt.localise.coverage import TestLines, watch_lines
from pytest_brt.patches import canonical_diff
from pytest_brt.patches.names import read_name, without_prefix
from pytest_brt.patches.scan import scan_diff
from pytest_brt.types import CandidateTest, FileChange

#: A line of a file.
Line = tuple[str, int]
#: Wall-clock seconds of the tests of one tree.
_SECONDS = 60.0


@dataclass(frozen=True, slots=True, kw_only=True)
class _Side:
    """One of the two trees, and the lines that are looked for in it."""

    changes: tuple[FileChange, ...]
    wanted: frozenset[Line]


def cover(
    instance: Instance, engine: Engine, tests: Mapping[str, Sequence[CandidateTest]]
) -> tuple[Covered, ...]:
    """Return what the candidates of each strategy run of the lines that the true fix changes.

    Args:
        instance: the bug.
        engine: on its buggy tree.
        tests: the candidates, by strategy.
    """
    try:
        counts = _count(instance, engine, tests)
    except (SubjectProblem, PatchProblem) as problem:
        told = " ".join(str(problem).split())
        return tuple(Covered(strategy=n, lines=0, reached=0, problem=told) for n in tests)
    lines, reached = counts
    return tuple(Covered(strategy=n, lines=lines, reached=reached[n]) for n in tests)


def _count(
    instance: Instance, engine: Engine, tests: Mapping[str, Sequence[CandidateTest]]
) -> tuple[int, dict[str, int]]:
    root = Path(engine.subject.root)
    fix = fix_changes(instance, root)
    hidden, files = hidden_files(instance, root)
    mended = tuple(name for name in instance.fail_to_pass if "::" in name)
    removed, added = lines_of_fix(fix, root)
    total, reached = 0, dict.fromkeys(tests, 0)
    for side in (_Side(changes=(), wanted=removed), _Side(changes=fix, wanted=added)):
        lines: frozenset[Line] = frozenset()
        if side.wanted:
            lines = _executable(engine, side, hidden, files, mended)
        total += len(lines)
        if lines:
            for name, ran in _ran(engine, side.changes, tests).items():
                reached[name] += len(lines & ran)
    return total, reached


def lines_of_fix(
    changes: Sequence[FileChange], root: Path
) -> tuple[frozenset[Line], frozenset[Line]]:
    """Return the lines that `changes` take away from the tree, and those that they add to it.

    Raises:
        PatchProblem: git cannot compare the files.
    """
    removed: set[Line] = set()
    added: set[Line] = set()
    diff = canonical_diff(changes, root)
    for file in scan_diff(diff).files if diff else ():
        old, new = read_name(file.source_file), read_name(file.target_file)
        for line in (line for hunk in file for line in hunk):
            if line.is_removed and old is not None and line.source_line_no is not None:
                removed.add((without_prefix(old), line.source_line_no))
            elif line.is_added and new is not None and line.target_line_no is not None:
                added.add((without_prefix(new), line.target_line_no))
    return frozenset(removed), frozenset(added)


def _executable(
    engine: Engine,
    side: _Side,
    hidden: tuple[FileChange, ...],
    files: Sequence[str],
    mended: Sequence[str],
) -> frozenset[Line]:
    """Return the wanted lines that the files of the hidden tests run.

    Where those take too long, it is the tests that the fix mends, where they have names; where
    they cannot be imported, as on a tree that lacks what they test, their files as they were.
    """
    own = {change.path for change in hidden}
    changes = (*(change for change in side.changes if change.path not in own), *hidden)
    try:
        seen = _watch(engine, files, changes)
    except SubjectProblem:
        if not mended:
            raise
        seen = _watch(engine, mended, changes)
    if not seen:
        root = Path(engine.subject.root)
        seen = _watch(engine, [path for path in files if (root / path).is_file()], side.changes)
    return _lines(seen) & side.wanted


def _ran(
    engine: Engine, changes: tuple[FileChange, ...], tests: Mapping[str, Sequence[CandidateTest]]
) -> dict[str, frozenset[Line]]:
    """Return the lines that the candidates of each strategy run."""
    found: dict[str, frozenset[Line]] = {}
    for name, some in tests.items():
        ran: frozenset[Line] = frozenset()
        for batch in batches(some):
            sources = {test.path: test.source for test in batch if test.source is not None}
            files = tuple(
                FileChange(path=path, content=source.encode("utf-8", "surrogatepass"))
                for path, source in sources.items()
            )
            nodes = [f"{test.path}::{test.name}" for test in batch]
            kept = tuple(change for change in changes if change.path not in sources)
            ran |= _lines(_watch(engine, nodes, (*kept, *files)))
        found[name] = ran
    return found


def batches(tests: Sequence[CandidateTest]) -> list[list[CandidateTest]]:
    """Return tests in groups that fit into one tree: a file has one content."""
    found: list[list[CandidateTest]] = []
    for test in tests:
        for batch in found:
            if all(one.path != test.path or one.source == test.source for one in batch):
                batch.append(test)
                break
        else:
            found.append([test])
    return found


def _watch(
    engine: Engine, nodes: Sequence[str], changes: Sequence[FileChange]
) -> tuple[TestLines, ...]:
    """Return what the tests run.

    Raises:
        SubjectProblem: that cannot be seen.
    """
    if not nodes:
        return ()
    watched = watch_lines(engine, nodes, changes=changes, seconds=_SECONDS)
    if watched.problem:
        raise SubjectProblem(f"the tests could not be watched: {watched.problem}")
    return watched.tests


def _lines(tests: Sequence[TestLines]) -> frozenset[Line]:
    return frozenset(
        (path, line) for test in tests for path, lines in test.lines.items() for line in lines
    )
