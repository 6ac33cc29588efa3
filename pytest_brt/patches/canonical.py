"""Changes → the diff that ``git diff`` would print, and the lines it touches."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterable
from itertools import groupby
from pathlib import Path

from unidiff.patch import Hunk

from pytest_brt.errors import PatchProblem
from pytest_brt.patches.file_names import decode, read_name, without_prefix
from pytest_brt.patches.git import run_git
from pytest_brt.patches.scan import scan_diff
from pytest_brt.types import FileChange

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
                put(Path(folder, "a", change.path), source.read_bytes(), is_executable)
            if change.content is not None:
                put(Path(folder, "b", change.path), change.content, change.executable)
        for side in ("a", "b"):
            Path(folder, side).mkdir(exist_ok=True)
        flags = ("--no-prefix", "--no-renames", "--binary", "--full-index", "--no-color")
        reply = run_git(
            Path(folder),
            *("-c", "core.quotePath=false", "diff", "--no-index", *flags),
            *("--no-ext-diff", "--no-textconv", "--", "a", "b"),
        )
    if reply.status not in (0, 1):
        raise PatchProblem(f"git diff: {reply.stderr.strip().splitlines()[:1]}")
    return decode(_HEADER.sub(_both_sides, reply.stdout))


def touched_lines(diff: str) -> dict[str, tuple[int, ...]]:
    """Return, per file that `diff` leaves in place, the line numbers that it touches there.

    Numbers are 1-based and count in the new file. Added lines are touched; where lines were
    only removed, the lines on both sides of the gap are. For the lines of an `AppliedPatch`
    take ``touched_lines(canonical_diff(applied.changes, root))``: the line numbers that a
    patch was written with may be off.

    Raises:
        PatchProblem: `diff` is not empty and cannot be read.
    """
    if not diff:
        return {}
    found: dict[str, set[int]] = {}
    for file in scan_diff(diff).files:
        name = read_name(file.target_file)
        if name is None:
            continue
        lines = found.setdefault(without_prefix(name), set())
        for hunk in file:
            lines.update(_touched(hunk))
    return {path: tuple(sorted(lines)) for path, lines in found.items()}


def _touched(hunk: Hunk) -> set[int]:
    kept = {line.target_line_no or 0 for line in hunk.target_lines()}
    touched: set[int] = set()
    at = hunk.target_start
    lines = (line for line in hunk if line.is_context or line.is_added or line.is_removed)
    for is_context, run in groupby(lines, key=lambda line: line.is_context):
        left = sum(not line.is_removed for line in run)
        if not is_context:
            touched |= set(range(at, at + left)) or {at - 1, at} & kept
        at += left
    return touched


def put(place: Path, content: bytes, is_executable: bool) -> None:
    """Write a file, and the folders that it lies in."""
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
