"""Standard output for a report alone: what else a run shows goes to standard error."""

from __future__ import annotations

import os

import pytest

#: Where the report goes: a descriptor of what was standard output when the run began.
_KEPT = pytest.StashKey[int]()


def keep_stdout(config: pytest.Config) -> None:
    """Keep standard output for a report, and let descriptor 1 be standard error from here on.

    Whatever writes to it, pytest, a plugin or a program that they start, then spoils no report.
    """
    config.stash[_KEPT] = os.dup(1)
    os.dup2(2, 1)


def write_report(config: pytest.Config, text: str) -> None:
    """Write the report where standard output was; nothing where it was not kept."""
    kept = config.stash.get(_KEPT, None)
    if kept is None:
        return
    del config.stash[_KEPT]
    with os.fdopen(kept, "w", encoding="utf-8", errors="replace") as stream:
        stream.write(text)
