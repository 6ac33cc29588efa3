"""What is kept between runs is written whole or not at all."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from pytest_brt.errors import StoreProblem
from pytest_brt.store import LastRun, load_last_run, save_last_run, write_text
from pytest_brt.types import Attempt, Issue, JudgedTest, Review, RunRecord
from tests.support.rows import judged


def test_no_earlier_run(tmp_path: Path) -> None:
    assert load_last_run(tmp_path) == LastRun()


def test_saved_and_loaded(tmp_path: Path) -> None:
    save_last_run(tmp_path, LastRun(about="issue.md, now"))
    last = load_last_run(tmp_path)
    assert last == LastRun(about="issue.md, now")
    assert [path.name for path in tmp_path.iterdir()] == ["last-run.json"]


def made_of(issue: str, *tests: JudgedTest) -> RunRecord:
    """Return what a run at a report found out."""
    attempt = Attempt(issue=issue, strategy="s", index=0, tests=tests)
    report = Issue(id=issue, title="", text="", source=f"{issue}.md")
    return RunRecord(issues=(report,), attempts=(attempt,), given=())


def test_what_a_person_said_of_tests_stays() -> None:
    first, second = judged(0), judged(1)
    about = first.test.issue
    said = replace(first, review=Review.ACCEPTED)
    last = LastRun(tests=(said, second), about="issue.md, then")
    assert last.followed_by(made_of(about, second, said)).tests == (second, said)
    assert last.followed_by(made_of(about, second)).tests == (second, said), "it was edited"
    assert last.followed_by(made_of(about)).tests == (said,)
    elsewhere = replace(second, test=replace(second.test, issue="other"))
    later = last.followed_by(made_of("other", elsewhere))
    assert later.about.startswith("other.md, 20")
    assert later.tests == (elsewhere,)
    assert later.reviewed == (said,), "for the next run of that report"
    refused = replace(second, review=Review.REJECTED)
    next_run = replace(last, brought=(refused,)).followed_by(made_of(about))
    assert (next_run.tests, next_run.brought) == ((said,), (refused,)), "each is kept once"


def test_a_failed_write_leaves_the_old_file_and_no_other(tmp_path: Path) -> None:
    target = tmp_path / "folder"
    target.mkdir()
    (target / "kept").touch()
    with pytest.raises(StoreProblem, match="cannot write"):
        write_text(target, "text")
    assert [path.name for path in tmp_path.iterdir()] == ["folder"]
    assert (target / "kept").exists()


def test_an_interrupted_write_leaves_the_old_file_and_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_text(tmp_path / "file", "old")

    def interrupted(_: Path, __: int) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Path, "chmod", interrupted)
    with pytest.raises(KeyboardInterrupt):
        write_text(tmp_path / "file", "new")
    assert [path.read_text("utf-8") for path in tmp_path.iterdir()] == ["old"]


def test_a_folder_that_is_a_file(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(StoreProblem, match=r"cannot write '.*a.json': .+"):
        write_text(tmp_path / "file" / "a.json", "text")
