"""Which Python files belong to a project."""

from __future__ import annotations

from pathlib import Path

from pytest_brt.project.layout import escapes_root, scan_tree


def test_environments_are_left_out(tmp_path: Path) -> None:
    for folder in ("env/tests", "pkg"):
        (tmp_path / folder).mkdir(parents=True)
        (tmp_path / folder / "core.py").write_text("", "utf-8")
    assert set(scan_tree(tmp_path)) == {"pkg/core.py"}


def test_links_that_lead_out_are_not_the_projects(tmp_path: Path) -> None:
    root = tmp_path / "project"
    (root / "pkg").mkdir(parents=True)
    (root / "pkg" / "core.py").write_text("a = 1\n", encoding="utf-8")
    (tmp_path / "secret.py").write_text("key = 1\n", encoding="utf-8")
    (root / "pkg" / "notes.py").symlink_to(tmp_path / "secret.py")
    (root / "pkg" / "same.py").symlink_to("core.py")
    (root / "out").symlink_to(tmp_path)
    assert set(scan_tree(root)) == {"pkg/core.py", "pkg/same.py"}
    assert escapes_root(root, "pkg/notes.py")
    assert escapes_root(root, "out/secret.py")
    assert escapes_root(root, "../secret.py")
    assert not escapes_root(root, "pkg/same.py")
    assert not escapes_root(root, "pkg/new.py")
