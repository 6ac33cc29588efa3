"""``pytest-brt demo``: the main job on a small project, made for it."""

from __future__ import annotations

import argparse
import os
import re
import sys
import tempfile
from pathlib import Path

from pytest_brt.errors import UsageProblem
from pytest_brt.shown import say

#: The files of the project, each below a line with its path.
PROJECT = Path(__file__).parent / "demo.txt"
#: What a reader could type there.
_TYPED = ("issue", "issue.md", "--rank", "patches", "--report=report.html")


def set_up(parser: argparse.ArgumentParser, _: str) -> None:
    """Say what the command takes."""
    parser.description = (
        "Make a small project with a bug, a bug report and three patches; reproduce "
        "the bug, rank the patches, and write the page. Nothing is fetched."
    )
    where = "where to make it (default: a temporary folder)"
    parser.add_argument("folder", metavar="DIR", nargs="?", help=where)
    parser.set_defaults(command=_demo)


def _demo(arguments: argparse.Namespace) -> None:
    if arguments.folder and Path(arguments.folder).exists():
        raise UsageProblem(f"demo: {arguments.folder!r} exists already (name a new folder)")
    folder = Path(arguments.folder or tempfile.mkdtemp(prefix="demo-of-pytest-brt-")).resolve()
    write_files(PROJECT, folder)
    say(f"{folder}: a project with a bug, the report issue.md, and patches/")
    say(f"The page, for a browser, will be {(folder / 'report.html').as_uri()}\n")
    say(f"$ pytest-brt {' '.join(_TYPED)}")
    os.chdir(folder)
    command = [sys.executable, "-P", "-m", "pytest_brt", *_TYPED, "--python", sys.executable]
    os.execv(command[0], command)


def write_files(path: Path, folder: Path) -> list[str]:
    """Write the files that are in one, each below a line with its path; return their paths."""
    parts = re.split(r"^==> (.+)\n", path.read_text("utf-8"), flags=re.MULTILINE)
    for place, text in zip(parts[1::2], parts[2::2], strict=True):
        (folder / place).parent.mkdir(parents=True, exist_ok=True)
        (folder / place).write_text(text, "utf-8")
    return parts[1::2]
