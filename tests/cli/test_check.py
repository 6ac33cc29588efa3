"""``pytest-brt check``: a test that somebody wrote is held against a report."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from pytest_brt.cli.main import main
from pytest_brt.cli.run import PROJECT, write_files

TEST = """\
from interval import clamp


def test_right():
    assert clamp(5, 0, 10) == 5
"""


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("check")
    write_files(PROJECT, root)
    (root / "mine.py").write_text(TEST, "utf-8")
    return root


def check(project: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "pytest_brt", "check", *arguments]
    return subprocess.run(command, cwd=project, capture_output=True, text=True, check=False)


def test_a_file_that_is_not_python_is_no_bug_test(project: Path) -> None:
    (project / "broken.py").write_text("def test_right():\n    assert (1\n", "utf-8")
    done = check(project, "broken.py", "--issue", "issue.md")
    assert done.returncode == 1
    assert "SyntaxError" in done.stdout
    assert "Traceback" not in done.stderr


def test_a_report_that_names_nothing_cannot_tell(project: Path) -> None:
    (project / "vague.md").write_text("clamp() is off\n\nIt looks odd.\n", "utf-8")
    done = check(project, "mine.py::test_right", "--issue", "vague.md")
    assert done.returncode == 1
    assert "?    fails for the reported reason: its failure shows no value that the report has" in (
        done.stdout
    )
    assert "mine.py::test_right: perhaps a bug test: read it" in done.stdout


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("mine.py::nope", "--issue", "issue.md"), "no such test: 'mine.py::nope'"),
        (("none.py", "--issue", "issue.md"), "check: cannot read 'none.py': No such file"),
        (("mine.py", "--issue", "none.md"), "none.md"),
        (("mine.py", "--issue", "issue.md", "--env", "A"), "env: expected NAME=VALUE"),
    ],
)
def test_what_cannot_be_used_is_one_line(
    project: Path,
    arguments: tuple[str, ...],
    said: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(project)
    assert main(["check", *arguments]) == 4
    error = capsys.readouterr().err
    assert said in error
    assert len(error.splitlines()) == 1
