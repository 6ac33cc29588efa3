"""What one test may use up."""

from __future__ import annotations

import os
from dataclasses import dataclass

#: Bytes of one file, and how many may be open.
_FILE_BYTES, _OPEN_FILES = 256 << 20, 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What one test may use up."""

    #: Wall-clock seconds of one test.
    seconds: float = 60.0
    #: Wall-clock seconds of starting and collecting, where `seconds` is not more.
    start_seconds: float = 60.0
    #: Address space of one test process, in MiB.
    memory_mb: int = 2048
    #: Wall-clock seconds of all tests on one tree.
    row_seconds: float = 1800.0

    @property
    def of_processes(self) -> dict[str, int]:
        """The limits that the system keeps."""
        memory = self.memory_mb << 20
        return {"AS": memory, "CORE": 0, "FSIZE": _FILE_BYTES, "NOFILE": _OPEN_FILES}


def memory_for(jobs: int) -> int:
    """Return the MiB that each of so many processes gets of half of the machine's memory."""
    machine = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return max(512, (machine >> 21) // jobs)
