"""Patch + tree → what the tree would be, without touching it; and such changes as a diff.

git places hunks, in copies of the files that a diff names.
"""

from __future__ import annotations

import os
import re
import subprocess
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import suppress
from difflib import unified_diff
from io import StringIO
from pathlib import Path

from unidiff.errors import UnidiffParseError
from unidiff.patch import PatchSet

from pytest_brt.bounded import is_file, is_folder, read_bounded
from pytest_brt.errors import PatchProblem
from pytest_brt.patches.git import decode, run_git
from pytest_brt.types import AppliedPatch, FileChange, Note, Patch

_MODE = re.compile(r"^(?:new|old|new file|deleted file) mode 1[26]0000$", re.MULTILINE)
_MOVED = re.compile(r"^(?:rename|copy) from (.+)$", re.MULTILINE)
#: A hunk that only adds lines, and has none that say where: git would put them at the end.
_BARE = re.compile(rb"^@@ -[1-9]\d*,0 \+", re.MULTILINE)
#: The last line of a hunk: before a header, the end of a mail, or prose. Counting by itself, git
#: takes a header for lines of the hunk, and stops at prose.
_LAST_LINE = re.compile(
    rb"^([ +-].*\n)\n*(?=--- .*\n\+\+\+ .*\n@@ |-- \n\d|(?!diff |@@ )[^ +\-\\\n])", re.MULTILINE
)
_LENIENTLY = ("--recount", "--ignore-whitespace")
_LENIENT = Note(
    code="applied-leniently",
    text="applied leniently: its counts, blanks or line ends differ from the tree's",
)
#: What is no path of a file below the project's root.
_OUTSIDE = re.compile(r"/|(?:.*/)?(?:\.\.|\.git)(?:/|$)|.*[\x00-\x1f]", re.IGNORECASE | re.DOTALL)
#: What git says, with a path or a line of the diff, and what that means.
_COMPLAINTS = (
    (r"patch failed: (.+):(\d+)", "hunk-missing",
     "does not apply: {!r} has no lines like those of the hunk for line {}"),
    (r"(.+): No such file or directory", "file-missing",
     "file missing: {!r} is not in the tree"),
    (r"(.+): already exists in (?:working directory|index)", "file-exists",
     "file exists: {!r} is in the tree and the patch creates it"),
    (r"(.+?(?: at)? line \d+).*", "malformed", "malformed diff: {}"),
    (r"((?!No valid patches|unrecognized input).+)", "git-failed", "git apply: {}"),
)  # fmt: skip
#: Paths that a candidate fix may not change, for it must not score by changing what judges it:
#: pytest's settings, code that Python starts by itself, installed code, tests. Folders called
#: "test" or "testing" hold tests at the top alone: deeper down they are often code that a project
#: offers.
_LEFT_OUT = re.compile(
    r"(?:.*/)?(?i:conftest\.py|\.?pytest\.(?:ini|toml)|tox\.ini|setup\.cfg|pyproject\.toml"
    r"|(?:site|user)customize\.py|[^/]*\.(?:pth|py[co]))"
    r"|(?:.*/)?(?:(?:site|dist)-packages|\.?venv|__pycache__|\.(?:pytest|mypy)_cache"
    r"|\.hypothesis|\.tox|\.nox)/.*"
    r"|(?:test|testing)/.*|(?:.*/)?(?:tests/.*|test_[^/]*\.py|[^/]*_test\.py|tests\.py)"
)


