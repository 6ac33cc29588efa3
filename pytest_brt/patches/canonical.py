"""Changes of a tree as git prints them."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterable
from pathlib import Path

from pytest_brt.patches.git import run_git
from pytest_brt.patches.problem import PatchProblem
from pytest_brt.patches.text import decode
from pytest_brt.types import FileChange
from pytest_brt.types.refused import GitFailed

_HEADER = re.compile(rb'^diff --git ("?)[ab](/.*)$', re.MULTILINE)


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
        reply = run_git(
            Path(folder), "-c", "core.quotePath=false", "diff", "--no-index", "--no-prefix",
            "--no-renames", "--binary", "--full-index", "--no-color", "--no-ext-diff",
            "--no-textconv", "--", "a", "b",
        )  # fmt: skip
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
