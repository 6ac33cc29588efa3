"""The pages that a reader follows from top to bottom are followed here.

In such a page a file is a block below a line that ends with its name (```...`path`:```), what is
typed is a block of ``sh``, and what comes out is the block of ``text`` right below it.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.docs import PAGES, steps_of
from tests.support.sessions import LEAN

#: Figures that differ from run to run, or from machine to machine.
VARIES = re.compile(r"\d+\.\d\ds|in \d+:\d+|\b[01]\.\d\d\b|=+|[0-9a-f]{7,40}")


def told(text: str) -> set[str]:
    """Return the lines of an output without what varies, and without those left out."""
    lines = (VARIES.sub("", line) for line in text.splitlines())
    return {" ".join(line.split()) for line in lines if "…" not in line}


def run(root: Path, typed: str) -> str:
    programs = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    git = {
        f"GIT_{who}_{what}": value
        for who in ("AUTHOR", "COMMITTER")
        for what, value in {"NAME": "A", "EMAIL": "a@example.org"}.items()
    }
    done = subprocess.run(
        ["bash", "-c", typed],
        cwd=root,
        env={**os.environ, **git, "PATH": programs, "COLUMNS": "80", "PYTEST_ADDOPTS": LEAN},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        encoding="utf-8",
        check=False,
    )
    # Until a person has accepted a test, how often the patch that leads is right is not known.
    is_unsure = "right on tests like these has not been measured" in done.stdout
    assert done.returncode == (7 if is_unsure else 0), f"{typed}{done.stdout}"
    return done.stdout


@pytest.mark.slow
@pytest.mark.long
@pytest.mark.parametrize("page", PAGES)
def test_a_page_can_be_followed(page: str, tmp_path: Path) -> None:
    root = tmp_path / "project"
    root.mkdir()
    # The environment of a project stands for the one that a reader has.
    (root / ".venv").symlink_to(sys.prefix)
    steps = steps_of(page)
    assert any(step.text and not step.path for step in steps), "nothing is typed"
    for step in steps:
        if step.path:
            target = root / step.path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(step.text, "utf-8")
            continue
        output = told(run(root, step.text))
        missing = told(step.shown) - output
        assert not missing, f"{step.text}\nnot printed: {missing}\nbut: {output}"
    (root / ".venv").unlink()


def test_every_page_that_is_followed_shows_what_comes_out() -> None:
    assert shutil.which("bash")
    for page in PAGES:
        assert any(step.shown for step in steps_of(page)), page
