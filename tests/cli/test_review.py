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


def test_tests_are_listed_with_what_is_said(kept: Path, capsys: pytest.CaptureFixture[str]) -> None:
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
