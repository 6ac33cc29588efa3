"""Which Python files belong to a project."""

from __future__ import annotations

from pathlib import Path

from pytest_brt.code.tree import scan_tree


def test_environments_and_records_of_runs_are_left_out(tmp_path: Path) -> None:
    for folder, sign in (
        ("env", "pyvenv.cfg"),
        ("run", "evidence.json"),
        ("said", "replies.jsonl"),
    ):
        (tmp_path / folder / "tests").mkdir(parents=True)
        (tmp_path / folder / sign).write_text("", "utf-8")
        (tmp_path / folder / "tests/test_a.py").write_text("", "utf-8")
    (tmp_path / "pkg").mkdir()
    (tmp_path / "pkg/core.py").write_text("", "utf-8")
    # At the top it is the project's own affair.
    (tmp_path / "evidence.json").write_text("", "utf-8")
    assert set(scan_tree(tmp_path)) == {"pkg/core.py"}
