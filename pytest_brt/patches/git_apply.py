"""Content + hunks → new content, by ``git apply``.

git is given the hunks alone, as a change of a file of ours: no name of the patch has to be quoted,
and none can be that of a file of attributes. No context is skipped, nothing is guessed.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Sequence
from pathlib import Path

from pytest_brt.patches.git import run_git
from pytest_brt.patches.hunks import PlacedHunk, Sign, hunks_text, place_hunks
from pytest_brt.patches.problem import PatchProblem
from pytest_brt.patches.target import Target
from pytest_brt.patches.text import decode
from pytest_brt.types import Mending, PlaceChosen
from pytest_brt.types.refused import GitFailed, HunkMissing

_HEADER = b"diff --git a/file b/file\n--- a/file\n+++ b/file\n"
#: What git says of a hunk whose lines it does not find, with the old line of its header.
_FAILED = re.compile(rb"^error: patch failed: file:(\d+)$", re.MULTILINE)


def apply_hunks(target: Target, content: bytes) -> tuple[bytes, tuple[Mending | PlaceChosen, ...]]:
    """Return what the hunks of `target` make of `content`, and what placing them took.

    Raises:
        PatchProblem: a hunk does not belong anywhere, or in several places.
        UsageProblem: git is not installed.
    """
    hunks = place_hunks(target, content)
    if not hunks:
        return content, ()
    notes: list[Mending | PlaceChosen] = []
    if any(hunk.is_converted for hunk in hunks):
        notes.append(Mending.LINE_ENDS)
    missing = next((hunk for hunk in hunks if hunk.place.sign is Sign.NONE), None)
    if missing is None:
        changed = _run_git(target, content, hunks, ignore_blanks=False)
        notes += _placing_notes(target, hunks)
    elif any(hunk.is_bare for hunk in hunks):
        raise PatchProblem(_hunk_missing(target, missing))
    else:
        changed = _run_git(target, content, hunks, ignore_blanks=True)
        notes.append(Mending.BLANKS)
    return changed, tuple(notes)


def _placing_notes(target: Target, hunks: Sequence[PlacedHunk]) -> list[Mending | PlaceChosen]:
    notes: list[Mending | PlaceChosen] = []
    for hunk in hunks:
        place = hunk.place
        if place.sign is Sign.LINES:
            notes.append(Mending.PLACES)
        elif place.choices > 1:
            chosen = PlaceChosen(path=target.source, hunk=hunk.number, places=place.choices)
            notes.append(chosen)
    return notes


def _run_git(
    target: Target, content: bytes, hunks: Sequence[PlacedHunk], *, ignore_blanks: bool
) -> bytes:
    # Without --unidiff-zero a hunk that lacks context must stand at the beginning or the end.
    how = "--ignore-whitespace" if ignore_blanks else "--unidiff-zero"
    text = _HEADER + hunks_text(hunks, ignore_blanks=ignore_blanks)
    with tempfile.TemporaryDirectory(prefix="brt-apply-") as folder:
        file = Path(folder, "file")
        file.write_bytes(content)
        reply = run_git(Path(folder), "apply", "--whitespace=nowarn", how, stdin=text)
        if reply.returncode:
            raise PatchProblem(_refused(target, hunks, reply.stderr))
        return file.read_bytes()


def _refused(
    target: Target, hunks: Sequence[PlacedHunk], complaint: bytes
) -> HunkMissing | GitFailed:
    failed = _FAILED.search(complaint)
    if not failed:
        first = decode(complaint).strip().partition("\n")[0]
        return GitFailed(said=f"apply: {first}")
    named = [hunk for hunk in hunks if hunk.place.start + 1 == int(failed[1])]
    # Where several say this line, it is the first that does not stand there as it is.
    missing = [hunk for hunk in named if hunk.place.sign is Sign.NONE]
    return _hunk_missing(target, missing[0] if missing else named[0])


def _hunk_missing(target: Target, hunk: PlacedHunk) -> HunkMissing:
    return HunkMissing(path=target.source, hunk=hunk.number, line=hunk.patch_line, meant=hunk.meant)
