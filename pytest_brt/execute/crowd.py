"""How many processes a user has: what a limit on them has to be counted from."""

from __future__ import annotations

import os
from pathlib import Path


def tasks_of(uid: int | None) -> int:
    """Return how many processes and threads a user (None: this one) has now, on Linux.

    The kernel holds RLIMIT_NPROC against all of them (setrlimit(2)), whoever started them.
    """
    wanted = os.getuid() if uid is None else uid
    count = 0
    for folder in Path("/proc").iterdir():
        if not folder.name.isdigit():
            continue
        try:
            if folder.stat().st_uid == wanted:
                count += sum(1 for _ in (folder / "task").iterdir())
        except OSError:
            continue  # it ended meanwhile
    return count
