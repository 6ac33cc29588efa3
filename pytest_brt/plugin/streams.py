"""Standard input for a report to read, and standard output for one to write alone.

Both are kept before pytest begins to capture.
"""

from __future__ import annotations

import os
import sys
from functools import partial
from io import BufferedReader

import pytest

#: Descriptors of what was standard input, and standard output, when the run began.
_INPUT, _OUTPUT = pytest.StashKey[int](), pytest.StashKey[int]()


def keep_streams(config: pytest.Config) -> None:
    """Keep the streams that the options name with "-".

    Where the output is for a report, descriptor 1 is standard error until the run ends: whatever
    writes to it, pytest, a plugin or a program that they start, then spoils no report.
    """
    options = config.known_args_namespace
    if "-" in (options.brt_issue or ()) or options.brt_repair == "-":
        kept = config.stash[_INPUT] = os.dup(0)
        config.add_cleanup(partial(os.close, kept))
    if "-" in (options.brt_report or ()):
        kept = config.stash[_OUTPUT] = os.dup(1)
        os.dup2(2, 1)
        config.add_cleanup(partial(_give_back, kept))


def _give_back(kept: int) -> None:
    sys.stdout.flush()
    os.dup2(kept, 1)
    os.close(kept)


def standard_input(config: pytest.Config) -> BufferedReader:
    """Return what was standard input."""
    return os.fdopen(os.dup(config.stash[_INPUT]), "rb")


def write_report(config: pytest.Config, text: str) -> None:
    """Write a report where standard output was."""
    kept = os.dup(config.stash[_OUTPUT])
    with os.fdopen(kept, "w", encoding="utf-8", errors="replace") as stream:
        stream.write(text)