def apply_patch(patch: Patch, root: Path, *, whole: bool = False) -> AppliedPatch:
    """Return what `patch` makes of the tree at `root`, which is only read.

    Where the patch does not apply as written, its counts and differences in blanks are passed
    over, and that is noted. Context is never skipped. All of the patch applies, or nothing does.
    A rename is a deletion and an addition.

    Tests, pytest's configuration, code that Python starts by itself and binary files are left out;
    with `whole`, as for a patch that adds tests, only binary files are.

    Raises:
        PatchProblem: it cannot be read, is unsafe, does not apply, or all that it changes is left
            out; one line says why.
        UsageProblem: git is not installed.
    """
    diff = _diff_of(patch.text)
    depth, names = _read_names(diff, root)
    left_out = [p for p in sorted(names) if names[p] or (not whole and is_left_out(p))]
    listed = ", ".join(map(repr, left_out))
    if len(left_out) == len(names):
        words = "nothing is left to apply: tests, settings and binary files are left out"
        raise PatchProblem("only-left-out", f"{words}: {listed}")
    moved = ["/".join(path.split("/")[max(depth - 1, 0) :]) for path in _MOVED.findall(patch.text)]
    # Names that look like patterns are not excluded by git, and what is moved has two names.
    ours = {path for path in (*names, *moved) if path not in left_out}
    with tempfile.TemporaryDirectory(prefix="brt-apply-") as name:
        folder = Path(name)
        _copy_files(ours, root, folder)
        before = _read_files(folder)
        is_lenient = _apply(diff, folder, depth, left_out)
        after = _read_files(folder)
    changes = tuple(
        after.get(path) or FileChange(path=path, content=None)
        for path in sorted(ours)
        if after.get(path) != before.get(path) and (whole or not is_left_out(path))
    )
    remarks = [_LENIENT] if is_lenient else []
    if not changes:
        remarks = [Note(code="changes-nothing", text="changes nothing")]
    if left_out:
        remarks.append(Note(code="left-out-files", text=f"left out {listed}"))
    return AppliedPatch(changes=changes, remarks=tuple(remarks))


def is_left_out(path: str) -> bool:
    """Return whether a change of `path` is left out of a candidate fix.

    >>> is_left_out("pkg/tests/test_m.py")
    True
    """
    return _LEFT_OUT.fullmatch(path) is not None


# -- what git is given ----------------------------------------------------------------------------


def _diff_of(text: str) -> bytes:
    """Return a patch as git is to read it.

    Raises:
        PatchProblem: there is nothing in it, or it makes what is no file.
    """
    if not text.strip():
        raise PatchProblem("empty-patch", "empty patch: there is no text in it")
    if _MODE.search(text):
        raise PatchProblem("unsafe-path", "it makes a link or a submodule; only files may change")
    diff = text.encode("utf-8", "surrogateescape")
    if diff.count(b"\r\n") == diff.count(b"\n"):  # so a mail may have been sent
        diff = diff.replace(b"\r\n", b"\n")
    diff = diff.removesuffix(b"\n") + b"\n"
    if _BARE.search(diff):
        words = "does not apply: nothing says where the lines belong that a hunk adds"
        raise PatchProblem("hunk-adrift", f"{words} (write it with 'git diff -U3')")
    return diff


def _read_names(diff: bytes, root: Path) -> tuple[int, dict[str, bool]]:
    """Return how many parts of the names are left out, and the files, and whether each is binary.

    Names begin with a letter of git's, with nothing, or with the project's place in a repository.
    Those are right by which most of the files, or their folders, are there.

    Raises:
        PatchProblem: git cannot read the diff.
    """
    names = {}
    for depth in (1, 0):
        counted = _count_lines(_mark_ends(diff), depth, *_LENIENTLY).stdout
        fields = [field.split(b"\t", 2) for field in counted.split(b"\0") if field]
        names[depth] = {decode(path): added == b"-" for added, _, path in fields}
    parts = root.resolve().parts
    for number in range(1, len(parts)):
        place = "/".join((*parts[-number:], ""))
        if all(path.startswith(place) for path in names[1]):
            below = {path.removeprefix(place): binary for path, binary in names[1].items()}
            names[1 + number] = below
    there = {depth: sum(_is_there(root, path) for path in names[depth]) for depth in names}
    depth = max(names, key=lambda depth: (there[depth], len(names[depth])))
    if not names[depth]:
        raise _refusal(diff, _count_lines(diff, 1).stderr)
    return depth, names[depth]


def _mark_ends(diff: bytes) -> bytes:
    r"""Return a diff in which git, counting by itself, sees where the hunks of a file end.

    >>> _mark_ends(b"@@ -1 +1 @@\n-a\n+b\n\nand so on\n").decode().splitlines()
    ['@@ -1 +1 @@', '-a', '+b', 'diff -u', 'and so on']
    """
    return _LAST_LINE.sub(rb"\1diff -u\n", diff.rstrip(b"\n") + b"\n")


def _count_lines(diff: bytes, depth: int, *options: str) -> subprocess.CompletedProcess[bytes]:
    """Have git count the added and removed lines of each file that a diff names."""
    return run_git(Path("/"), "apply", "--numstat", "-z", f"-p{depth}", *options, stdin=diff)


