"""How the user repeats a run: the command line as it was typed."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from pytest_brt.plugin.option_values import TYPED


def command_again(
    arguments: Sequence[str], program: str = sys.argv[0], environ: Mapping[str, str] = os.environ
) -> str:
    """Return what to type to run the same again, where this run was started.

    >>> command_again(["--brt-issue", "my issue.md"], "/usr/bin/pytest", {})
    "pytest --brt-issue 'my issue.md'"

    Args:
        arguments: pytest's, as it was invoked.
        program: what was started, as in `sys.argv`.
        environ: where the front end says what was typed.
    """
    if TYPED in environ:
        return environ[TYPED]
    path = Path(program)
    module = path.name == "__main__.py"
    name = f"python -m {path.parent.name}" if module else path.name
    return f"{name} {shlex.join(arguments)}"
