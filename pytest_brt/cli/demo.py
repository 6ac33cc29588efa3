"""``pytest-brt demo``: a small project with a bug, a report and patches, and what comes out."""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from pytest_brt.errors import UsageProblem
from pytest_brt.shown import say

#: The files of the project, each below a line with its path.
_PROJECT = Path(__file__).parent / "demo.txt"
#: What a reader could type there.
_TYPED = ("issue", "issue.md", "--rank", "patches", "--report=report.html")


def register(commands: Any) -> None:
    """Add the command to `commands`, as `argparse` made it."""
    parser = commands.add_parser(
        "demo",
        help="show what comes out, on a small example",
        description="Make a small project with a bug, a bug report and three patches; reproduce "
        "the bug, rank the patches, and write the page. Nothing is fetched.",
    )
    parser.add_argument(
        "folder", metavar="DIR", nargs="?", help="where to make it (default: a temporary folder)"
    )
    parser.set_defaults(command=_demo)


def _demo(arguments: argparse.Namespace) -> int:
    if arguments.folder and Path(arguments.folder).exists():
        raise UsageProblem(f"demo: {arguments.folder!r} exists already (name a new folder)")
    folder = Path(arguments.folder or tempfile.mkdtemp(prefix="demo-of-pytest-brt-")).resolve()
    for path, text in project_files().items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text, encoding="utf-8")
    say(f"{folder}: a project with a bug, the report issue.md, and patches/\n")
    say(f"$ pytest-brt {' '.join(_TYPED)}")
    command = [sys.executable, "-m", "pytest_brt", *_TYPED, "--python", sys.executable]
    code = subprocess.call(command, cwd=folder)
    page = folder / "report.html"
    if page.is_file():
        say(f"\nThe page, for a browser: {page.as_uri()}")
    return code


def project_files() -> dict[str, str]:
    """Return the text of each file of the project."""
    parts = re.split(r"^==> (.+)\n", _PROJECT.read_text(encoding="utf-8"), flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))
