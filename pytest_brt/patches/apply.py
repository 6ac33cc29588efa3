"""Patch + tree → what the tree would be, without touching it.

unidiff says where hunks stand, and git places them, in copies of the files that a diff names.
"""

from __future__ import annotations

import re
import stat
import subprocess
import tempfile
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import chain
from pathlib import Path

from unidiff.errors import UnidiffParseError
from unidiff.patch import PatchSet

from pytest_brt.bounded import is_file, is_folder, read_bounded
from pytest_brt.patches.git import run_git
from pytest_brt.patches.left_out import LeftOutKind, left_out_kind, needs_build
from pytest_brt.patches.problem import PatchProblem
from pytest_brt.patches.text import decode, encode
from pytest_brt.pysource.parse import tree_of
from pytest_brt.types import (
    AppliedPatch,
    FileChange,
    Note,
    Patch,
)

_MODE = re.compile(r"^(?:new|old|new file|deleted file) mode (120000|160000)$", re.MULTILINE)
_MOVED = re.compile(r"^(?:rename|copy) from (.+)$", re.MULTILINE)
#: A hunk that only adds lines, and has none that say where.
_BARE = re.compile(r"^@@ -([1-9]\d*),0 \+")
_ODD_HUNK = re.compile(r"^@@(?! -\d+(?:,\d+)? \+\d+(?:,\d+)? @@).*", re.MULTILINE)
#: How lines of a hunk begin, and the next one.
_OF_HUNK = (b" ", b"+", b"-", b"\\", b"@@ ")
#: What git says, with a path or a line of the diff, and what that means.
_COMPLAINTS = (
    (r"(.+): No such file or directory", "file-missing",
     "file missing: {!r} is not in the tree"),
    (r"(.+): already exists in (?:working directory|index)", "file-exists",
     "file exists: {!r} is in the tree and the patch creates it"),
    (r"invalid path '(.+)'", "unsafe-path", "unsafe path: {!r} leaves the tree"),
    (r"path (.+) has been renamed/deleted", "file-gone",
     "does not apply: {!r} is not there any more"),
    (r"(.+?(?: at)? line \d+).*", "malformed", "malformed diff: {}"),
)  # fmt: skip
_NOT_A_DIFF = (
    "not a diff: no 'diff --git' line and no '---' line with '+++' after it (write it with"
    " 'git diff')"
)


_LENIENT = Note(
    code="applied-leniently",
    text="applied leniently: its counts, blanks or line ends differ from the tree's",
)
#: Files of the tree as they are, or as the patch makes them.
_Files = Mapping[str, FileChange]


def apply_patch(patch: Patch, root: Path, *, whole: bool = False) -> AppliedPatch:
    """Return what `patch` makes of the tree at `root`, which is only read.

    Where the patch does not apply as written, its counts and differences in blanks are passed
    over, and that is noted. Context is never skipped. All of the patch applies, or nothing does.
    A rename is a deletion and an addition.

    Tests, pytest's configuration, code that Python starts by itself and binary files are left out;
    with `whole`, as for a patch that adds tests, only binary files are. A syntax error that the
    patch makes is a remark and not a problem: the project's interpreter has the last word.

    Raises:
        PatchProblem: it cannot be read, is unsafe, does not apply, or all that it changes is left
            out; one line says why.
        UsageProblem: git is not installed.
    """
    diff = _diff_of(patch.text)
    depth, names = _read_names(diff, root)
    binary = tuple(path for path, is_binary in names.items() if is_binary)
    before = _read_files([*(names.keys() - binary), *_MOVED.findall(patch.text)], root)
    after, is_lenient = _apply(diff, before, depth, [f"--exclude={path}" for path in binary])
    changes = [
        after.get(path) or FileChange(path=path, content=None)
        for path in sorted({*before, *after})
        if after.get(path) != before.get(path)
    ]
    left_out = {} if whole else _left_out(changes, before)
    if binary:
        left_out[LeftOutKind.BINARY_FILES] = list(binary)
    passed_over = set(chain.from_iterable(left_out.values()))
    kept = tuple(change for change in changes if change.path not in passed_over)
    if left_out and not kept:
        kinds = (f"{_listed(paths)} ({kind.replace('-', ' ')})" for kind, paths in left_out.items())
        text = f"nothing is left to apply: left out {', '.join(kinds)}"
        raise PatchProblem("only-left-out", text)
    remarks = [
        Note(
            code="left-out-files",
            text=f"touches {kind.replace('-', ' ')}: left out {_listed(paths)}",
        )
        for kind, paths in left_out.items()
    ]
    if is_lenient and changes:
        remarks.insert(0, _LENIENT)
    return AppliedPatch(changes=kept, remarks=(*remarks, *_code_remarks(kept, before)))


