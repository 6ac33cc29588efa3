"""``pytest-brt demo``: the main job on a small project, made for it."""

from __future__ import annotations

import argparse
import os
import re
import sys
import tempfile
from pathlib import Path

from pytest_brt.cli.run_pytest import become
from pytest_brt.errors import UsageProblem
from pytest_brt.shown import say

#: The files of the project, each below a line with its path.
PROJECT = Path(__file__).parent / "demo.txt"
#: What a reader could type there.
_TYPED = ("issue", "issue.md", "--rank", "patches", "--report=report.html")


def set_up(parser: argparse.ArgumentParser) -> None:
    """Say what the command takes."""
    parser.description = (
        "Make a small project with a bug, a bug report and three patches; reproduce "
        "the bug, rank the patches, and write the page. Nothing is fetched."
    )
    where = "where to make it (default: a temporary folder)"
    parser.add_argument("folder", metavar="DIR", nargs="?", help=where)
    parser.set_defaults(command=_demo)


def _demo(arguments: argparse.Namespace) -> int:
    if arguments.folder and Path(arguments.folder).exists():
        raise UsageProblem(f"demo: {arguments.folder!r} exists already (name a new folder)")
    folder = Path(arguments.folder or tempfile.mkdtemp(prefix="demo-of-pytest-brt-")).resolve()
    for path, text in files_in(PROJECT).items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text, encoding="utf-8")
    say(f"{folder}: a project with a bug, the report issue.md, and patches/")
    say(f"The page, for a browser, will be {(folder / 'report.html').as_uri()}\n")
    say(f"$ pytest-brt {' '.join(_TYPED)}")
    os.chdir(folder)
    command = [sys.executable, "-P", "-m", "pytest_brt", *_TYPED, "--python", sys.executable]
    return become(command, os.environ)


def files_in(path: Path) -> dict[str, str]:
    """Return the texts in a file that holds several, each below a line with its path."""
    parts = re.split(r"^==> (.+)\n", path.read_text(encoding="utf-8"), flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))
