"""``pytest-brt issue``, ``rank``, ``repair``: pytest, bare.

For projects whose own pytest settings stop pytest before plugins load: an ini file that
pytest refuses, required plugins that are not installed here, a newer minimum version.
"""

from __future__ import annotations

import argparse
import os
import shlex
import sys
import textwrap
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NoReturn

from pytest_brt.plugin.option_list import MODES, MORE_OPTIONS, OPTIONS, TYPED, apart

#: Command → the option that its files are given to, what they are called, and what they are.
_RUNS = {
    "issue": ("--brt-issue", "FILE", "bug report; '-' reads stdin"),
    "rank": ("--rank-fixes", "PATH", "folder of patches, or patches"),
    "repair": ("--brt-repair", "FILE", "bug report"),
}


def set_up(parser: argparse.ArgumentParser, name: str) -> None:
    """Say what a command takes, and list its options."""
    option, metavar, about = _RUNS[name]
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.description = (
        f"{parser.description} Further options are pytest's, and those below,\n"
        "which may be written with 'brt-' too: '--jobs 3' is '--brt-jobs 3'."
    )
    parser.epilog = "\n".join(_listed())
    nargs = 1 if name == "repair" else "+"
    parser.add_argument("files", nargs=nargs, metavar=metavar, help=about)
    if name != "rank":
        parser.add_argument("--rank", metavar="PATH", nargs="+", help="then rank these patches")
    parser.set_defaults(command=_run, option=option, rank=())


def _listed() -> Iterator[str]:
    """Yield the options, as `argparse` would show them."""
    for flag, _, metavar, _, _, text in (*OPTIONS, *MORE_OPTIONS):
        if flag not in MODES:
            yield f"  {flag.replace('--brt-', '--')} {metavar}"
            yield textwrap.indent(textwrap.fill(text, 71), " " * 8)


def _run(arguments: argparse.Namespace, rest: Sequence[str]) -> NoReturn:
    options = [f"{arguments.option}={file}" for file in arguments.files]
    options += [f"--rank-fixes={path}" for path in arguments.rank]
    known = {flag for flag, *_ in (*OPTIONS, *MORE_OPTIONS)}
    for argument in rest:
        ours = argument.replace("--", "--brt-", 1)
        options.append(ours if ours.partition("=")[0] in known else argument)
    root = Path(arguments.root).resolve()
    # A project may need its own plugins; loading them is not what this run is about.
    typed = shlex.join(["pytest-brt", *sys.argv[1:]])
    environment = {**os.environ, "PYTEST_ADDOPTS": "", TYPED: typed}
    command = [sys.executable, "-P", "-m", "pytest", *apart(root), *options]
    # It goes on as another program, so that there is one process that signals reach and that
    # ends: with a child, ``timeout`` or a cancelled job would end this one alone.
    sys.stdout.flush()
    os.execve(command[0], command, environment)