def _listed(paths: Sequence[str]) -> str:
    return ", ".join(map(repr, paths))


# -- what git is given ----------------------------------------------------------------------------


def _diff_of(text: str) -> bytes:
    """Return a patch as git is to read it.

    Raises:
        PatchProblem: there is nothing in it, or it makes what is no file.
    """
    if not text.strip():
        raise PatchProblem("empty-patch", "empty patch: there is no text in it")
    if mode := _MODE.search(text):
        kind = "a symbolic link" if mode[1] == "120000" else "a submodule"
        path = text[: mode.start()].rstrip().rpartition("\n")[2].rpartition(" b/")[2]
        raise _unsafe(path, f" is {kind} in the patch; only files may change")
    try:
        diff = encode(text)
    except UnicodeEncodeError as error:
        why_not = "not a diff: the text has characters that no file can hold"
        raise PatchProblem("not-a-diff", why_not) from error
    return diff if diff.endswith(b"\n") else diff + b"\n"


def _unsafe(path: str, fault: str) -> PatchProblem:
    return PatchProblem("unsafe-path", f"unsafe path: {path!r}{fault}")


def _read_names(diff: bytes, root: Path) -> tuple[int, dict[str, bool]]:
    """Return how many parts of the names are left out, and the files, and whether each is binary.

    Names begin with a letter of git's, with nothing, or with the project's place in a repository.
    Those are right by which most of the files, or their folders, are there.

    Raises:
        PatchProblem: git cannot read the diff, or a path is unsafe.
    """
    marked = _mark_ends(diff)  # its counts may be wrong
    names = {depth: _named(marked, depth, "--recount") for depth in (1, 0)}
    if place := _place_before(names[1], root):
        names[1 + place] = _named(marked, 1 + place, "--recount")
    depth = max(names, key=lambda depth: (_known(names[depth], root), len(names[depth])))
    if not names[depth]:
        raise _refusal(diff, _numstat(diff, 1).stderr, {})
    for path in names[depth]:
        _check_path(path, root)
    return depth, names[depth]


def _numstat(diff: bytes, depth: int, *options: str) -> subprocess.CompletedProcess[bytes]:
    return run_git(Path("/"), "apply", "--numstat", "-z", f"-p{depth}", *options, stdin=diff)


def _named(diff: bytes, depth: int, *options: str) -> dict[str, bool]:
    """Return the files that a diff names, and whether each is binary; none if it is unreadable."""
    reply = _numstat(diff, depth, *options)
    fields = (field.split(b"\t", 2) for field in reply.stdout.split(b"\0") if field)
    return {} if reply.returncode else {decode(path): added == b"-" for added, _, path in fields}


def _place_before(paths: Mapping[str, bool], root: Path) -> int:
    """Return how many parts of the project's own path the names begin with: those of all."""
    parts = root.resolve().parts
    for number in range(1, len(parts)):
        place = "/".join(parts[-number:])
        if paths and all(path.startswith(f"{place}/") for path in paths):
            return number
    return 0


def _known(paths: Mapping[str, bool], root: Path) -> int:
    """Return how many of some files, or of their folders, are there."""
    return sum(
        is_file(root / path) or ("/" in path and is_folder((root / path).parent)) for path in paths
    )


def _check_path(path: str, root: Path) -> None:
    """Refuse a path that is none of a file of the project, as it is or may be.

    Raises:
        PatchProblem: it is.
    """
    parts = path.split("/")
    if path.startswith("/") or ".." in parts:
        raise _unsafe(path, " leaves the tree")
    if ".git" in path.casefold().split("/"):
        raise _unsafe(path, " is in git's own folder")
    if any(letter < " " for letter in path):
        raise _unsafe(path, " has a control character")
    place = root
    for part in parts:
        place /= part
        try:
            mode = place.lstat().st_mode
        except FileNotFoundError:
            return
        except OSError as error:
            raise _unsafe(path, f" can be no file: {error.strerror}") from error
        if stat.S_ISLNK(mode):
            raise _unsafe(path, f" goes through a symbolic link, {part!r}")
        if not (stat.S_ISREG(mode) if place == root / path else stat.S_ISDIR(mode)):
            raise _unsafe(path, " is not an ordinary file in the tree")


