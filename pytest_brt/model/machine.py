"""What this machine has for a model: memory and cores."""

from __future__ import annotations

import os
import time
from pathlib import Path

#: Bytes read for the memory's bandwidth.
_READ = 1 << 28


def available_bytes() -> int:
    """Return the memory that can be had now: of the machine, or of the control group if less.

    Returns 0 where the system does not say.
    """
    found = [
        int(line.split()[1]) * 1024
        for line in _lines("/proc/meminfo")
        if line.startswith("MemAvailable:")
    ]
    limit, used = _lines("/sys/fs/cgroup/memory.max"), _lines("/sys/fs/cgroup/memory.current")
    if limit and used and limit[0].isdigit() and used[0].isdigit():
        found.append(max(0, int(limit[0]) - int(used[0])))
    return min(found, default=0)


def cores() -> int:
    """Return the physical cores that this process may keep busy.

    Two threads on one core would only wait for each other in a product of matrices, and a
    control group may grant less time than there are cores.
    """
    usable = (
        os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else range(os.cpu_count() or 1)
    )
    found = len({_siblings(number) for number in usable})
    quota, _, period = (_lines("/sys/fs/cgroup/cpu.max") or [""])[0].partition(" ")
    if quota.isdigit() and period.isdigit():
        found = min(found, -(-int(quota) // int(period)))
    return max(1, found)


def _siblings(number: int) -> str:
    """Return the threads of the core that the thread `number` is one of, as in "0,64"."""
    lines = _lines(f"/sys/devices/system/cpu/cpu{number}/topology/thread_siblings_list")
    return lines[0] if lines else str(number)


def _lines(path: str) -> list[str]:
    try:
        return Path(path).read_text(encoding="ascii").split("\n")
    except OSError:
        return []


def bandwidth() -> float:
    """Return the bytes per second that one thread reads from memory."""
    table = b"\x01" * _READ
    best = 0.0
    for _ in range(4):
        start = time.monotonic()
        table.find(b"\x02")  # not there: each byte is read once
        best = max(best, _READ / max(time.monotonic() - start, 1e-9))
    return best
