"""Groups of processes that may use so much memory together."""

from __future__ import annotations

import os
import secrets
import signal
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from pytest_brt.execute.sandbox import read_text

_CGROUPS = Path("/sys/fs/cgroup")
#: What the zygote and the row have anyway, on top of a test's own memory: MiB.
_BESIDES = 256
#: Limits by version: the file that must be there, and one for swap that may be.
_FILES = (("memory.max", "memory.swap.max", "0"), ("memory.limit_in_bytes", "", ""))
#: The file of a group by which a process joins: it writes its number there.
JOINING = "cgroup.procs"


def make_group(memory_mb: int) -> Path | None:
    """Make a group whose processes may use so much memory together, None if there can be none.

    Limits of single processes do not count what many of them hold, nor files in memory. Groups are
    made beside our own, as systemd delegates them to a user, or below it: cgroups(7).
    """
    limit = str((memory_mb + _BESIDES) << 20)
    for parent in _parents():
        _clear(parent)
        place = parent / f"brt-{os.getpid()}-{secrets.token_hex(4)}"
        try:
            place.mkdir()
        except OSError:
            continue
        for name, swap, none in _FILES:
            with suppress(OSError):
                (place / name).write_text(limit, encoding="ascii")
                if swap and (place / swap).exists():
                    (place / swap).write_text(none, encoding="ascii")
                return place
        place.rmdir()
    return None


def can_group() -> bool:
    """Return whether such groups can be made here."""
    group = make_group(1)
    if group is not None:
        remove_group(group)
    return group is not None


def remove_group(place: Path) -> None:
    """End what is left in a group, and remove it.

    Where somebody killed the process that held a test's daemon, nothing else may tell whose it is.
    """
    for _ in range(50):
        for pid in map(int, read_text(place / JOINING).split()):
            with suppress(ProcessLookupError, PermissionError):  # it ended meanwhile; is not ours
                if pid > 0:  # else it is of a process namespace that we do not see
                    os.kill(pid, signal.SIGKILL)
        with suppress(OSError):
            place.rmdir()
        if not place.exists():
            return
        time.sleep(0.02)


def _parents() -> Iterator[Path]:
    for line in read_text(Path("/proc/self/cgroup")).splitlines():
        _, controllers, path = line.split(":", 2)
        own = path.lstrip("/")
        if "memory" in controllers.split(","):
            yield _CGROUPS / "memory" / own
        elif not controllers:
            for mount in (_CGROUPS, _CGROUPS / "unified"):
                if (mount / "cgroup.controllers").is_file():
                    yield (mount / own).parent if own else mount
                    yield mount / own


def _clear(parent: Path) -> None:
    """Remove the groups of tools that were killed."""
    for place in parent.glob("brt-*-*"):
        pid = place.name.split("-")[1]
        if pid.isdigit() and not Path("/proc", pid).exists():
            with suppress(OSError):  # somebody is in it still
                place.rmdir()