def _read_files(paths: Sequence[str], root: Path) -> _Files:
    """Return the files that exist of those that are named."""
    files: dict[str, FileChange] = {}
    for path in dict.fromkeys(paths):
        _check_path(path, root)
        place = root / path
        try:
            is_executable = bool(place.lstat().st_mode & stat.S_IXUSR)
            content = read_bounded(place)
            files[path] = FileChange(path=path, content=content, executable=is_executable)
        except FileNotFoundError:
            continue
        except OSError as error:
            why_not = f"cannot read {path!r} in the tree: {error.strerror}"
            raise PatchProblem("file-unreadable", why_not) from error
    return files


# -- what git makes of it -------------------------------------------------------------------------


def _apply(diff: bytes, before: _Files, depth: int, options: Sequence[str]) -> tuple[_Files, bool]:
    """Return the files as a diff makes them, and whether that took leniency.

    Raises:
        PatchProblem: it does not apply.
    """
    _check_bare_hunks(diff, before)
    complaint = b""
    with tempfile.TemporaryDirectory(prefix="brt-apply-") as name:
        folder = Path(name)
        for path, file in before.items():
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_bytes(file.content or b"")
            (folder / path).chmod(0o755 if file.executable else 0o644)
        for text, lenient in _attempts(diff, depth):
            words = ("apply", "--whitespace=nowarn", f"-p{depth}", *options, *lenient)
            reply = run_git(folder, *words, stdin=text)
            if not reply.returncode:
                # Of a mail, all lines end so.
                is_mail = diff.count(b"\r\n") == diff.count(b"\n")
                after, is_turned = _read_back(folder, before)
                return after, is_turned or bool(lenient) or (text != diff and not is_mail)
            complaint = complaint or reply.stderr
    raise _refusal(diff, complaint, before)


def _attempts(diff: bytes, depth: int) -> Iterator[tuple[bytes, tuple[str, ...]]]:
    """Yield what is tried in turn: a text, and options by which git is lenient."""
    marked = _mark_ends(diff)
    # Where counts are too small, git takes the rest of a hunk for prose.
    if _named(diff, depth) == _named(marked, depth, "--recount"):
        yield diff, ()
        yield diff.replace(b"\r\n", b"\n"), ()
    yield marked, ("--recount", "--ignore-whitespace")


def _mark_ends(diff: bytes) -> bytes:
    r"""Return a diff in which git, counting by itself, sees where the hunks of a file end.

    It takes the header of the next file for lines of a hunk, and stops at prose.

    >>> _mark_ends(b"@@ -1 +1 @@\n-a\n+b\n\nand so on\n").decode().splitlines()
    ['@@ -1 +1 @@', '-a', '+b', 'diff -u', 'and so on']
    """
    lines = diff.split(b"\n")
    marked: list[bytes] = []
    is_hunk = False
    for number, line in enumerate(lines):
        after = lines[number + 1 : number + 3]
        is_header = line.startswith(b"--- ") and len(after) == 2 and after[0].startswith(b"+++ ")
        ends = (is_header and after[1].startswith(b"@@ ")) or not line.startswith(_OF_HUNK)
        if is_hunk and line and ends:
            while not marked[-1]:
                marked.pop()
            marked.append(b"diff -u")
            is_hunk = False
        is_hunk = is_hunk or line.startswith(b"@@ ")
        marked.append(line)
    return b"\n".join(marked).rstrip(b"\n") + b"\n"


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
        if bare and path and (before[path].content or b"").count(b"\n") != int(bare[1]):
            raise _adrift(path, number)


def _adrift(path: str, line: int) -> PatchProblem:
    text = (
        f"does not apply: the hunk at line {line} of the patch has no context that says where in"
        f" {path!r} it belongs (write it with 'git diff -U3')"
    )
    return PatchProblem("hunk-adrift", text)


