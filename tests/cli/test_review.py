"""Bug tests of the last run are reviewed."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from pytest_brt.cli.main import main
from pytest_brt.store import LastRun, find_last_run, save_last_run
from pytest_brt.types import Review
from tests.support.rows import judged

FIRST = judged(0)
SECOND = replace(
    judged(1), test=replace(judged(1).test, name="test_b", source="def test_b():\n    assert 0\n")
)


@pytest.fixture
def kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the folder in which the last run left two tests; its project is the current folder."""
    folder = tmp_path / ".pytest_cache/d/brt"
    save_last_run(folder, LastRun(tests=(FIRST, SECOND), about="issue.md, now"))
    monkeypatch.chdir(tmp_path)
    return folder


def reviews(folder: Path) -> list[Review]:
    return [judged.review for judged in find_last_run(str(folder.parents[2]))[1].tests]


def test_tests_are_listed_with_what_was_said(
    kept: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["review", "--accept", "T1", "--reject", "T2"]) == 0
    assert capsys.readouterr().out == "you accepted 1 and rejected 1 of 2 tests\n"
    assert reviews(kept) == [Review.ACCEPTED, Review.REJECTED]
    assert main(["review"]) == 0
    shown = capsys.readouterr().out
    assert f"T2  {SECOND.test.name}  (65% sure, rejected)" in shown
    assert SECOND.test.source is not None
    assert f"    | {SECOND.test.source.splitlines()[0]}" in shown


def test_what_is_no_test_is_refused(kept: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["review", "--accept", "T3"]) == 4
    assert "no test 'T3' (there are T1, T2)" in capsys.readouterr().err
    assert reviews(kept) == [Review.OPEN, Review.OPEN]


def test_without_an_earlier_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["review"]) == 4
    assert "no earlier run is kept" in capsys.readouterr().err


@pytest.mark.slow
def test_patches_are_ranked_by_the_tests_that_were_accepted(project: pytest.Pytester) -> None:
    project.runpytest_subprocess("--brt-issue=clamp.md")
    assert main(["review", "--accept", "T3", "--root", str(project.path)]) == 0
    result = project.runpytest_subprocess("--rank-fixes=patches", "--brt-report=page.html")
    result.stdout.fnmatch_lines(
        ["brt: bug tests from the last run (clamp.md, 20*); you accepted 1"]
    )
    # The literal patch passes the only test that counts now.
    result.stdout.fnmatch_lines(
        [
            "No patch stands out: a-right.diff and d-right-too.diff pass the same tests*",
            "*b-literal.diff * 1/1 pass *may handle only the reported input: value == 5",
        ]
    )
    assert "accepted by you" in (project.path / "page.html").read_text("utf-8")
    everything = ["--reject", "T1", "T2", "T3", "T4", "--root", str(project.path)]
    assert main(["review", *everything]) == 0
    result = project.runpytest_subprocess("--rank-fixes=patches")
    assert result.ret == 4
    result.stderr.fnmatch_lines(["*you rejected every bug test of the last run*"])
