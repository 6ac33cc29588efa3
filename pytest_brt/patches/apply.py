"""Patch + tree → what the tree would be, without touching it.

unidiff says where hunks stand, and git places them, in copies of the files that a diff names.
"""

from __future__ import annotations

import os
import re
import subprocess
import tempfile
from collections.abc import Iterable, Mapping
from contextlib import suppress
from itertools import chain
from pathlib import Path

from unidiff.errors import UnidiffParseError
from unidiff.patch import PatchSet

from pytest_brt.bounded import is_file, is_folder, read_bounded
from pytest_brt.errors import PatchProblem
from pytest_brt.patches.git import run_git
from pytest_brt.patches.text import decode, encode
from pytest_brt.types import AppliedPatch, FileChange, Note, Patch

_MODE = re.compile(r"^(?:new|old|new file|deleted file) mode 1[26]0000$", re.MULTILINE)
_MOVED = re.compile(r"^(?:rename|copy) from (.+)$", re.MULTILINE)
#: A hunk that only adds lines, and has none that say where: git would put them at the end.
_BARE = re.compile(rb"^@@ -[1-9]\d*,0 \+", re.MULTILINE)
_ODD_HUNK = re.compile(r"^@@(?! -\d+(?:,\d+)? \+\d+(?:,\d+)? @@).*", re.MULTILINE)
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
_NOT_A_DIFF = (
    "not a diff: no 'diff --git' line and no '---' line with '+++' after it (write it with"
    " 'git diff')"
)
#: What git says, with a path or a line of the diff, and what that means.
_COMPLAINTS = (
    (r"(.+): No such file or directory", "file-missing",
     "file missing: {!r} is not in the tree"),
    (r"(.+): already exists in (?:working directory|index)", "file-exists",
     "file exists: {!r} is in the tree and the patch creates it"),
    (r"path (.+) has been renamed/deleted", "file-gone",
     "does not apply: {!r} is not there any more"),
    (r"(.+?(?: at)? line \d+).*", "malformed", "malformed diff: {}"),
    (r"((?!No valid patches|unrecognized input).+)", "git-failed", "git apply: {}"),
)  # fmt: skip
#: Paths that a candidate fix may not change, for it must not score by changing what judges it, by
#: the first kind that they are of. Folders called "test" or "testing" hold tests at the
#: top alone: deeper down they are often code that a project offers.
_KINDS = {
    "pytest-configuration": re.compile(
        r"(?:.*/)?(?:conftest\.py|\.?pytest\.(?:ini|toml)|tox\.ini|setup\.cfg|pyproject\.toml)",
        re.IGNORECASE,
    ),
    "startup-code": re.compile(
        r"(?:.*/)?(?:(?:site|user)customize\.py|[^/]*\.(?:pth|py[co]))", re.IGNORECASE
    ),
    "installed-code": re.compile(
        r"(?:.*/)?(?:(?:site|dist)-packages|\.?venv|__pycache__|\.(?:pytest|mypy)_cache"
        r"|\.hypothesis|\.tox|\.nox)/.*"
    ),
    "tests": re.compile(
        r"(?:test|testing)/.*|(?:.*/)?(?:tests/.*|test_[^/]*\.py|[^/]*_test\.py|tests\.py)"
    ),
}
#: Files of the tree as they are, or as the patch makes them.
_Files = Mapping[str, FileChange]


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
    groups: dict[str, list[str]] = {}
    for path, is_binary in sorted(names.items()):
        kind = "binary-files" if is_binary else "" if whole else left_out_kind(path)
        groups.setdefault(kind, []).append(path)
    kept = groups.pop("", [])
    left_out = [(kind.replace("-", " "), ", ".join(map(repr, groups[kind]))) for kind in groups]
    if not kept:
        kinds = ", ".join(f"{paths} ({kind})" for kind, paths in left_out)
        raise PatchProblem("only-left-out", f"nothing is left to apply: left out {kinds}")
    moved = ["/".join(path.split("/")[max(depth - 1, 0) :]) for path in _MOVED.findall(patch.text)]
    before = _read_files([*kept, *moved], root)
    after, is_lenient = _apply(diff, before, depth, [*chain.from_iterable(groups.values())])
    # Names that look like patterns are not excluded by git, and what is moved has two names.
    ours = {path for path in (*kept, *moved) if whole or not left_out_kind(path)}
    changes = tuple(
        after.get(path) or FileChange(path=path, content=None)
        for path in sorted(ours)
        if after.get(path) != before.get(path)
    )
    remarks = [_LENIENT] if is_lenient else []
    if not changes:
        remarks = [Note(code="changes-nothing", text="changes nothing")]
    for kind, paths in left_out:
        remarks.append(Note(code="left-out-files", text=f"touches {kind}: left out {paths}"))
    return AppliedPatch(changes=changes, remarks=tuple(remarks))