def _read_back(folder: Path, before: _Files) -> tuple[_Files, bool]:
    """Return the files that are in a folder now, and whether one was given its CRLF back."""
    after: dict[str, FileChange] = {}
    is_turned = False
    for place in filter(Path.is_file, folder.rglob("*")):
        path = place.relative_to(folder).as_posix()
        content = place.read_bytes()
        old = (before[path].content if path in before else None) or b""
        has_crlf = old.count(b"\r\n") == old.count(b"\n") > 0
        if has_crlf and content.count(b"\r\n") < content.count(b"\n"):
            content = content.replace(b"\r\n", b"\n").replace(b"\n", b"\r\n")
            is_turned = True
        is_executable = bool(place.stat().st_mode & stat.S_IXUSR)
        after[path] = FileChange(path=path, content=content, executable=is_executable)
    return after, is_turned


# -- what is said of it ---------------------------------------------------------------------------


def _refusal(diff: bytes, complaint: bytes, before: _Files) -> PatchProblem:
    """Return why git refuses a diff, from its words."""
    text = decode(complaint)
    if place := re.search(r"^error: patch failed: (.+):(\d+)$", text, re.MULTILINE):
        return _hunk_missing(diff, place[1], int(place[2]), before)
    for pattern, code, words in _COMPLAINTS:
        if found := re.search(f"^error: {pattern}$", text, re.MULTILINE):
            return PatchProblem(code, words.format(found[1]))
    if odd := _ODD_HUNK.search(decode(diff)):
        words = f"malformed diff: expected '@@ -N,N +N,N @@', found {odd[0]!r}"
        return PatchProblem("malformed", words)
    if b"No valid patches" in complaint or b"unrecognized input" in complaint:
        return PatchProblem("not-a-diff", _NOT_A_DIFF)
    first = text.strip().partition("\n")[0].removeprefix("error: ")
    return PatchProblem("git-failed", f"git apply: {first}")


def _hunk_missing(diff: bytes, path: str, meant: int, before: _Files) -> PatchProblem:
    """Return which hunk of a file, the first one meant for a line, does not fit."""
    where = ""
    with suppress(UnidiffParseError):
        for file in PatchSet(decode(diff)):
            for number, hunk in enumerate(file if path in (file.path, file.source_file) else (), 1):
                if hunk.source_start != meant:
                    continue
                line = (hunk[0].diff_line_no or 1) - 1
                removed = encode("".join(line.value for line in hunk if line.is_removed))
                is_here = path in before and removed in (before[path].content or b"")
                if is_here and not any(line.is_context for line in hunk):
                    return _adrift(path, line)
                where = f" {number} (line {line} of the patch, meant for line {meant} of the file)"
    text = f"does not apply: {path!r} has no lines like those of hunk{where or f' at {meant}'}"
    return PatchProblem("hunk-missing", text)


def _left_out(changes: Sequence[FileChange], before: _Files) -> dict[LeftOutKind, list[str]]:
    """Return which of `changes` are no part of a candidate fix."""
    paths: defaultdict[LeftOutKind, list[str]] = defaultdict(list)
    for change in changes:
        old = before.get(change.path)
        kind = left_out_kind(change.path, old.content if old else None, change.content)
        if kind is not None:
            paths[kind].append(change.path)
    return dict(paths)


def _code_remarks(changes: Sequence[FileChange], before: _Files) -> Iterator[Note]:
    if not changes:
        yield Note(code="changes-nothing", text="changes nothing")
    built = tuple(change.path for change in changes if needs_build(change))
    if built:
        yield Note(code="needs-build", text=f"has no effect before a build: {_listed(built)}")
    for change in changes:
        if change.content is not None and change.path.endswith(".py"):
            old = before.get(change.path)
            error = _syntax_error(change.content)
            if error and not (old and _syntax_error(old.content or b"")):
                # As text that can be printed, whatever bytes the name has.
                name = change.path.encode(errors="backslashreplace").decode()
                text = f"syntax error after applying: {name}:{error.lineno or 1}: {error.msg}"
                yield Note(code="syntax-error-after", text=text)


def _syntax_error(content: bytes) -> SyntaxError | None:
    try:
        tree_of(content)
    except SyntaxError as error:
        return error
    return None