def _is_there(root: Path, path: str) -> bool:
    """Return whether there is such a file, or its folder."""
    return is_file(root / path) or ("/" in path and is_folder((root / path).parent))


def _copy_files(paths: Iterable[str], root: Path, folder: Path) -> None:
    """Copy the files that exist of those that are named, where git is to change them.

    Raises:
        PatchProblem: one of them is no file of the project, as it is or may be.
    """
    for path in paths:
        place, copy = root / path, folder / path
        words = f"unsafe path: {path!r} is no file of the project"
        unsafe = PatchProblem("unsafe-path", words)
        if _OUTSIDE.match(path) or place.resolve() != root.resolve() / path:
            raise unsafe
        try:
            content = read_bounded(place)
        except FileNotFoundError:
            continue
        except OSError as error:
            raise unsafe from error
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_bytes(content)
        copy.chmod(0o755 if os.access(place, os.X_OK) else 0o644)


# -- what git makes of it -------------------------------------------------------------------------


def _apply(diff: bytes, folder: Path, depth: int, left_out: Iterable[str]) -> bool:
    """Apply a diff to the files in a folder; return whether that took leniency.

    Raises:
        PatchProblem: it does not apply.
    """
    marked = _mark_ends(diff.replace(b"\r\n", b"\n"))
    options = (f"-p{depth}", "--whitespace=nowarn", *(f"--exclude={path}" for path in left_out))
    complaint = b""
    # Where its counts are too small, git takes the rest of a hunk for prose.
    counts = _count_lines(diff, depth).stdout
    if counts == _count_lines(marked, depth, *_LENIENTLY).stdout:
        strictly = run_git(folder, "apply", *options, stdin=diff)
        if not strictly.returncode:
            return False
        complaint = strictly.stderr
    leniently = run_git(folder, "apply", *options, *_LENIENTLY, stdin=marked)
    if leniently.returncode:
        raise _refusal(diff, complaint or leniently.stderr)
    return True


def _read_files(folder: Path) -> dict[str, FileChange]:
    """Return the files in a folder."""
    files = {}
    for place in filter(Path.is_file, folder.rglob("*")):
        path, is_executable = place.relative_to(folder).as_posix(), os.access(place, os.X_OK)
        files[path] = FileChange(path=path, content=place.read_bytes(), executable=is_executable)
    return files


# -- why it is refused ----------------------------------------------------------------------------


def _refusal(diff: bytes, complaint: bytes) -> PatchProblem:
    """Return why git refuses a diff, from its words."""
    text = decode(complaint)
    for pattern, code, words in _COMPLAINTS:
        if match := re.search(f"^error: {pattern}$", text, re.MULTILINE):
            return PatchProblem(code, words.format(*match.groups()))
    with suppress(UnidiffParseError):
        if not PatchSet(decode(diff)):
            words = "not a diff: no 'diff --git' line and no '---' line with '+++' after it"
            return PatchProblem("not-a-diff", f"{words} (write it with 'git diff')")
    return PatchProblem("malformed", "malformed diff: no hunk begins with '@@ -N,N +N,N @@'")


# -- changes as a diff ----------------------------------------------------------------------------


def canonical_diff(changes: Iterable[FileChange], root: Path) -> str:
    """Return `changes` of the tree at `root` as a diff that git applies; "" when nothing changes.

    Bytes that are not UTF-8 are kept as surrogate escapes. Only the changed files are read, and
    their modes stay as they are.
    """
    return "".join(part for change in changes for part in _file_diff(change, root / change.path))


def _file_diff(change: FileChange, file: Path) -> Iterator[str]:
    before = file.read_bytes() if file.is_file() else None
    if change.content == before:
        return
    yield f"diff --git a/{change.path} b/{change.path}\n"
    old_name, new_name = f"a/{change.path}", f"b/{change.path}"
    if before is None:
        old_name = "/dev/null"
        yield "new file mode 100644\n"
    if change.content is None:
        new_name = "/dev/null"
        yield "deleted file mode 100644\n"
    for line in unified_diff(_lines(before), _lines(change.content), old_name, new_name):
        yield line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n"


def _lines(content: bytes | None) -> list[str]:
    """Return the lines of a file with their ends, where only a line feed is one."""
    return [*StringIO(decode(content or b""), newline="\n")]
