"""Hunks placed by the lines they name, where git would go by their form.

``git apply`` takes a hunk without leading context at line 1 for the beginning of the file,
and one without trailing context for its end, wherever the line numbers point. Machine-written
hunks often have neither, or always say line 1. A hunk belongs where its number says when all
its lines stand there; else, when they stand in exactly one place, in that one. Nothing is
skipped and nothing is guessed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from pytest_brt.patches.diff import Hunk
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
        hunks = _place_hunks(target.diff.hunks, split_lines(before, target), search=search)
        if hunks is None:
            return None
        placed.append(replace(target, diff=replace(target.diff, hunks=hunks)))
    return tuple(placed)


def find_adrift(targets: tuple[Target, ...], before: dict[str, bytes]) -> tuple[str, Hunk] | None:
    """Return the first hunk without context that could belong to several places, and its file."""
    for target in targets:
        if target.old not in before:
            continue
        lines = split_lines(before, target)
        for hunk in target.diff.hunks:
            if hunk.is_change and hunk.is_bare and not _stands(hunk, lines):
                count = len(find_places(lines, hunk.olds))
                if count > 1 or not hunk.olds:
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
        if not hunk.is_change:
            continue
        start = hunk.old_start
        if not _stands(hunk, lines):
            places = find_places(lines, hunk.olds) if search else ()
            if len(places) != 1:
                return None
            start = places[0]
        # An old side without lines is numbered by the line before it. A new one would be too,
        # but there git looks one line too early, so it gets the number of the line itself.
        first = start + (not hunk.olds) + grown
        placed.append(replace(hunk, old_start=start, new_start=first))
        grown += len(hunk.news) - len(hunk.olds)
    return tuple(placed)


def _stands(hunk: Hunk, lines: list[str]) -> bool:
    """Whether all that `hunk` must find is at the line that it says."""
    olds = list(hunk.olds)
    if not olds:
        # Nothing to find: certain at the end of the file only.
        return hunk.old_start == len(lines) - (not lines[-1])
    return lines[max(hunk.old_start - 1, 0) :][: len(olds)] == olds
