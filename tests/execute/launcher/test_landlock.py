from __future__ import annotations

from pathlib import Path

from pytest_brt.execute.launcher.landlock import visible_paths


def test_what_is_seen_is_all_but_what_is_hidden(tmp_path: Path) -> None:
    for name in ("a/secret/key", "a/open/file", "b/file", "c"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    (tmp_path / "link").symlink_to(tmp_path / "a")
    root = str(tmp_path)
    hidden = frozenset({f"{root}/a/secret", f"{root}/gone"})
    assert visible_paths(root, hidden) == [f"{root}/a/open", f"{root}/b", f"{root}/c"]
    assert visible_paths(f"{root}/b", hidden) == [f"{root}/b"]
    assert visible_paths(f"{root}/a/secret", hidden) == []
