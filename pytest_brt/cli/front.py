"""``pytest-brt issue``, ``rank``, ``repair`` and ``localise``: pytest, with an ini file of ours.

For projects whose own pytest settings stop pytest before a plugin is heard: an ini file that
pytest refuses, required plugins that are not installed here, a newer minimum version.
"""

from __future__ import annotations

import argparse
import os
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from pytest_brt.again import TYPED


def register(commands: Any) -> None:
    """Add the commands to `commands`, as `argparse` made it."""
    issue = commands.add_parser(
        "issue",
        help="write failing tests for bug reports",
        description="Same as: pytest --brt-issue FILE. Further options go to pytest.",
    )
    issue.add_argument("files", nargs="+", metavar="FILE", help="bug report; '-' reads stdin")
    issue.add_argument("--rank", metavar="DIR", help="then rank the patches in DIR")
    issue.set_defaults(command=_issue)
    rank = commands.add_parser(
        "rank",
        help="rank candidate patches",
        description="Same as: pytest --rank-fixes DIR. Further options go to pytest.",
    )
    rank.add_argument("patches", metavar="DIR", help="folder of patches")
    rank.set_defaults(command=_rank)
    repair = commands.add_parser(
        "repair",
        help="write candidate patches for a bug report, with a model",
        description="Same as: pytest --brt-repair FILE. Further options go to pytest.",
    )
    repair.add_argument("file", metavar="FILE", help="bug report; '-' reads stdin")
    repair.add_argument("--rank", metavar="DIR", help="rank them together with the patches in DIR")
    repair.set_defaults(command=_repair)
    localise = commands.add_parser(
        "localise",
        help="say where the bug of a report may be",
        description="Same as: pytest --brt-localise FILE. Further options go to pytest.",
    )
    localise.add_argument("file", metavar="FILE", help="bug report; '-' reads stdin")
    localise.set_defaults(command=_localise)
    for parser in (issue, rank, repair, localise):
        parser.add_argument(
            "--root", metavar="DIR", default=".", help="the project (default: this folder)"
        )
        parser.set_defaults(takes_rest=True)


def _issue(arguments: argparse.Namespace) -> int:
    options = [f"--brt-issue={file}" for file in arguments.files]
    if arguments.rank:
        options.append(f"--rank-fixes={arguments.rank}")
    return _pytest(arguments, options)


def _rank(arguments: argparse.Namespace) -> int:
    return _pytest(arguments, [f"--rank-fixes={arguments.patches}"])


def _repair(arguments: argparse.Namespace) -> int:
    options = [f"--brt-repair={arguments.file}"]
    if arguments.rank:
        options.append(f"--rank-fixes={arguments.rank}")
    return _pytest(arguments, options)


def _localise(arguments: argparse.Namespace) -> int:
    return _pytest(arguments, [f"--brt-localise={arguments.file}"])


def _pytest(arguments: argparse.Namespace, options: list[str]) -> int:
    root = Path(arguments.root).resolve()
    with tempfile.TemporaryDirectory(prefix="pytest-brt-") as scratch:
        ini = Path(scratch, "pytest.ini")
        ini.write_text(f"[pytest]\ncache_dir = {root}/.pytest_cache\n", encoding="utf-8")
        command = [sys.executable, "-m", "pytest", "-c", str(ini), f"--rootdir={root}"]
        # A project may need its own plugins; loading them is not what this run is about.
        typed = shlex.join(["pytest-brt", *sys.argv[1:]])
        environment = {**os.environ, "PYTEST_ADDOPTS": "", TYPED: typed}
        return subprocess.call([*command, *options, *arguments.rest], env=environment)
