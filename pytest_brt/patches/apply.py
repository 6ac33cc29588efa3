"""Patch + tree → what the tree would be, without touching it; and such changes as a diff.

git places hunks, in copies of the files that a diff names.
"""

from __future__ import annotations

import os
import re
import subprocess
import tempfile
from collections.abc import Iterable
from contextlib import suppress
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
    rb"^([ +-].*\n)\n*(?=--- .*\n\+\+\+ .*\n@@ |-- \n\d|(?!diff |@@ )[^ +\-\\\n])",
    re.MULTILINE,
)
_COMPARE = (
    "-c", "core.quotePath=false", "diff", "--no-index", "--no-prefix", "--no-renames", "--text",
    "a", "b",
)  # fmt: skip
#: A line of a hunk that is in the tree.
_OLD = re.compile(rb"^[ -](?!-- )(.*\n)", re.MULTILINE)
_LENIENT = Note(
    code="applied-leniently",
    text="applied leniently: its counts, line numbers, blanks or line ends differ from "
    "the tree's",
)
#: What is no path of a file below the project's root.
_OUTSIDE = re.compile(
    r"/|(?:.*/)?(?:\.\.|\.git)(?:/|$)|.*[\x00-\x1f]", re.IGNORECASE | re.DOTALL
)
#: What git would take for a pattern in a name.
_PATTERN = re.compile(r"[][*?\\]")
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
        words = "it changes nothing but tests, settings or binary files, which are left out"
        raise PatchProblem("only-left-out", f"{words}: {listed}")
    moved = [p.split("/", max(depth - 1, 0))[-1] for p in _MOVED.findall(patch.text)]
    # Names that look like patterns are not excluded by git, and what is moved has two names.
    before = [_read(root, path) for path in sorted({*names, *moved}.difference(left_out))]
    with tempfile.TemporaryDirectory(prefix="brt-apply-") as name:
        folder = Path(name)
        _write(folder, before)
        text = b"".join(file.content or b"" for file in before)
        is_lenient = _apply(diff, text, folder, depth, left_out)
        after = [_read(folder, file.path) for file in before]
    ours = [file for file in after if whole or not is_left_out(file.path)]
    changes = tuple(file for file in ours if file not in before)
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
        raise PatchProblem(
            "unsafe-path", "it makes a link or a submodule; only files may change"
        )
    diff = text.encode("utf-8", "surrogateescape")
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
        counted = _count_lines(_mark_ends(diff), depth, "--recount").stdout
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


def _count_lines(
    diff: bytes, depth: int, *options: str
) -> subprocess.CompletedProcess[bytes]:
    """Have git count the added and removed lines of each file that a diff names."""
    return run_git(
        Path("/"), "apply", "--numstat", "-z", f"-p{depth}", *options, stdin=diff
    )


def _is_there(root: Path, path: str) -> bool:
    """Return whether there is such a file, or its folder."""
    return is_file(root / path) or ("/" in path and is_folder((root / path).parent))


def _read(root: Path, path: str) -> FileChange:
    """Return a file of the tree at `root`, which need not be there.

    Raises:
        PatchProblem: it is no file of the project, as it is or may be.
    """
    place, content = root / path, None
    words = f"unsafe path: {path!r} is no file of the project"
    if _OUTSIDE.match(path) or place.resolve() != root.resolve() / path:
        raise PatchProblem("unsafe-path", words)
    try:
        content = read_bounded(place)
    except FileNotFoundError:
        pass
    except OSError as error:
        raise PatchProblem("unsafe-path", words) from error
    return FileChange(path=path, content=content, executable=os.access(place, os.X_OK))


def _write(folder: Path, files: Iterable[FileChange]) -> None:
    """Write those files below a folder that there are, where git is to look at them."""
    for file in files:
        place = folder / file.path
        if file.content is not None:
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(file.content)
            place.chmod(0o755 if file.executable else 0o644)


# -- what git makes of it -------------------------------------------------------------------------


def _apply(
    diff: bytes, text: bytes, folder: Path, depth: int, left_out: Iterable[str]
) -> bool:
    """Apply a diff to files of this text in a folder; return whether that took leniency.

    Raises:
        PatchProblem: it does not apply.
    """
    marked = _mark_ends(diff.replace(b"\r\n", b"\n"))
    options = (
        f"-p{depth}",
        "--whitespace=nowarn",
        *("--exclude=" + _PATTERN.sub(r"\\\g<0>", path) for path in left_out),
    )
    complaint = b""
    # Where its counts are too small, git takes the rest of a hunk for prose.
    counts = _count_lines(diff, depth).stdout
    if counts == _count_lines(marked, depth, "--recount").stdout:
        strictly = run_git(folder, "apply", *options, stdin=diff)
        if not strictly.returncode:
            return False
        complaint = strictly.stderr
    mended = "--unidiff-zero" if _is_clear(marked, text) else "--ignore-whitespace"
    leniently = run_git(folder, "apply", *options, "--recount", mended, stdin=marked)
    if leniently.returncode:
        raise _refusal(diff, complaint or leniently.stderr)
    return True


def _is_clear(diff: bytes, text: bytes) -> bool:
    """Say whether what each hunk of a diff is to find is in one place of a text alone.

    Then git finds it without the lines around it that models leave out, wrong numbers and all.
    """
    return all(
        text.count(b"".join(_OLD.findall(hunk))) == 1 for hunk in diff.split(b"\n@@ -")[1:]
    )


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
    return PatchProblem(
        "malformed", "malformed diff: no hunk begins with '@@ -N,N +N,N @@'"
    )


# -- changes as a diff ----------------------------------------------------------------------------


def canonical_diff(changes: Iterable[FileChange], root: Path) -> str:
    """Return `changes` of the tree at `root` as a diff that git applies; "" when nothing changes.

    Bytes that are not UTF-8 are kept as surrogate escapes. Only the changed files are read, and
    their modes stay as they are.

    Raises:
        UsageProblem: git is not installed.
    """
    with tempfile.TemporaryDirectory(prefix="brt-diff-") as name:
        folder = Path(name)
        for side in "ab":
            (folder / side).mkdir()
        for change in changes:
            file = root / change.path
            before = file.read_bytes() if file.is_file() else None
            for side, content in (("a", before), ("b", change.content)):
                _write(folder / side, [FileChange(path=change.path, content=content)])
        return decode(run_git(folder, *_COMPARE).stdout)
