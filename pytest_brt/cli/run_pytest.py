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
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NoReturn

from pytest_brt.plugin.option_list import GROUPS, MODES, MORE_OPTIONS, OPTIONS, TYPED, apart

#: Command → the option that its files are given to, what they are called, and what they are.
_RUNS = {
    "issue": ("--brt-issue", "FILE", "bug report; '-' reads stdin"),
    "rank": ("--rank-fixes", "PATH", "folder of patches, or patches"),
    "repair": ("--brt-repair", "FILE", "bug report"),
}


def set_up(parser: argparse.ArgumentParser) -> None:
    """Say what a command takes, and list its options."""
    name = parser.get_default("typed")
    _, metavar, about = _RUNS[name]
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
    parser.set_defaults(takes_rest=True, command=_run, rank=None)


def _listed() -> Iterator[str]:
    """Yield the options by their groups, as `argparse` would show them."""
    for group, title in GROUPS.items():
        yield f"{title}:"
        for flag, of, metavar, _, _, text in (*OPTIONS, *MORE_OPTIONS):
            if of == group and flag not in MODES:
                yield f"  {flag.replace('--brt-', '--')} {metavar}".rstrip()
                yield textwrap.indent(textwrap.fill(text, 71), " " * 8)


def _run(arguments: argparse.Namespace) -> int:
    options = [f"{_RUNS[arguments.typed][0]}={file}" for file in arguments.files]
    options += [f"--rank-fixes={path}" for path in arguments.rank or ()]
    known = {flag for flag, *_ in (*OPTIONS, *MORE_OPTIONS)}
    for argument in arguments.rest:
        name, sign, value = argument.partition("=")
        ours = f"--brt-{name.removeprefix('--')}"
        options.append(f"{ours}{sign}{value}" if name[:2] == "--" and ours in known else argument)
    root = Path(arguments.root).resolve()
    command = [sys.executable, "-P", "-m", "pytest", *apart(root)]
    # A project may need its own plugins; loading them is not what this run is about.
    typed = shlex.join(["pytest-brt", *sys.argv[1:]])
    environment = {**os.environ, "PYTEST_ADDOPTS": "", TYPED: typed}
    return become([*command, *options], environment)


def become(command: list[str], environment: Mapping[str, str]) -> NoReturn:
    """Go on as another program, so that there is one process that signals reach and that ends.

    With a child, ``timeout`` or a cancelled job would end this process alone.
    """
    for stream in filter(None, (sys.stdout, sys.stderr)):
        stream.flush()
    os.execve(command[0], command, environment)
