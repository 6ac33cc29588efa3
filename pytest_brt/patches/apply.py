"""Patch + tree → what the tree would be, without touching it."""

from __future__ import annotations

import re
import stat
import tempfile
import unicodedata
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

from pytest_brt.bounded import is_file, is_folder, read_bounded
from pytest_brt.patches.git_apply import NamedFile, apply_in, mark_ends, named_files
from pytest_brt.patches.left_out import left_out_kind, needs_build
from pytest_brt.patches.problem import PatchProblem
from pytest_brt.patches.text import decode, encode
from pytest_brt.pysource.parse import tree_of
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
    Refused,
    Remark,
    SyntaxErrorAfter,
)
from pytest_brt.types.refused import (
    EmptyPatch,
    FileUnreadable,
    HunkAdrift,
    NoFilesText,
    OnlyLeftOut,
    PathFault,
    UnsafePath,
)

#: What git is told when a diff does not apply as it is written: its counts may be wrong, and its
#: blanks. Context is never skipped.
_LENIENT = ("--recount", "--ignore-whitespace")
#: Bytes of a name, for most file systems.
_LONGEST_NAME = 255
_MODE = re.compile(r"^(?:new|old|new file|deleted file) mode (120000|160000)$", re.MULTILINE)
_MOVED = re.compile(r"^(?:rename|copy) from (.+)$", re.MULTILINE)
#: A hunk that only adds lines, and has none that say where.
_BARE = re.compile(r"^@@ -([1-9]\d*),0 \+", re.MULTILINE)


@dataclass(frozen=True, slots=True, kw_only=True)
class _File:
    """A file of the tree as it is, or as the patch makes it."""

    content: bytes
    executable: bool


_Files = Mapping[str, _File]


def apply_patch(patch: Patch, root: Path, *, whole: bool = False) -> AppliedPatch:
    """Return what `patch` makes of the tree at `root`, which is only read.

    git places the hunks, in copies of the files. Where the patch does not apply as written, its
    counts and differences in blanks are passed over, and that is noted. Context is never skipped.
    All of the patch applies, or nothing does. A rename is a deletion and an addition.

    Tests, pytest's configuration, code that Python starts by itself and binary files are left out;
    with `whole`, as for a patch that adds tests, only binary files are. A syntax error that the
    patch makes is a remark and not a problem: the project's interpreter has the last word.

    Raises:
        PatchProblem: it cannot be read, is unsafe, does not apply, or all that it changes is left
            out; one line says why.
        UsageProblem: git is not installed.
    """
    diff = _diff_of(patch.text)
    depth, files = _read_names(diff, root)
    binary = tuple(file.path for file in files if file.is_binary)
    excluded = [f"--exclude={path}" for path in binary]
    sources = _MOVED.findall(patch.text)
    before = _read_files([*(file.path for file in files if not file.is_binary), *sources], root)
    after, mendings = _apply(diff, before, [depth, *excluded])
    changes = _changes(before, after)
    left_out = [] if whole else _left_out(changes, before)
    if binary:
        left_out.append(LeftOutFiles(what=LeftOutKind.BINARY_FILES, paths=binary))
    passed_over = set(chain.from_iterable(files.paths for files in left_out))
    kept = tuple(change for change in changes if change.path not in passed_over)
    if left_out and not kept:
        raise PatchProblem(OnlyLeftOut(left_out=tuple(left_out)))
    placing = [AppliedLeniently(mendings=mendings)] if mendings and changes else []
    return AppliedPatch(changes=kept, remarks=(*placing, *left_out, *_code_remarks(kept, before)))


# -- what git is given ----------------------------------------------------------------------------


def _diff_of(text: str) -> bytes:
    """Return a patch as git is to read it.

    Raises:
        PatchProblem: there is nothing in it, or it makes what is no file.
    """
    if not text.strip():
        raise PatchProblem(EmptyPatch())
    mode = _MODE.search(text)
    if mode:
        detail = "a symbolic link" if mode[1] == "120000" else "a submodule"
        path = text[: mode.start()].rstrip().rpartition("\n")[2].rpartition(" b/")[2]
        raise PatchProblem(UnsafePath(path=path, fault=PathFault.NO_FILE_IN_PATCH, detail=detail))
    try:
        diff = encode(text)
    except UnicodeEncodeError as error:
        raise PatchProblem(NoFilesText()) from error
    return diff if diff.endswith(b"\n") else diff + b"\n"


