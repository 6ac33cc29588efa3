"""The command line of a run of ours: pytest without what the project says of it.

It imports no pytest: where the project is pytest, the front end must start another one.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path

#: Set by the front end, which starts pytest with arguments that nobody typed.
TYPED = "PYTEST_BRT_TYPED"
#: The last of the arguments that set a run of ours apart; those of the user follow.
_LAST = "--no-header"


def apart(root: Path) -> list[str]:
    """Return the arguments by which pytest takes nothing from the project at `root`."""
    settings = ["-c", os.devnull, f"--rootdir={root}", "--noconftest"]
    # What pytest says of itself is about these settings; our own lines are shown all the same.
    return ["-p", "pytest_brt.plugin.start", *settings, _LAST]


def command_again(arguments: Sequence[str], environ: Mapping[str, str] = os.environ) -> str:
    """Return what to type to run the same again, where this run was started.

    >>> command_again(["-c", "x", "--no-header", "--brt-issue", "my issue.md"], {})
    "pytest --brt-issue 'my issue.md'"
    """
    # What sets the run apart was not typed.
    typed = arguments[arguments.index(_LAST) + 1 :] if _LAST in arguments else arguments
    return environ.get(TYPED) or f"pytest {shlex.join(typed)}"
