"""The files a run writes for its user, and the evidence run again."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.refusals import assert_refused
from tests.support.reports import patches_of, read_report


def test_what_is_missing_is_said(project: pytest.Pytester) -> None:
    into = "--brt-issue=clamp.md --brt-write=into --brt-test-file"
    messages = {
        "--rank-fixes=patches": "no patch brings one (add --brt-issue FILE or --brt-tests PATH)",
        f"{into} tests/gone.py": "no such Python file in the project: 'tests/gone.py'",
        "--brt-issue=clamp.md tests": "'tests': test paths are not accepted here",
        f"{into} clamp.md": "--brt-test-file: no such Python file in the project: 'clamp.md'",
    }
    assert_refused(project, messages)


def test_a_report_that_cannot_be_written_spoils_nothing_else(project: pytest.Pytester) -> None:
    Path(project.path.parent, "blocked").write_text("a file\n", encoding="utf-8")
    out = project.path.parent / "all.json"
    result = project.runpytest_subprocess(
        f"--brt-report={project.path.parent}/blocked/page.html",
        *("--brt-issue=clamp.md", "--rank-fixes=patches/a-right.diff", f"--brt-report={out}"),
    )
    assert result.ret == 1
    result.stdout.fnmatch_lines(["cannot write *page.html*", "JSON report: *"])
    assert patches_of(read_report(out))
