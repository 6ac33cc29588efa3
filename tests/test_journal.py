"""The journal of an interrupted run."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from pytest_brt.errors import StoreProblem
from pytest_brt.store import Journal
from pytest_brt.types import Attempt


def attempt(index: int) -> Attempt:
    return Attempt(issue="i", strategy="s", index=index, tests=())


def test_what_was_finished_is_there_for_the_next_run(tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    first = Journal(path, "setting")
    assert first.get(Attempt, "a") is None
    first.put(attempt(1), "a")
    first.put(attempt(2), "b", "c")
    second = Journal(path, "setting")
    assert second.get(Attempt, "a") == attempt(1)
    assert second.get(Attempt, "b", "c") == attempt(2)
    assert second.get(Attempt, "bc") is None
    assert second.taken == 2


def test_a_run_that_ends_by_itself_leaves_nothing(tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    journal = Journal(path, "setting")
    journal.put(attempt(1), "a")
    journal.forget()
    assert not path.exists()
    journal.forget()


def test_work_of_another_setting_is_not_used(tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    Journal(path, "one tree").put(attempt(1), "a")
    assert Journal(path, "another tree").get(Attempt, "a") is None


def test_a_line_that_was_cut_off_is_done_again(tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    journal = Journal(path, "s")
    journal.put(attempt(1), "a")
    journal.put(attempt(2), "b")
    path.write_bytes(path.read_bytes()[:-20] + b"\xff")
    again = Journal(path, "s")
    assert again.get(Attempt, "a") == attempt(1)
    assert again.get(Attempt, "b") is None


def test_threads_do_not_mix_their_lines(tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    journal = Journal(path, "s")
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda n: journal.put(attempt(n), str(n)), range(200)))
    again = Journal(path, "s")
    assert [again.get(Attempt, str(n)) for n in range(200)] == [attempt(n) for n in range(200)]


def test_a_folder_that_cannot_be_written_loses_nothing_of_this_run(tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("", encoding="utf-8")
    journal = Journal(blocked / "journal.jsonl", "s")
    with pytest.raises(StoreProblem, match="cannot write"):
        journal.put(attempt(1), "a")
    assert journal.get(Attempt, "a") == attempt(1)
