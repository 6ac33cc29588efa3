"""What `pytest-brt unmark` is given."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_brt.cli.main import main


def test_a_file_that_is_not_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "pyproject.toml").touch()
    assert main(["unmark", "tests/none.py"]) == 4
    assert "unmark: no such Python file in the project: 'tests/none.py'" in capsys.readouterr().err
