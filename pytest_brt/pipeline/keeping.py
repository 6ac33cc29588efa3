"""What a run keeps for the next one, in the project's cache: its tests, and its ranking."""

from __future__ import annotations

import os
from dataclasses import replace
from datetime import datetime
from pathlib import Path

from pytest_brt.bounded import is_file
from pytest_brt.errors import StoreProblem, UsageProblem
from pytest_brt.store import LAST_RUN, LastRun, load_last_run, save_last_run
from pytest_brt.types import Review, RunRecord


def find_last_run(root: str) -> tuple[Path, LastRun]:
    """Return the folder in which the project at `root`, or above it, keeps its runs, and the last.

    A checkout may bring a link in its place: what that leads to was not kept there.

    Raises:
        UsageProblem: nothing was kept.
        StoreProblem: it cannot be read.
    """
    start = Path(root).resolve()
    for folder in (start, *start.parents):
        # pytest has its cache in the environment of tox where that runs it.
        kept = folder / os.environ.get("TOX_ENV_DIR", "") / ".pytest_cache/d/brt"
        if is_file(kept / LAST_RUN) and kept.resolve() == kept:
            return kept, load_last_run(kept)
    raise UsageProblem(
        f"no earlier run is kept in {str(start)!r} (run 'pytest-brt issue FILE' there, with "
        "'--rank PATH' to rank patches)"
    )


def keep(folder: Path, record: RunRecord) -> LastRun | None:
    """Keep what a run left; return the earlier run whose bug tests are kept instead of its own.

    Raises:
        StoreProblem: nothing can be written.
    """
    last, instead = _loaded(folder), None
    if record.attempts:
        made = tuple(judged for attempt in record.attempts for judged in attempt.tests)
        reports = ", ".join(issue.source for issue in record.issues)
        kept = last.followed_by(made, f"{reports}, {datetime.now():%Y-%m-%d %H:%M}")
        instead, last = kept if kept is last else None, kept
    if record.ranks:
        last = replace(last, ranks=record.ranks, tellings=record.tellings)
    save_last_run(folder, last)
    return instead


def reviews(folder: Path) -> dict[str, Review]:
    """Return what a person said of tests, by id."""
    return {judged.test.id: judged.review for judged in _loaded(folder).tests}


def _loaded(folder: Path) -> LastRun:
    try:
        return load_last_run(folder)
    except StoreProblem:
        return LastRun()  # what is damaged is replaced; whoever needs its tests is told
