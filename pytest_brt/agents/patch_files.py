"""Writes the fixes that were found as patches, each with a header that says what was tried."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from pytest_brt.agents.prompts import render
from pytest_brt.render.answer import fix_words
from pytest_brt.shown import on_a_line
from pytest_brt.store import write_text
from pytest_brt.types import FoundFix, Issue, Repair

#: Begins every patch of ours.
_MARK = "#pytest-brt:"


def write_fixes(folder: Path, found: Sequence[tuple[FoundFix, Repair]], issue: Issue) -> None:
    """Write fixes into a folder, in place of those that an earlier run put there.

    Raises:
        StoreProblem: one cannot be written.
    """
    for old in sorted(folder.glob("fix-*.diff")):
        if old.read_bytes().startswith(_MARK.encode()):
            old.unlink()
    for fix, repair in found:
        write_text(folder / fix.patch.name, with_header(fix, repair, issue))


def with_header(fix: FoundFix, repair: Repair, issue: Issue) -> str:
    """Return the text of a patch: what git reads, below lines for people."""

    def line(text: str) -> str:
        return on_a_line(" ".join(text.split()))

    values = {"fix": fix, "repair": repair, "issue": issue, "does": fix_words(fix)}
    return f"{render('patch', line=line, **values)}\n{fix.patch.text}"
