"""``pytest-brt demo`` shows a report reproduced, patches ranked, and where the page is."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from pytest_brt.cli.run import PROJECT, write_files


@pytest.mark.slow
def test_the_demo_writes_the_page(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "pytest_brt", "demo"],
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
        env={**os.environ, "TMPDIR": str(tmp_path)},
    )
    (folder,) = tmp_path.glob("demo-of-pytest-brt-*")
    assert done.returncode == 7, done.stdout + done.stderr
    assert "Possibly reproduced: test_clamp" in done.stdout
    assert "fix-2.diff: passes 4 of 4 bug tests" in done.stdout
    assert (folder / "report.html").as_uri() in done.stdout
    assert "fix-2.diff" in (folder / "report.html").read_text("utf-8")


def test_the_project_is_whole(tmp_path: Path) -> None:
    files = write_files(PROJECT, tmp_path)
    assert {"interval/__init__.py", "tests/test_interval.py", "issue.md"} < set(files)
    patch = (tmp_path / "patches/fix-2.diff").read_text("utf-8")
    assert patch.startswith("--- a/interval/__init__.py\n")
