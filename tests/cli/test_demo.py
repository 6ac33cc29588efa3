"""``pytest-brt demo`` shows a report reproduced, patches ranked, and where the page is."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from pytest_brt.cli.main import main
from pytest_brt.cli.run import PROJECT, write_files


@pytest.mark.slow
def test_the_demo_writes_the_page(tmp_path: Path) -> None:
    folder = tmp_path / "demo"
    done = subprocess.run(
        [sys.executable, "-m", "pytest_brt", "demo", str(folder)],
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
    )
    assert done.returncode == 7, done.stdout + done.stderr
    assert "Possibly reproduced: test_clamp" in done.stdout
    assert "fix-2.diff: passes 4 of 4 bug tests" in done.stdout
    assert (folder / "report.html").as_uri() in done.stdout
    assert "fix-2.diff" in (folder / "report.html").read_text("utf-8")


def test_nothing_that_exists_is_written_over(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["demo", str(tmp_path)]) == 4
    assert "exists already (name a new folder)" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_the_project_is_whole(tmp_path: Path) -> None:
    files = write_files(PROJECT, tmp_path)
    assert {"interval/__init__.py", "tests/test_interval.py", "issue.md"} < set(files)
    patch = (tmp_path / "patches/fix-2.diff").read_text("utf-8")
    assert patch.startswith("--- a/interval/__init__.py\n")
