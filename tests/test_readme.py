"""What the README shows of its two commands is what they print."""

from __future__ import annotations

import re
import shlex
import sys
from pathlib import Path

import pytest

from tests.support.docs import ROOT
from tests.support.interval import SOURCE, diff_of
from tests.support.sessions import LEAN

README = (ROOT / "README.md").read_text("utf-8")
REPORT = re.compile(r"^````markdown\n(.*?)^````$", re.DOTALL | re.MULTILINE)
SESSION = re.compile(r"^```console\n\$ (.*?)\n```\n```text\n(.*?)^```$", re.DOTALL | re.MULTILINE)
MEAN = "    return sum(values) / len(values)\n"
#: What each pull request has in place of the line with the bug.
PULL_REQUESTS = {
    "pr-1": f"    try:\n    {MEAN}    except ZeroDivisionError:\n        return None\n",
    "pr-2": f"    if not values:\n        return 0\n{MEAN}",
    "pr-3": "    return sum(values) // max(1, len(values) - 1)\n",
}


def lines_of(output: str) -> set[str]:
    return {" ".join(line.split()) for line in output.splitlines()}


@pytest.fixture
def three_pull_requests(project: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the project of the README, with its report and patches."""
    monkeypatch.setenv("PYTEST_ADDOPTS", LEAN)  # existing tests run, too
    root: Path = project.path
    report = REPORT.search(README)
    assert report is not None
    (root / "issue.md").write_text(report[1], "utf-8")
    (root / "tox.ini").unlink()
    for patch in (root / "patches").iterdir():
        patch.unlink()
    for name, fix in PULL_REQUESTS.items():
        (root / f"patches/{name}.diff").write_text(diff_of(SOURCE.replace(MEAN, fix)), "utf-8")
    return root


@pytest.mark.slow
@pytest.mark.usefixtures("three_pull_requests")
@pytest.mark.parametrize(("typed", "shown"), SESSION.findall(README))
def test_a_command_prints_what_is_shown(project: pytest.Pytester, typed: str, shown: str) -> None:
    program, *arguments = shlex.split(typed)
    assert program == "pytest-brt"
    result = project.run(sys.executable, "-m", "pytest_brt", *arguments, *LEAN.split())
    # How often the first of such patches is right was not measured.
    assert result.ret == (7 if "--rank" in arguments else 0), result.stderr.str()
    assert lines_of(shown) - lines_of(result.stdout.str()) == set()


def test_both_commands_are_shown() -> None:
    assert [typed.split()[1] for typed, _ in SESSION.findall(README)] == ["issue", "issue"]


def test_it_is_read_in_two_minutes() -> None:
    assert len(README.split()) <= 500
