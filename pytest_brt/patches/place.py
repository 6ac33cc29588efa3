"""Hunks placed by the lines they name, where git would go by their form.

``git apply`` takes a hunk without leading context at line 1 for the beginning of the file,
and one without trailing context for its end, wherever the line numbers point. Machine-written
hunks often have neither, or always say line 1. A hunk belongs where its number says when all
its lines stand there; else, when they stand in exactly one place, in that one. Nothing is
skipped and nothing is guessed.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from dataclasses import replace

from unidiff.patch import Hunk

from pytest_brt.patches.names import decode
from pytest_brt.patches.target import Target


def find_places(lines: Sequence[str], olds: Sequence[str]) -> tuple[int, ...]:
    """Return the 1-based numbers in `lines` at which all of `olds` stand, one after another."""
    wanted = list(olds)
    return tuple(
        at + 1
        for at in range(len(lines) - len(wanted) + 1)
        if wanted and lines[at] == wanted[0] and lines[at : at + len(wanted)] == wanted
    )


def old_lines(hunk: Hunk) -> list[str]:
    """Return the lines that `hunk` must find, without marks and ends."""
    return [line.value.removesuffix("\n") for line in hunk.source_lines()]


def is_change(hunk: Hunk) -> bool:
    """Whether `hunk` adds or removes a line."""
    return bool(hunk.added or hunk.removed)


def is_bare(hunk: Hunk) -> bool:
    """Whether `hunk` has no context."""
    return not any(line.is_context for line in hunk)


def first_line(hunk: Hunk) -> int:
    """Return the 1-based number of the hunk's "@@" in the patch."""
    return (hunk[0].diff_line_no or 0) - 1


def place(
    targets: tuple[Target, ...], before: dict[str, bytes], *, search: bool
) -> tuple[Target, ...] | None:
    """Return `targets` with the line numbers at which their hunks stand in `before`.

    With `search` a hunk may stand elsewhere than it says. None when one has no certain place.
    """
    placed = []
    for target in targets:
        if target.old is None:
            placed.append(target)
            continue
        hunks = _place_hunks(target.hunks, split_lines(before, target), search=search)
        if hunks is None:
            return None
        placed.append(replace(target, hunks=hunks))
    return tuple(placed)


def find_adrift(targets: tuple[Target, ...], before: dict[str, bytes]) -> tuple[str, Hunk] | None:
    """Return the first hunk without context that could belong to several places, and its file."""
    for target in targets:
        if target.old not in before:
            continue
        lines = split_lines(before, target)
        for hunk in target.hunks:
            if is_change(hunk) and is_bare(hunk) and not _stands(hunk, lines):
                olds = old_lines(hunk)
                if not olds or len(find_places(lines, olds)) > 1:
                    return target.path, hunk
    return None


def split_lines(before: dict[str, bytes], target: Target) -> list[str]:
    r"""Return the lines of a target's file, "" last when it ends with "\n"."""
    return decode(before.get(target.old or "", b"")).split("\n")


def _place_hunks(
    hunks: tuple[Hunk, ...], lines: list[str], *, search: bool
) -> tuple[Hunk, ...] | None:
    placed = []
    # How many lines the hunks so far have added.
    grown = 0
    for hunk in hunks:
        if not is_change(hunk):
            continue
        start, olds = hunk.source_start, old_lines(hunk)
        if not _stands(hunk, lines):
            places = find_places(lines, olds) if search else ()
            if len(places) != 1:
                return None
            start = places[0]
        # An old side without lines is numbered by the line before it. A new one would be too,
        # but there git looks one line too early, so it gets the number of the line itself.
        there = copy(hunk)
        there.source_start, there.target_start = start, start + (not olds) + grown
        placed.append(there)
        grown += hunk.added - hunk.removed
    return tuple(placed)


def _stands(hunk: Hunk, lines: list[str]) -> bool:
    """Whether all that `hunk` must find is at the line that it says."""
    olds = old_lines(hunk)
    if not olds:
        # Nothing to find: certain at the end of the file only.
        return hunk.source_start == len(lines) - (not lines[-1])
    return lines[max(hunk.source_start - 1, 0) :][: len(olds)] == olds
