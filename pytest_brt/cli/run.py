"""``pytest-brt issue``, ``rank``, ``repair`` and ``demo``: pytest, bare.

For projects whose own pytest settings stop pytest before plugins load: an ini file that
pytest refuses, required plugins that are not installed here, a newer minimum version.
"""

from __future__ import annotations

import argparse
import os
import re
import shlex
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from pytest_brt.errors import SandboxProblem
from pytest_brt.plugin.option_list import MODES, OPTIONS, declaration, destination
from pytest_brt.shown import say

#: Command → the option that its files are given to, what they are called, and what they are.
_RUNS = {
    "issue": ("brt_issue", "FILE", "bug report; '-' reads stdin"),
    "rank": ("rank_fixes", "PATH", "folder of patches, or patches"),
    "repair": ("brt_repair", "FILE", "bug report"),
}
#: The files of the demo, each below a line with its path.
PROJECT = Path(__file__).parent / "demo.txt"


def add_options(parser: argparse.ArgumentParser, *names: str) -> None:
    """Add options of pytest's, as in ``--timeout`` for ``--brt-timeout``: all, or some by name."""
    for row in OPTIONS:
        name = row[0].removeprefix("--brt-")
        if row[0] not in MODES and (not names or name in names):
            parser.add_argument(f"--{name}", **declaration(row))


def set_up(parser: argparse.ArgumentParser, name: str) -> None:
    """Say what a command takes."""
    if name == "demo":
        parser.description = (
            "Make a small project with a bug, a bug report and three patches; reproduce "
            "the bug, rank the patches, and write the page. Nothing is fetched."
        )
        parser.set_defaults(command=_demo)
        return
    target, metavar, about = _RUNS[name]
    parser.description = (
        f"{parser.description} Further options are pytest's, and those below."
    )
    nargs = 1 if name == "repair" else "+"
    parser.add_argument(target, nargs=nargs, metavar=metavar, help=about)
    if name != "rank":
        about = "then rank these patches"
        parser.add_argument(
            "--rank", dest="rank_fixes", nargs="+", metavar="PATH", help=about
        )
    add_options(parser)
    parser.set_defaults(command=_run)


def _run(arguments: argparse.Namespace) -> int:
    options = [
        f"{flag}={text}"
        for flag, *_ in OPTIONS
        for text in getattr(arguments, destination(flag), None) or ()
    ]
    return run_bare(sys.argv[1:], [*options, *arguments.rest], arguments.root)


def run_bare(typed: Sequence[str], options: Sequence[str], root: str = ".") -> int:
    """Run pytest with options of ours for the project at `root`; a user `typed` something else."""
    # The project's modules are taken for nobody else's, whatever they are called.
    sys.path[:] = [path for path in sys.path if path not in ("", os.getcwd())]  # noqa: PTH109
    from pytest_brt.plugin.session import TYPED, run_apart  # imported late: start-up time

    # A project may need its own plugins; loading them is not what this run is about.
    os.environ |= {"PYTEST_ADDOPTS": "", TYPED: shlex.join(["pytest-brt", *typed])}
    return run_apart(options, root)


def _demo(_: argparse.Namespace) -> int:
    from pytest_brt.sandbox.sandbox import open_sandbox  # imported late: start-up time

    folder = Path(tempfile.mkdtemp(prefix="demo-of-pytest-brt-")).resolve()
    write_files(PROJECT, folder)
    say(f"{folder}: a project with a bug, the report issue.md, and patches/")
    say(f"The page, for a browser, will be {(folder / 'report.html').as_uri()}\n")
    options = ["--brt-issue=issue.md", "--rank-fixes=patches", "--brt-report=report.html"]
    typed = ["issue", "issue.md", "--rank", "patches", "--report=report.html"]
    try:
        open_sandbox("auto")
    except SandboxProblem:  # what it runs is ours
        options.append("--brt-sandbox=none")
        typed.append("--sandbox=none")
    say(f"$ pytest-brt {' '.join(typed)}")
    os.chdir(folder)
    return run_bare(typed, [*options, f"--brt-python={sys.executable}"])


def write_files(path: Path, folder: Path) -> list[str]:
    """Write the files that are in one, each below a line with its path; return their paths."""
    parts = re.split(r"^==> (.+)\n", path.read_text("utf-8"), flags=re.MULTILINE)
    for place, text in zip(parts[1::2], parts[2::2], strict=True):
        (folder / place).parent.mkdir(parents=True, exist_ok=True)
        (folder / place).write_text(text, "utf-8")
    return parts[1::2]
