"""What a project can make tests see: nothing, but for an installed Python that it links to."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from pytest_brt.errors import UsageProblem
from pytest_brt.sandbox.shown import check_folder, find_outside, interpreter_folders


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "home/project"
    (root / ".venv/bin").mkdir(parents=True)
    return root


def shown(root: Path) -> list[str]:
    """Return the folders that its environment has shown."""
    return [real for real, _ in interpreter_folders(str(root / ".venv/bin/python"), str(root))]


def test_the_python_that_an_environment_is_made_of_is_shown(root: Path) -> None:
    base = Path(sys.base_prefix)
    (root / ".venv/bin/python").symlink_to(base / "bin" / Path(sys.executable).resolve().name)
    assert shown(root) == [str(base)]


def test_a_link_into_a_home_shows_nothing(root: Path) -> None:
    secrets = root.parent / ".ssh"
    secrets.mkdir()
    (secrets / "python").write_text("", encoding="utf-8")
    (root / ".venv/bin/python").symlink_to("../../../.ssh/python")
    assert shown(root) == []


def test_a_folder_of_links_shows_nothing_where_the_kernel_comes_to(root: Path) -> None:
    (root.parent / ".ssh").mkdir()
    (root / "d1/d2/d3").mkdir(parents=True)
    (root / "d1/d2/d3/python").symlink_to("../../../.ssh")
    (root / ".venv/bin").rmdir()
    (root / ".venv/bin").symlink_to("../d1/d2/d3")
    assert shown(root) == []


def test_another_environment_of_the_users_is_not_shown(root: Path) -> None:
    other = root.parent / "other/.venv"
    (other / "bin").mkdir(parents=True)
    (other / "pyvenv.cfg").write_text("", encoding="utf-8")
    (other / "bin/python").symlink_to(Path(sys.executable).resolve())
    (root / ".venv/bin/python").symlink_to(other / "bin/python")
    assert str(other) not in shown(root)


def test_links_that_go_round_end(root: Path) -> None:
    (root / ".venv/bin/python").symlink_to("python3")
    (root / ".venv/bin/python3").symlink_to("python")
    assert shown(root) == []


@pytest.mark.parametrize("folder", ["", "/nowhere", "/", "~", "/tmp"])
def test_a_person_cannot_show_a_home_or_what_each_test_has_of_its_own(folder: str) -> None:
    with pytest.raises(UsageProblem, match="--brt-show"):
        check_folder(str(Path(folder).expanduser()) if folder else "")


def test_a_variable_that_names_a_folder_outside_is_found(tmp_path: Path) -> None:
    assert find_outside("PYTHONPATH", f"src:{tmp_path.parent}", tmp_path) == str(tmp_path.parent)
    assert find_outside("PYTHONPATH", "src:.", tmp_path) == ""
    assert find_outside("OTHER", "/etc", tmp_path) == ""