def left_out_kind(path: str) -> str:
    """Return as what a change of `path` is left out of a candidate fix; "" when it is not.

    >>> left_out_kind("pkg/tests/test_m.py")
    'tests'
    """
    return next((kind for kind, paths in _KINDS.items() if paths.fullmatch(path)), "")


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
    diff = encode(text)
    if diff.count(b"\r\n") == diff.count(b"\n"):  # so a mail may have been sent
        diff = diff.replace(b"\r\n", b"\n")
    diff = diff if diff.endswith(b"\n") else diff + b"\n"
    if bare := _BARE.search(diff):
        line = diff.count(b"\n", 0, bare.start()) + 1
        words = (
            f"does not apply: nothing says where the lines belong that the hunk at line {line} adds"
        )
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


def _read_files(paths: Iterable[str], root: Path) -> _Files:
    """Return the files that exist of those that are named.

    Raises:
        PatchProblem: one of them is no file of the project, as it is or may be.
    """
    files: dict[str, FileChange] = {}
    for path in paths:
        place = root / path
        if _OUTSIDE.match(path) or place.resolve() != root.resolve() / path:
            words = f"unsafe path: {path!r} leaves the tree, or goes through a symbolic link"
            raise PatchProblem("unsafe-path", words)
        try:
            content = read_bounded(place)
        except FileNotFoundError:
            continue
        except OSError as error:
            words = f"unsafe path: {path!r} can be no file: {error.strerror}"
            raise PatchProblem("unsafe-path", words) from error
        files[path] = FileChange(path=path, content=content, executable=os.access(place, os.X_OK))
    return files


# -- what git makes of it -------------------------------------------------------------------------


def _apply(diff: bytes, before: _Files, depth: int, left_out: Iterable[str]) -> tuple[_Files, bool]:
    """Return the files as a diff makes them, and whether that took leniency.

    Raises:
        PatchProblem: it does not apply.
    """
    marked = _mark_ends(diff.replace(b"\r\n", b"\n"))
    attempts = ((diff, ()), (marked, _LENIENTLY))
    counted = {_count_lines(text, depth, *lenient).stdout for text, lenient in attempts}
    options = (f"-p{depth}", "--whitespace=nowarn", *(f"--exclude={path}" for path in left_out))
    complaints = []
    with tempfile.TemporaryDirectory(prefix="brt-apply-") as name:
        folder = Path(name)
        for path, file in before.items():
            place = folder / path
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(file.content or b"")
            place.chmod(0o755 if file.executable else 0o644)
        # Where its counts are too small, git takes the rest of a hunk for prose.
        for text, lenient in attempts[len(counted) - 1 :]:
            reply = run_git(folder, "apply", *options, *lenient, stdin=text)
            if not reply.returncode:
                return _read_back(folder, before if lenient else {}), bool(lenient)
            complaints.append(reply.stderr)
    raise _refusal(diff, complaints[0])


def _read_back(folder: Path, before: _Files) -> _Files:
    """Return the files that are in a folder now; those of `before` keep their ends of lines."""
    after: dict[str, FileChange] = {}
    for place in filter(Path.is_file, folder.rglob("*")):
        path = place.relative_to(folder).as_posix()
        content = place.read_bytes()
        old = (before[path].content if path in before else None) or b""
        if old.count(b"\r\n") == old.count(b"\n") > 0:
            content = content.replace(b"\r\n", b"\n").replace(b"\n", b"\r\n")
        after[path] = FileChange(path=path, content=content, executable=os.access(place, os.X_OK))
    return after


# -- why it is refused ----------------------------------------------------------------------------


def _refusal(diff: bytes, complaint: bytes) -> PatchProblem:
    """Return why git refuses a diff, from its words."""
    text = decode(complaint)
    if place := re.search(r"^error: patch failed: (.+):(\d+)$", text, re.MULTILINE):
        return _misfit(diff, place[1], int(place[2]))
    for pattern, code, words in _COMPLAINTS:
        if match := re.search(f"^error: {pattern}$", text, re.MULTILINE):
            return PatchProblem(code, words.format(match[1]))
    if odd := _ODD_HUNK.search(decode(diff)):
        words = f"malformed diff: expected '@@ -N,N +N,N @@', found {odd[0]!r}"
        return PatchProblem("malformed", words)
    return PatchProblem("not-a-diff", _NOT_A_DIFF)


def _misfit(diff: bytes, path: str, meant: int) -> PatchProblem:
    """Return which hunk of a file, the first one meant for a line, does not fit."""
    where = f" at {meant}"
    with suppress(UnidiffParseError):
        for file in PatchSet(decode(diff)):
            hunks = enumerate(file if path in (file.path, file.source_file) else (), 1)
            for number, hunk in [(n, hunk) for n, hunk in hunks if hunk.source_start == meant]:
                line = (hunk[0].diff_line_no or 1) - 1
                where = f" {number} (line {line} of the patch, meant for line {meant} of the file)"
                if not any(line.is_context for line in hunk):
                    where += "; it has no context (write it with 'git diff -U3')"
    text = f"does not apply: {path!r} has no lines like those of hunk{where}"
    return PatchProblem("hunk-missing", text)
