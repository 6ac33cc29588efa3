"""The dialogues of a recorded run, read again."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_brt.agent.loop import run_agent
from pytest_brt.agent.trajectory import Log
from pytest_brt.cli.main import main
from tests.agent.scripts import Finder, header, script, session

WRITTEN = header("write", path="tests/test_new.py") + "\n```python\nx = '<b>'\n```"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    run = tmp_path / "run"
    first = script(tmp_path, header("search", query="<word>"), WRITTEN, header("finish"))
    log = Log("i1", "agent-00", title="It <breaks>", folder=run)
    run_agent(Finder(), session(first, log=log))
    log = Log("i1", "agent-01", title="It <breaks>", folder=run)
    log.open()
    return run


def test_all_of_them_in_a_line_each(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["report", str(folder)]) == 0
    out = capsys.readouterr().out
    assert "agent-00: 3 steps, finish; last: finish\n" in out
    assert "agent-01: 0 steps, interrupted; last: nothing\n" in out


def test_one_of_them_step_by_step(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["report", str(folder), "agent-00"]) == 0
    out = capsys.readouterr().out
    assert "agent-00: It <breaks>\n3 steps, ended by: finish; 3 questions" in out
    assert "1. code_search text='<word>'" in out
    assert "more lines (-v shows them)" in out
    assert main(["report", str(folder), "agent-00", "-v"]) == 0
    assert "more lines" not in capsys.readouterr().out


def test_as_a_page(folder: Path, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    assert main(["report", str(folder), "--html", str(page)]) == 0
    text = page.read_text("utf-8")
    assert "It &lt;breaks&gt;" in text
    assert "&lt;word&gt;" in text
    assert "<word>" not in text
    assert "<script" not in text


def test_what_is_not_there_is_said(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["report", str(tmp_path / "none")]) == 4
    assert "no dialogue in" in capsys.readouterr().err
    assert main(["report", str(folder), "agent-77"]) == 4
    assert "there are: agent-00, agent-01" in capsys.readouterr().err
    (folder / "trajectories/bad.jsonl").write_text("{", "utf-8")
    assert main(["report", str(folder)]) == 4
    assert "no trajectory" in capsys.readouterr().err