def _read_names(diff: bytes, root: Path) -> tuple[str, tuple[NamedFile, ...]]:
    """Return git's option for how much of the names is left out, and the files named then.

    Names begin with a letter of git's, with nothing, or with the project's place in a repository.
    Those are right by which most of the files, or their folders, are there.

    Raises:
        PatchProblem: git cannot read the diff, or a path is unsafe.
    """
    known: list[tuple[int, str, tuple[NamedFile, ...]]] = []
    for depth in (1, 0):
        with suppress(PatchProblem):
            files = _named(diff, depth)
            known.append((_known(files, root), f"-p{depth}", files))
    if not known:
        _named(diff, 1)  # which says what is wrong
    count, option, files = max(known, key=lambda named: named[0])
    place = _place_before({file.path for file in files}, root)
    if place and not count:
        option = f"-p{1 + place}"
        files = _named(diff, 1 + place)
    for file in files:
        _check_path(file.path, root)
    return option, files


def _named(diff: bytes, depth: int) -> tuple[NamedFile, ...]:
    """Return the files that a diff names, whether its counts are right or not."""
    try:
        return named_files(diff, f"-p{depth}")
    except PatchProblem:
        return named_files(mark_ends(diff), f"-p{depth}", "--recount")


def _place_before(paths: Collection[str], root: Path) -> int:
    """Return how many parts of the project's own path the names begin with: those of all."""
    parts = root.resolve().parts
    for number in range(1, len(parts)):
        place = "/".join(parts[-number:])
        if all(path.startswith(f"{place}/") for path in paths):
            return number
    return 0


def _known(files: Sequence[NamedFile], root: Path) -> int:
    """Return how many of some files, or of their folders, are there."""
    return sum(_is_known(file.path, root) for file in files)


def _is_known(path: str, root: Path) -> bool:
    place = root / path
    return is_file(place) or ("/" in path and is_folder(place.parent))


def _check_path(path: str, root: Path) -> None:
    """Refuse a path that is none of a file of the project, as it is or may be.

    Raises:
        PatchProblem: it is.
    """
    parts = path.split("/")
    if any(len(part.encode("utf-8", "surrogateescape")) > _LONGEST_NAME for part in parts):
        raise PatchProblem(UnsafePath(path=path, fault=PathFault.TOO_LONG))
    if any(unicodedata.category(letter) == "Cc" for letter in path):
        raise PatchProblem(UnsafePath(path=path, fault=PathFault.CONTROL_CHARACTER))
    if path.startswith("/"):
        raise PatchProblem(UnsafePath(path=path, fault=PathFault.ABSOLUTE))
    if ".." in parts:
        raise PatchProblem(UnsafePath(path=path, fault=PathFault.LEAVES_TREE))
    if any(part.casefold() == ".git" for part in parts):
        raise PatchProblem(UnsafePath(path=path, fault=PathFault.GIT_FOLDER))
    place = root
    for part in parts:
        place /= part
        is_end, detail = place == root / path, place.relative_to(root).as_posix()
        if place.is_symlink():
            fault = PathFault.LINK if is_end else PathFault.THROUGH_LINK
            raise PatchProblem(UnsafePath(path=path, fault=fault, detail=detail))
        if place.is_file() and not is_end:
            fault = PathFault.THROUGH_FILE
            raise PatchProblem(UnsafePath(path=path, fault=fault, detail=detail))
    if place.exists() and not place.is_file():
        raise PatchProblem(UnsafePath(path=path, fault=PathFault.NO_FILE_IN_TREE))


def _read_files(paths: Sequence[str], root: Path) -> _Files:
    """Return the files that exist of those that are named."""
    files: dict[str, _File] = {}
    for path in dict.fromkeys(paths):
        _check_path(path, root)
        place = root / path
        try:
            is_executable = bool(place.lstat().st_mode & stat.S_IXUSR)
            files[path] = _File(content=read_bounded(place), executable=is_executable)
        except (FileNotFoundError, NotADirectoryError):
            continue
        except OSError as error:
            said = error.strerror or str(error)
            raise PatchProblem(FileUnreadable(path=path, said=said)) from error
    return files


