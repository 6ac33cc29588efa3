"""Patch + tree → what the tree would be, without touching it."""

from __future__ import annotations

import stat
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

from pytest_brt.bounded import read_bounded
from pytest_brt.patches.diff import read_diff
from pytest_brt.patches.git_apply import apply_hunks
from pytest_brt.patches.left_out import left_out_kind, needs_build
from pytest_brt.patches.problem import PatchProblem
from pytest_brt.patches.target import Target, find_targets
from pytest_brt.syntax.parse import tree_of
from pytest_brt.types import (
    AppliedLeniently,
    AppliedPatch,
    ChangesNothing,
    FileChange,
    LeftOutFiles,
    LeftOutKind,
    Mending,
    NeedsBuild,
    Patch,
    PlaceChosen,
    Remark,
    SyntaxErrorAfter,
)
from pytest_brt.types.refused import (
    FileExists,
    FileGone,
    FileMissing,
    FileUnreadable,
    MoreLines,
    OnlyLeftOut,
)


def apply_patch(patch: Patch, root: Path, *, whole: bool = False) -> AppliedPatch:
    """Return what `patch` makes of the tree at `root`, which is only read.

    git places the hunks, in files of their own. Wrong counts, line numbers and line ends are put
    right, and differences in blanks ignored, where it does not apply as written; that is noted as
    "applied leniently". Context is never skipped. All of the patch applies, or nothing does. A
    rename is a deletion and an addition.

    Tests, pytest's configuration, code that Python starts by itself and binary files are left out;
    with `whole`, as for a patch that adds tests, only binary files are. A syntax error that the
    patch makes is a remark and not a problem: the subject's interpreter has the last word.

    Raises:
        PatchProblem: it cannot be read, is unsafe, does not apply, or all that it changes is left
            out; one line says why.
        UsageProblem: git is not installed.
    """
    diff = read_diff(patch.text)
    found = find_targets(diff.files, root)
    targets = [target for target in found if not target.diff.is_binary]
    binary = tuple(target.path for target in found if target.diff.is_binary)
    before = _read_files(targets, root)
    after, notes = _apply(targets, before)
    changes = _changes(before, after)
    left_out = [] if whole else _left_out(changes, before)
    if binary:
        left_out.append(LeftOutFiles(what=LeftOutKind.BINARY_FILES, paths=binary))
    passed_over = set(chain.from_iterable(files.paths for files in left_out))
    kept = tuple(change for change in changes if change.path not in passed_over)
    if left_out and not kept:
        raise PatchProblem(OnlyLeftOut(left_out=tuple(left_out)))
    placing = _placing_remarks((*diff.mendings, *notes)) if changes else ()
    return AppliedPatch(changes=kept, remarks=(*placing, *left_out, *_code_remarks(kept, before)))


# -- files ----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class _File:
    """A file of the tree as it is, or as the patch makes it."""

    content: bytes
    executable: bool


_Files = Mapping[str, _File]


def _apply(targets: Sequence[Target], before: _Files) -> tuple[_Files, list[Mending | PlaceChosen]]:
    """Return the files as `targets` make them, and what placing their hunks took."""
    files = dict(before)
    removed = {target.source for target in targets if target.removes_old}
    notes: list[Mending | PlaceChosen] = []
    for target in targets:
        if target.new in files and target.new not in (target.old, *removed):
            raise PatchProblem(FileExists(path=target.path))
        old = _old_file(target, before, files)
        content, more = apply_hunks(target, old.content)
        notes += more
        if target.new is None and content:
            raise PatchProblem(MoreLines(path=target.path))
        # Where a file is moved away from, another may have been moved to.
        if target.new is None or (target.removes_old and files.get(target.source) is old):
            del files[target.source]
        if target.new is not None:
            mode = target.diff.new_mode
            executable = mode == "100755" if mode else old.executable
            files[target.new] = _File(content=content, executable=executable)
    return files, notes


def _old_file(target: Target, before: _Files, now: _Files) -> _File:
    if target.old is None:
        return _File(content=b"", executable=False)
    # A move takes the file as it was before the patch, as for git.
    files = before if target.diff.moved else now
    if target.old not in files:
        if target.old in before:
            raise PatchProblem(FileGone(path=target.old))
        raise PatchProblem(FileMissing(path=target.old))
    return files[target.old]


def _read_files(targets: Iterable[Target], root: Path) -> _Files:
    """Return the files that exist of those that `targets` name."""
    files: dict[str, _File] = {}
    for target in targets:
        for path in (target.source, target.path):
            file = _read_file(path, root)
            if file is not None:
                files[path] = file
    return files


def _read_file(path: str, root: Path) -> _File | None:
    try:
        is_executable = bool((root / path).lstat().st_mode & stat.S_IXUSR)
        return _File(content=read_bounded(root / path), executable=is_executable)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        said = error.strerror or str(error)
        raise PatchProblem(FileUnreadable(path=path, said=said)) from error


def _changes(before: _Files, after: _Files) -> list[FileChange]:
    """Return what is different, by path."""
    changes: list[FileChange] = []
    for path in sorted({*before, *after}):
        new = after.get(path)
        if new is None:
            changes.append(FileChange(path=path, content=None))
        elif new != before.get(path):
            changes.append(FileChange(path=path, content=new.content, executable=new.executable))
    return changes


def _left_out(changes: Sequence[FileChange], before: _Files) -> list[LeftOutFiles]:
    """Return which of `changes` are no part of a candidate fix."""
    paths: defaultdict[LeftOutKind, list[str]] = defaultdict(list)
    for change in changes:
        old = before.get(change.path)
        kind = left_out_kind(change.path, old.content if old else None, change.content)
        if kind is not None:
            paths[kind].append(change.path)
    return [LeftOutFiles(what=kind, paths=tuple(names)) for kind, names in paths.items()]


# -- what is odd ----------------------------------------------------------------------------------


def _placing_remarks(notes: Sequence[Mending | PlaceChosen]) -> list[Remark]:
    remarks: list[Remark] = []
    mendings = tuple(mending for mending in Mending if mending in notes)
    if mendings:
        remarks.append(AppliedLeniently(mendings=mendings))
    remarks += [note for note in notes if isinstance(note, PlaceChosen)]
    return remarks


def _code_remarks(changes: Sequence[FileChange], before: _Files) -> Iterator[Remark]:
    if not changes:
        yield ChangesNothing()
    built = tuple(change.path for change in changes if needs_build(change))
    if built:
        yield NeedsBuild(paths=built)
    for change in changes:
        if change.content is not None and change.path.endswith(".py"):
            old = before.get(change.path)
            error = _syntax_error(change.content)
            if error and not (old and _syntax_error(old.content)):
                yield SyntaxErrorAfter(path=change.path, line=error.lineno or 1, message=error.msg)


def _syntax_error(content: bytes) -> SyntaxError | None:
    try:
        tree_of(content)
    except SyntaxError as error:
        return error
    return None
