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
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

from pytest_brt.plugin.apart import TYPED, apart
from pytest_brt.plugin.option_list import GROUPS, MODES, MORE_OPTIONS, OPTIONS


@dataclass(frozen=True, slots=True, kw_only=True)
class _Run:
    """A command that starts pytest."""

    #: The option that its files are given to.
    flag: str
    #: Groups of options that its help lists first, its own before others.
    groups: tuple[str, ...]
    #: What it takes, and whether more than one.
    metavar: str = "FILE"
    about: str = "bug report; '-' reads stdin"
    several: bool = False
    #: What `--rank` does, where there is one.
    rank: str = ""


_RUNS = {
    "issue": _Run(
        flag="--brt-issue", groups=("issue", "rank"), several=True, rank="then rank these patches"
    ),
    "rank": _Run(
        flag="--rank-fixes",
        groups=("rank", "issue"),
        metavar="PATH",
        about="folder of patches, or patches",
        several=True,
    ),
    "repair": _Run(
        flag="--brt-repair",
        groups=("repair", "issue"),
        rank="rank them together with these patches",
    ),
}


def set_up(parser: argparse.ArgumentParser) -> None:
    """Say what a command takes, and list the options that matter most to it, its own first."""
    name = parser.get_default("typed")
    run = _RUNS[name]
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.description = (
        f"{parser.description} Further options are pytest's, and those below,\n"
        "which may be written with 'brt-' too: '--jobs 3' is '--brt-jobs 3'."
    )
    parser.epilog = "\n".join(_listed(run))
    count = "+" if run.several else 1
    parser.add_argument("files", nargs=count, metavar=run.metavar, help=run.about)
    if run.rank:
        parser.add_argument("--rank", metavar="PATH", nargs="+", help=run.rank)
    parser.set_defaults(takes_rest=True, command=_run, rank=None)


def _listed(run: _Run) -> Iterator[str]:
    """Yield the options of some groups as `argparse` would show them."""
    for group in (*run.groups, "model", "sandbox", "report"):
        yield f"{GROUPS[group]}:"
        for flag, of, metavar, _, _, text in (*OPTIONS, *MORE_OPTIONS):
            if of == group and flag not in MODES:
                yield f"  {flag.replace('--brt-', '--')} {metavar}".rstrip()
                yield textwrap.indent(textwrap.fill(text, 71), " " * 8)
        yield ""


def _run(arguments: argparse.Namespace) -> int:
    options = [f"{_RUNS[arguments.typed].flag}={file}" for file in arguments.files]
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
