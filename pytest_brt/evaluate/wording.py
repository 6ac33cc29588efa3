"""The user's own prompts, taken along: results depend on their texts, not on where they lie."""

from __future__ import annotations

import atexit
from collections.abc import Sequence
from functools import cache
from pathlib import Path

from pytest_brt.dialogue.prompts import SUFFIX, Prompts
from pytest_brt.errors import UsageProblem
from pytest_brt.execute.scratch import HeldFolder
from pytest_brt.store import write_text


def read_wording(folder: Path | None) -> tuple[tuple[str, str], ...]:
    """Return the prompts in `folder`: the path of each below it, and its text.

    Raises:
        UsageProblem: one cannot be read.
    """
    if folder is None:
        return ()
    found = []
    for path in sorted(folder.rglob(f"*{SUFFIX}")):
        try:
            found.append((path.relative_to(folder).as_posix(), path.read_text("utf-8")))
        except (OSError, UnicodeDecodeError) as error:
            raise UsageProblem(f"--brt-prompts: cannot read {str(path)!r}: {error}") from error
    return tuple(found)


def prompts_of(wording: Sequence[tuple[str, str]]) -> Prompts:
    """Return prompts with these texts, wherever this process runs.

    Raises:
        UsageProblem: one replaces no prompt, or is no jinja2.
    """
    return Prompts(_folder(tuple(wording)) if wording else None)


@cache
def _folder(wording: tuple[tuple[str, str], ...]) -> Path:
    """Return a folder with these files, which is there as long as this process."""
    folder = HeldFolder("pytest-brt-prompts-")
    atexit.register(folder.close)
    for name, text in wording:
        write_text(folder.path / name, text)
    return folder.path
