from __future__ import annotations

from pathlib import Path

from pytest_brt.plugin.files import place_in_repository


def test_a_project_is_found_in_its_repository(tmp_path: Path) -> None:
    project = tmp_path / "packages" / "a"
    project.mkdir(parents=True)
    (tmp_path / ".git").mkdir()
    assert place_in_repository(project) == "packages/a"
    assert place_in_repository(tmp_path) == ""
    (project / ".git").write_text("gitdir: elsewhere", encoding="utf-8")  # a submodule
    assert place_in_repository(project) == ""
