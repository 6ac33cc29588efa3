"""What the last run in a project left in pytest's cache."""

from __future__ import annotations

from pathlib import Path

from pytest_brt.code.ini import cache_dir_of
from pytest_brt.errors import UsageProblem
from pytest_brt.store import LastRun, load_last_run


def find_last_run(root: str, name: str) -> tuple[Path, Path, LastRun]:
    """Return the project at `root` or above it, its folder of what was kept, and that as `name`.

    Raises:
        UsageProblem: nothing was kept.
        StoreProblem: it cannot be read.
    """
    start = Path(root).resolve()
    for folder in (start, *start.parents):
        kept = cache_dir_of(folder) / "d/brt"
        if (kept / name).is_file():
            return folder, kept, load_last_run(kept, name)
    raise UsageProblem(
        f"no earlier run is kept in {str(start)!r} (run 'pytest-brt issue FILE' there, with "
        "'--rank PATH' to rank patches)"
    )
