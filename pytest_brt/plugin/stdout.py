"""Standard output for a report alone: what else a run shows goes to standard error."""

from __future__ import annotations

import os
import sys
from functools import partial

import pytest

#: Where the report goes: a descriptor of what was standard output when the run began.
_KEPT = pytest.StashKey[int]()


def keep_stdout(config: pytest.Config) -> None:
    """Keep standard output for a report, and let descriptor 1 be standard error until the run ends.

    Whatever writes to it, pytest, a plugin or a program that they start, then spoils no report.
    """
    kept = config.stash[_KEPT] = os.dup(1)
    os.dup2(2, 1)
    config.add_cleanup(partial(_give_back, kept))


def _give_back(kept: int) -> None:
    sys.stdout.flush()
    os.dup2(kept, 1)
    os.close(kept)


def write_report(config: pytest.Config, text: str) -> None:
    """Write the report where standard output was."""
    kept = config.stash[_KEPT]
    with os.fdopen(os.dup(kept), "w", encoding="utf-8", errors="replace") as stream:
        stream.write(text)
