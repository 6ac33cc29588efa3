"""What a run keeps for the next one, in the project's cache: its tests, and its ranking."""

from __future__ import annotations

import os
from contextlib import ExitStack
from datetime import datetime
from pathlib import Path

from pytest_brt.bounded import is_file
from pytest_brt.errors import StoreProblem, UsageProblem
from pytest_brt.store import (
    RANKED,
    Journal,
    LastRun,
    hold,
    load_last_run,
    save_last_run,
)
from pytest_brt.types import JudgedTest, Review, RunRecord


def open_journal(folder: Path, setting: str, closing: ExitStack) -> Journal | None:
    """Return what keeps finished work for the case that this run is interrupted.

    None where the file is that of a run which goes on; `closing` lets other runs have it. `setting`
    stands for all that decides the results.
    """
    path = folder / "journal.jsonl"
    try:
        descriptor = hold(path)
    except BlockingIOError:
        return None
    except OSError:
        descriptor = None  # two runs at once may do the same work
    if descriptor is not None:
        closing.callback(os.close, descriptor)
    return Journal(path, setting)


def written_tests(record: RunRecord) -> tuple[JudgedTest, ...]:
    """Return the tests that the run wrote."""
    return tuple(judged for attempt in record.attempts for judged in attempt.tests)


def find_last_run(root: str, name: str, *others: str) -> tuple[Path, Path, LastRun]:
    """Return the project at `root` or above it, its folder of what was kept, and that as `name`.

    It is the first folder in which `name` is kept, or one of the `others`. A checkout may bring a
    link in its place: what that leads to was not kept there.

    Raises:
        UsageProblem: nothing was kept.
        StoreProblem: it cannot be read.
    """
    start = Path(root).resolve()
    for folder in (start, *start.parents):
        # pytest has its cache in the environment of tox where that runs it.
        kept = folder / os.environ.get("TOX_ENV_DIR", "") / ".pytest_cache/d/brt"
        if any(is_file(kept / file) for file in (name, *others)) and kept.resolve() == kept:
            return folder, kept, load_last_run(kept, name)
    raise UsageProblem(
        f"no earlier run is kept in {str(start)!r} (run 'pytest-brt issue FILE' there, with "
        "'--rank PATH' to rank patches)"
    )


def keep_tests(folder: Path, record: RunRecord) -> LastRun | None:
    """Keep the tests that a run wrote; return the earlier run whose bug tests are kept instead.

    Raises:
        StoreProblem: nothing can be written.
    """
    reports = ", ".join(issue.source for issue in record.issues)
    about = f"{reports}, {datetime.now():%Y-%m-%d %H:%M}"
    try:
        last = load_last_run(folder)
    except StoreProblem:
        last = LastRun(tests=())  # what is damaged is replaced
    kept = last.followed_by(LastRun(tests=written_tests(record), about=about))
    save_last_run(folder, kept)
    return kept if kept.tests and kept.about != about else None


def reviews(folder: Path) -> dict[str, Review]:
    """Return what a person said of tests, by id; nothing where what was kept is damaged."""
    try:
        last = load_last_run(folder)
    except StoreProblem:
        return {}  # whoever needs these tests is told
    return {judged.test.id: judged.review for judged in (*last.others, *last.tests)}


def keep_ranking(folder: Path, record: RunRecord) -> None:
    """Keep what a run ranked, and by which tests.

    Raises:
        StoreProblem: nothing can be written.
    """
    ranking = LastRun(
        tests=(*written_tests(record), *record.given),
        ranks=record.ranks,
        tellings=record.tellings,
    )
    save_last_run(folder, ranking, RANKED)
