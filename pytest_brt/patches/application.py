"""Patch + tree → what the tree would be, without touching it; and that as git would print it."""

from __future__ import annotations

import re
import stat
import tempfile
from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path

from pytest_brt.patches.file_names import decode
from pytest_brt.patches.git import run_git
from pytest_brt.patches.ladder import Files, PatchedFile, climb
from pytest_brt.patches.left_out import left_out_kind, needs_build
from pytest_brt.patches.problem import PatchProblem
from pytest_brt.patches.scan import scan_diff
from pytest_brt.patches.target import find_targets
from pytest_brt.syntax import tree_of
from pytest_brt.types import (
    AppliedPatch,
    ChangesNothing,
    FileChange,
    LeftOutFiles,
    LeftOutKind,
    NeedsBuild,
    Patch,
    Remark,
    SyntaxErrorAfter,
)
from pytest_brt.types.refused import FileUnreadable, GitFailed, NoFilesText, PathFault, UnsafePath

_HEADER = re.compile(rb'^diff --git ("?)[ab](/.*)$', re.MULTILINE)


def apply_patch(patch: Patch, root: Path, *, whole: bool = False) -> AppliedPatch:
    """Return what `patch` makes of the tree at `root`, which is only read.

    Hunks are placed as `ladder` says: first as written, then with wrong counts and line ends put
    right, then with differences in blanks ignored; the last two are noted as "applied leniently".
    Context is never skipped. All of the patch applies, or nothing does. A rename is a deletion and
    an addition.

    The remarks also say what was left out (tests, pytest's configuration, code that Python
    starts by itself, binary files), what has no effect without a build, that nothing changes,
    and "syntax error after applying: file:line: message" when this interpreter could read a file
    before and no longer can. The last is a note and not a problem: the patch does apply, and the
    subject's interpreter has the last word. With `whole` only binary files are left out, as for a
    patch that adds tests.

    Raises:
        PatchProblem: it cannot be read, is unsafe, or does not apply; one line says why.
    """
    try:
        patch.text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError as error:
        raise PatchProblem(NoFilesText()) from error
    diffs = scan_diff(patch.text)
    found = find_targets(diffs.files, root)
    binary = [target.path for target in found if target.diff.is_binary_file]
    targets = tuple(target for target in found if not target.diff.is_binary_file)
    named = {path for target in targets for path in (target.old, target.new)}
    paths = sorted(path for path in named if path is not None)
    before = {path: file for path in paths if (file := _read(path, root)) is not None}
    after, how = climb(targets, diffs.repairs, before)
    kept, left_out = _divide(before, after, whole)
    remarks: list[Remark] = [*how, *left_out]
    if binary:
        remarks.append(LeftOutFiles(what=LeftOutKind.BINARY_FILES, paths=tuple(binary)))
    if not kept and not left_out and not binary:
        remarks.append(ChangesNothing())
    built = tuple(change.path for change in kept if needs_build(change))
    if built:
        remarks.append(NeedsBuild(paths=built))
    remarks += _newly_broken(kept, before)
    return AppliedPatch(changes=kept, remarks=tuple(remarks))


def _newly_broken(kept: tuple[FileChange, ...], before: Files) -> Iterator[SyntaxErrorAfter]:
    """Yield what is wrong now in the changed files that could be parsed before."""
    for change in kept:
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


def _read(path: str, root: Path) -> PatchedFile | None:
    try:
        mode = (root / path).lstat().st_mode
        if not stat.S_ISREG(mode):
            raise PatchProblem(UnsafePath(path=path, fault=PathFault.NO_FILE_IN_TREE))
        return PatchedFile(content=(root / path).read_bytes(), executable=bool(mode & stat.S_IXUSR))
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        said = error.strerror or str(error)
        raise PatchProblem(FileUnreadable(path=path, said=said)) from error


def _divide(
    before: Files, after: Files, whole: bool
) -> tuple[tuple[FileChange, ...], tuple[LeftOutFiles, ...]]:
    """Return the changes of code, and those that are left out."""
    kept: list[FileChange] = []
    left_out: defaultdict[LeftOutKind, list[str]] = defaultdict(list)
    for path in sorted({*before, *after}):
        old, new = before.get(path), after.get(path)
        if old == new:
            continue
        kind = left_out_kind(path, old.content if old else None, new.content if new else None)
        if kind is not None and not whole:
            left_out[kind].append(path)
        else:
            content, executable = (new.content, new.executable) if new else (None, False)
            kept.append(FileChange(path=path, content=content, executable=executable))
    files = tuple(LeftOutFiles(what=kind, paths=tuple(names)) for kind, names in left_out.items())
    return tuple(kept), files


# -- changes as a diff ----------------------------------------------------------------------------


def canonical_diff(changes: Iterable[FileChange], root: Path) -> str:
    """Return `changes` of the tree at `root` as ``git diff --binary --no-renames`` prints them.

    Two patches that change the same bytes have the same canonical diff, however they were
    written. Applied to the tree it makes those of text again. "" when nothing changes; bytes
    that are not UTF-8 are kept as surrogate escapes. Only the changed files are read.

    Raises:
        PatchProblem: git cannot compare the files.
        UsageProblem: git is not installed.
    """
    with tempfile.TemporaryDirectory(prefix="brt-diff-") as folder:
        for change in changes:
            source = root / change.path
            if source.is_file():
                is_executable = bool(source.stat().st_mode & 0o100)
                _put(Path(folder, "a", change.path), source.read_bytes(), is_executable)
            if change.content is not None:
                _put(Path(folder, "b", change.path), change.content, change.executable)
        for side in ("a", "b"):
            Path(folder, side).mkdir(exist_ok=True)
        flags = ("--no-prefix", "--no-renames", "--binary", "--full-index", "--no-color")
        reply = run_git(
            Path(folder),
            *("-c", "core.quotePath=false", "diff", "--no-index", *flags),
            *("--no-ext-diff", "--no-textconv", "--", "a", "b"),
        )
    if reply.returncode not in (0, 1):
        first = decode(reply.stderr).strip().partition("\n")[0]
        raise PatchProblem(GitFailed(said=f"diff: {first}"))
    return decode(_HEADER.sub(_both_sides, reply.stdout))


def _put(place: Path, content: bytes, is_executable: bool) -> None:
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_bytes(content)
    place.chmod(0o755 if is_executable else 0o644)


def _both_sides(match: re.Match[bytes]) -> bytes:
    """Return a header with both prefixes: for a file on one side git repeats that side's."""
    rest = match[0].removeprefix(b"diff --git ")
    old, new = rest[: len(rest) // 2], rest[len(rest) // 2 + 1 :]
    if len(rest) % 2 == 0 or old != new:
        return match[0]
    mark, path = match[1], old.removeprefix(match[1])[1:]
    return b"diff --git %sa%s %sb%s" % (mark, path, mark, path)