# -- what git makes of it -------------------------------------------------------------------------


def _apply(
    diff: bytes, before: _Files, options: Sequence[str]
) -> tuple[_Files, tuple[Mending, ...]]:
    """Return the files as a diff makes them, and what it took.

    Raises:
        PatchProblem: it does not apply.
    """
    _check_bare_hunks(diff, before)
    reasons: list[Refused] = []
    with tempfile.TemporaryDirectory(prefix="brt-apply-") as name:
        folder = Path(name)
        for path, file in before.items():
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_bytes(file.content)
            (folder / path).chmod(0o755 if file.executable else 0o644)
        for text, lenient, mendings in _attempts(diff, options[0]):
            why_not = apply_in(folder, text, [*options, *lenient])
            if why_not is None:
                return _read_back(folder, before, mendings)
            reasons.append(why_not)
    raise PatchProblem(reasons[0])


def _attempts(diff: bytes, depth: str) -> list[tuple[bytes, Sequence[str], tuple[Mending, ...]]]:
    """Return what is tried in turn: a text, options of git, and what that passes over."""
    marked = mark_ends(diff)
    attempts: list[tuple[bytes, Sequence[str], tuple[Mending, ...]]] = [(diff, (), ())]
    if b"\r\n" in diff:  # as a mail has all lines
        is_mail = diff.count(b"\r\n") == diff.count(b"\n")
        mended = () if is_mail else (Mending.LINE_ENDS,)
        attempts.append((diff.replace(b"\r\n", b"\n"), (), mended))
    recounted = (marked, _LENIENT[:1], (Mending.COUNTS,))
    # Where counts are too small, git takes the rest of a hunk for prose.
    with suppress(PatchProblem):
        if named_files(diff, depth) != named_files(marked, depth, "--recount"):
            attempts.insert(0, recounted)
    return [*attempts, recounted, (marked, _LENIENT, (Mending.BLANKS,))]


def _check_bare_hunks(diff: bytes, before: _Files) -> None:
    """Refuse lines that are added with none around them: git would put them at the end.

    Raises:
        PatchProblem: there are some, and not for the end of the file.
    """
    path = ""
    for number, line in enumerate(decode(diff).split("\n"), start=1):
        if line.startswith("--- "):
            path = next((name for name in before if line.rstrip().endswith(name)), "")
        bare = _BARE.match(line)
        if bare and path and before[path].content.count(b"\n") != int(bare[1]):
            raise PatchProblem(HunkAdrift(path=path, line=number))


def _read_back(
    folder: Path, before: _Files, mendings: tuple[Mending, ...]
) -> tuple[_Files, tuple[Mending, ...]]:
    """Return the files that are in a folder now; those with CRLF keep it."""
    after: dict[str, _File] = {}
    for place in sorted(folder.rglob("*")):
        if place.is_file():
            path = place.relative_to(folder).as_posix()
            content = place.read_bytes()
            old = before[path].content if path in before else b""
            has_crlf = old.count(b"\r\n") == old.count(b"\n") > 0
            if has_crlf and content.count(b"\r\n") < content.count(b"\n"):
                content = content.replace(b"\r\n", b"\n").replace(b"\n", b"\r\n")
                mendings = (Mending.LINE_ENDS,)
            is_executable = bool(place.stat().st_mode & stat.S_IXUSR)
            after[path] = _File(content=content, executable=is_executable)
    return after, mendings


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


# -- what is said of it ---------------------------------------------------------------------------


def _left_out(changes: Sequence[FileChange], before: _Files) -> list[LeftOutFiles]:
    """Return which of `changes` are no part of a candidate fix."""
    paths: defaultdict[LeftOutKind, list[str]] = defaultdict(list)
    for change in changes:
        old = before.get(change.path)
        kind = left_out_kind(change.path, old.content if old else None, change.content)
        if kind is not None:
            paths[kind].append(change.path)
    return [LeftOutFiles(what=kind, paths=tuple(names)) for kind, names in paths.items()]


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
