"""The table of a ranking, which terminal, Markdown and page show: its columns, and its marks."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import compress

from pytest_brt.render.report import PatchEntry, TestEntry
from pytest_brt.render.words import listed
from pytest_brt.types import Author, Verdict

_HEADS = ("rank", "patch", "bug tests", "existing tests", "EPR", "score", "note")


def table(patches: Sequence[PatchEntry], *, whole: bool = False) -> list[tuple[str, ...]]:
    """Return a row of heads, then one for each patch, best first; the note comes last.

    What no patch has has no column; it is `whole` with all figures.
    """
    scored = any(patch.score is not None for patch in patches)
    existing = any(patch.existing for patch in patches)
    wanted = (True, True, True, existing, whole, scored, True)
    return [tuple(compress(row, wanted)) for row in (_HEADS, *map(_cells, patches))]


def _cells(patch: PatchEntry) -> tuple[str, ...]:
    first, last = patch.place or (0, 0)
    existing, broken = patch.existing, "-"
    if existing is not None:
        is_reached = existing.broken or not existing.ran or existing.reached != 0
        broken = f"{len(existing.broken)}/{existing.ran} break" if is_reached else "none run it"
    figures = ("-" if value is None else f"{value:.2f}" for value in (patch.epr, patch.score))
    return (
        f"{first}-{last}" if first != last else str(first or "-"),
        patch.name,
        f"{patch.passed}/{patch.total} pass" if patch.total else "-",
        broken,
        *figures,
        patch.note,
    )


def leads(patch: PatchEntry) -> bool:
    """Say whether a patch is among the first, and passes something."""
    return patch.place is not None and patch.place[0] == 1 and patch.passed > 0


def mark(patch: PatchEntry, test: TestEntry) -> tuple[str, str]:
    """Return what a bug test did on a patch, pass, fail, other, own or none, and in words."""
    name = test.full_name
    if any(outcome.test == test.id for outcome in patch.own_cells):
        return "own", f"{name} came with it"
    for outcome in patch.cells:
        if outcome.test == test.id and outcome.verdict is not Verdict.INVALID:
            kinds = {Verdict.PASS: "pass", Verdict.FAIL: "fail"}
            said = f"{name}: {outcome.verdict} {outcome.reason}"
            return kinds.get(outcome.verdict, "other"), said
    return "none", f"{name} did not run"


def origin_words(test: TestEntry) -> str:
    """Return whose test it is, as in "from a.diff"."""
    return {
        Author.REPORT: "made from the report",
        Author.MODEL: f"written by {test.model}",
        Author.PATCH: f"from {listed(test.brought_by)}",
        Author.PERSON: "yours",
    }[test.author]
