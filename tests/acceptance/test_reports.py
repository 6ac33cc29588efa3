"""The files a run writes for its user, and the evidence run again."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.refusals import assert_refused
from tests.support.reports import patches_of, read_report

MINE = "from interval import clamp\n\n\ndef test_mine():\n    assert clamp(5, 0, 10) == 5\n"


def keep(project: pytest.Pytester, *names: str) -> None:
    """Leave the patches of these names alone."""
    for path in (project.path / "patches").iterdir():
        if path.stem not in names:
            path.unlink()


def rank(project: pytest.Pytester, *options: str) -> pytest.RunResult:
    """Rank the patches by a test that a person wrote: quick, and the same each time."""
    mine = project.path.parent / "test_mine.py"
    mine.write_text(MINE, encoding="utf-8")
    return project.runpytest_subprocess("--rank-fixes=patches", f"--brt-tests={mine}", *options)


def test_options_that_cannot_be_used(project: pytest.Pytester) -> None:
    messages = {
        "--brt-guard=soon": "--brt-guard: expected a time, as in 90s, 15m or 1h, got 'soon'",
    }
    assert_refused(project, messages, "--brt-issue=clamp.md", "--rank-fixes=patches")


def test_what_is_missing_is_said(project: pytest.Pytester) -> None:
    into = "--brt-issue=clamp.md --brt-write=into --brt-test-file"
    messages = {
        "--rank-fixes=patches": "no patch brings one (add --brt-issue FILE or --brt-tests PATH)",
        f"{into} tests/gone.py": "no such Python file in the project: 'tests/gone.py'",
        f"{into} clamp.md": "--brt-test-file: no such Python file in the project: 'clamp.md'",
    }
    assert_refused(project, messages)


def test_a_report_that_cannot_be_written_spoils_nothing_else(project: pytest.Pytester) -> None:
    Path(project.path.parent, "blocked").write_text("a file\n", encoding="utf-8")
    keep(project, "a-right")
    out = project.path.parent / "all.json"
    result = rank(
        project, f"--brt-report={project.path.parent}/blocked/page.html", f"--brt-report={out}"
    )
    assert result.ret == 1
    result.stdout.fnmatch_lines(["cannot write *page.html*", "JSON report: *"])
    assert patches_of(read_report(out))
