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
from pathlib import Path

from pytest_brt.errors import PatchProblem, SubjectProblem
from pytest_brt.evaluate.dataset import Instance
from pytest_brt.evaluate.record import Covered
from pytest_brt.evaluate.truth import fix_changes, hidden_files
from pytest_brt.execute.engine import Engine, Row, TestTarget, target_of
from pytest_brt.localise.places import lines_of
from pytest_brt.patches import canonical_diff
from pytest_brt.patches.file_names import read_name, without_prefix
from pytest_brt.patches.scan import scan_diff
from pytest_brt.types import CandidateTest, FileChange, Verdict

#: A line of a file.
Line = tuple[str, int]
#: Wall-clock seconds of the tests of one tree.
_SECONDS = 60.0


def cover(
    instance: Instance, engine: Engine, tests: Mapping[str, Sequence[CandidateTest]]
) -> tuple[Covered, ...]:
    """Return what the candidates of each strategy run of the lines that the true fix changes."""
    try:
        lines, reached = _count(instance, engine, tests)
    except (SubjectProblem, PatchProblem) as problem:
        told = " ".join(str(problem).split())
        return tuple(Covered(strategy=n, lines=0, reached=0, problem=told) for n in tests)
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
    sides: tuple[tuple[tuple[FileChange, ...], frozenset[Line]], ...]
    sides = ((), removed), (fix, added)
    for changes, wanted in sides:
        watch = tuple(sorted({path for path, _ in wanted}))
        lines = wanted and wanted & _executable(engine, changes, hidden, files, mended, watch)
        total += len(lines)
        for name, some in tests.items() if lines else ():
            targets = [target_of(test) for test in some]
            reached[name] += len(lines & _watch(engine, targets, changes, watch))
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
    changes: tuple[FileChange, ...],
    hidden: tuple[FileChange, ...],
    files: Sequence[str],
    mended: Sequence[str],
    watch: tuple[str, ...],
) -> frozenset[Line]:
    """Return the lines that the files of the hidden tests run on a tree with `changes`.

    Where those take too long, it is the tests that the fix mends, where they have names; where
    they cannot be imported, as on a tree that lacks what they test, their files as they were.
    """
    own = {change.path for change in hidden}
    both = (*(change for change in changes if change.path not in own), *hidden)
    targets = [TestTarget(id=path, path=path) for path in files]
    try:
        seen = _watch(engine, targets, both, watch)
    except SubjectProblem:
        if not mended:
            raise
        named = (name.partition("::") for name in mended)
        targets = [TestTarget(id=f"{a}::{b}", path=a, node=b) for a, _, b in named]
        seen = _watch(engine, targets, both, watch)
    if not seen:
        root = Path(engine.subject.root)
        there = [TestTarget(id=path, path=path) for path in files if (root / path).is_file()]
        seen = _watch(engine, there, changes, watch)
    return seen


def _watch(
    engine: Engine,
    targets: Sequence[TestTarget],
    changes: tuple[FileChange, ...],
    watch: tuple[str, ...],
) -> frozenset[Line]:
    """Return the lines of the files `watch` that the tests run on a tree with `changes`.

    Raises:
        SubjectProblem: the tests take too long.
    """
    row = Row(changes=changes, targets=tuple(targets), watch=watch, seconds=_SECONDS)
    runs = engine.run(row).runs if targets else ()
    late = next((run for run in runs if run.verdict is Verdict.TIMEOUT), None)
    if late is not None:
        raise SubjectProblem(f"the tests could not be watched: {late.reason}")
    return frozenset(
        (path, line) for run in runs for path, lines in lines_of(run).items() for line in lines
    )
