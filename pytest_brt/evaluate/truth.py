"""What the true fix and the hidden tests say.

Nothing here is shown to the tool, but for what ``given`` of the study gives away.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

from unidiff.patch import PatchSet

from pytest_brt.code.ini import read_ini
from pytest_brt.codec import content_id
from pytest_brt.errors import SubjectProblem
from pytest_brt.evaluate.dataset import Instance
from pytest_brt.evaluate.record import Flaw
from pytest_brt.execute.engine import Engine, Row, TestTarget, target_of
from pytest_brt.patches import apply_patch, canonical_diff
from pytest_brt.patches.problem import PatchProblem
from pytest_brt.reproduce.given import judge_given
from pytest_brt.syntax.parse import parse_or_empty
from pytest_brt.types import CandidateTest, FileChange, JudgedTest, Patch, TestRun, Verdict

#: A hidden test: its file and its node.
Name = tuple[str, str]


def patch_of(text: str, name: str) -> Patch:
    """Return a diff as a patch."""
    return Patch(id=content_id(text), name=name, text=text)


def fix_changes(instance: Instance, root: Path) -> tuple[FileChange, ...]:
    """Return what the true fix changes.

    Raises:
        SubjectProblem: it does not apply to the tree.
    """
    try:
        return apply_patch(patch_of(instance.patch, "fix"), root).changes
    except PatchProblem as problem:
        raise SubjectProblem(f"the true fix does not apply: {problem}") from None


def places_of_fix(instance: Instance, root: Path) -> tuple[str, ...]:
    """Return where the true fix changes the tree, as in ("pkg/core.py:10-12",).

    Where it only adds lines, that is the line above them. New files are no places.

    Raises:
        SubjectProblem: it does not apply to the tree.
    """
    diff = canonical_diff(fix_changes(instance, root), root)
    found: list[str] = []
    for file in PatchSet(diff):
        if file.is_added_file:
            continue
        for hunk in file:
            lines: list[int] = []
            above = max(hunk.source_start - 1, 1)
            for line in hunk:
                if line.is_added:
                    lines.append(above)
                    continue
                above = line.source_line_no or above
                if line.is_removed:
                    lines.append(above)
            found.append(f"{file.path}:{min(lines)}-{max(lines)}")
    return tuple(found)


def test_file_of_fix(instance: Instance, root: Path) -> str:
    """Return the file of the tree that the hidden tests are added to, "" when all are in new ones.

    Raises:
        SubjectProblem: there are no hidden tests, or they cannot be applied.
    """
    _, files = hidden_files(instance, root)
    return next((path for path in files if (root / path).is_file()), "")


def judge_tests(
    tests: Sequence[CandidateTest], instance: Instance, engine: Engine
) -> dict[str, TestRun]:
    """Return, by id, what each test does on the tree with the true fix."""
    if not tests:
        return {}
    changes = fix_changes(instance, Path(engine.subject.root))
    row = Row(changes=changes, targets=tuple(target_of(test) for test in tests))
    return {run.test: run for run in engine.run(row).runs}


def flaw_of(test: CandidateTest, engine: Engine) -> Flaw:
    """Say what is wrong with adding a test as it is (paper 001, manual inspection).

    It must leave every definition of an existing file as it was, and should bring no other test
    that passes on the unpatched tree.
    """
    if test.source is None:
        return Flaw.NONE
    place = Path(engine.subject.root) / test.path
    new = _definitions(test.source)
    old = _definitions(place.read_text("utf-8", "replace")) if place.is_file() else []
    if any(definition not in new for definition in old):
        return Flaw.CHANGES_TESTS
    if test.source.count("def test") > 1 and _adds_passing(test, engine, place.is_file()):
        return Flaw.ADDS_PASSING
    return Flaw.NONE


def _adds_passing(test: CandidateTest, engine: Engine, is_file: bool) -> bool:
    before: set[str] = set()
    if is_file:
        target = TestTarget(id="before", path=test.path)
        before = {run.node for run in engine.run(Row(targets=(target,))).runs}
    target = TestTarget(id=test.id, path=test.path, source=test.source)
    runs = engine.run(Row(targets=(target,))).runs
    return any(run.verdict is Verdict.PASS and run.node not in before for run in runs)


def _definitions(source: str) -> list[str]:
    """Return the functions and classes of a module, alike when they are but for layout."""
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
    return [ast.dump(node) for node in parse_or_empty(source).body if isinstance(node, kinds)]


class HiddenTests:
    """Says which patches are right: they pass the hidden tests, and lose none."""

    def __init__(self, instance: Instance, engine: Engine) -> None:
        """Run the hidden tests with the true fix, and without it where they have no names.

        Raises:
            SubjectProblem: there are none, they cannot be applied, or those that should pass
                with the true fix do not in this environment.
        """
        self._engine = engine
        root = Path(engine.subject.root)
        self._tests, files = hidden_files(instance, root)
        self._targets = tuple(TestTarget(id=path, path=path) for path in files)
        named = (*instance.failing, *instance.passing)
        fixed = self._passing(fix_changes(instance, root))
        wanted = _names(instance.failing, fixed)
        if not named:
            wanted = fixed - self._passing(())
        missing = wanted - fixed
        if missing or not wanted:
            what = "::".join(min(missing)) if missing else "no test"
            raise SubjectProblem(
                f"the hidden tests cannot judge in this environment: {what} "
                f"{'fails' if missing else 'passes'} with the true fix"
            )
        kept = _names(instance.passing, fixed) & fixed if named else fixed
        self._wanted = wanted | kept

    def is_right(self, patch: Patch) -> bool:
        """Say whether all tests that should pass do with `patch`."""
        try:
            changes = apply_patch(patch, Path(self._engine.subject.root)).changes
        except PatchProblem:
            return False
        return self.are_right(changes)

    def are_right(self, changes: tuple[FileChange, ...]) -> bool:
        """Say whether all tests that should pass do with `changes`."""
        return self._wanted <= self._passing(changes)

    def failing(self, repeat: int) -> tuple[JudgedTest, ...]:
        """Return those that fail on the bug, as tests that a person gave (paper 002's setup)."""
        sources = {change.path: change.content or b"" for change in self._tests}
        targets = []
        for target in self._targets:
            source = sources.get(target.path)
            text = None if source is None else source.decode("utf-8", "replace")
            targets.append(replace(target, source=text))
        judged = judge_given(tuple(targets), self._engine, repeat)
        return tuple(
            one
            for one in judged
            if one.judgement.candidate and (one.test.path, one.test.name) in self._wanted
        )

    def _passing(self, changes: tuple[FileChange, ...]) -> set[Name]:
        own = {change.path for change in self._tests}
        # What a patch makes of the test files themselves does not count.
        made = tuple(change for change in changes if change.path not in own) + self._tests
        runs = self._engine.run(Row(changes=made, targets=self._targets)).runs
        return {(run.test, run.node) for run in runs if run.verdict is Verdict.PASS}


def hidden_files(instance: Instance, root: Path) -> tuple[tuple[FileChange, ...], tuple[str, ...]]:
    """Return what the hidden tests change, and the files of tests that they are in.

    Raises:
        SubjectProblem: there are none, or they cannot be applied.
    """
    changes: tuple[FileChange, ...] = ()
    if instance.test_patch.strip():
        try:
            tests = patch_of(instance.test_patch, "tests")
            changes = apply_patch(tests, root, whole=True).changes
        except PatchProblem as problem:
            raise SubjectProblem(f"the hidden tests do not apply: {problem}") from None
    named = (*instance.failing, *instance.passing)
    files = {name.partition("::")[0] for name in named if "::" in name}
    if not files:
        is_test = read_ini(root).collected.has_file
        files = {c.path for c in changes if c.content is not None and is_test(c.path)}
    if not files:
        raise SubjectProblem("there are no hidden tests that could judge a patch")
    return changes, tuple(sorted(files))


def _names(given: Iterable[str], known: Iterable[Name]) -> set[Name]:
    """Return the tests that `given` names; a bare name is looked for in every file."""
    found: set[Name] = set()
    for text in given:
        path, colons, node = text.partition("::")
        if colons:
            found.add((path, node))
        else:
            found |= {name for name in known if name[1] == text} or {("", text)}
    return found


def extent_of(diff: str) -> str:
    r"""Say how far a fix reaches: "single-line", "multi-line" or "multi-file".

    A single line is one that is added, removed, or replaced by one other.

    >>> extent_of("--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n")
    'single-line'
    """
    lines = diff.splitlines()
    if sum(line.startswith("+++ ") for line in lines) > 1:
        return "multi-file"
    added = sum(line.startswith("+") and not line.startswith("+++ ") for line in lines)
    removed = sum(line.startswith("-") and not line.startswith("--- ") for line in lines)
    return "single-line" if added <= 1 and removed <= 1 else "multi-line"
