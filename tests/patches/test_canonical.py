from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from pytest_brt.patches import apply_patch, canonical_diff
from pytest_brt.types import AppliedPatch, FileChange, Patch
from tests.patches.diffs import FILES, FIXED, GIT, PLAIN

CHANGES = (
    FileChange(path="pkg/m.py", content=FIXED),
    FileChange(path="pkg/caf\u00e9.py", content=b"x = 1"),
    FileChange(path="pkg/sp ace.py", content=None),
    FileChange(path="pkg/new file.py", content=b"x = 1\n"),
    FileChange(path="pkg/empty.py", content=b""),
    FileChange(path="pkg/data.bin", content=bytes(range(255))),
    FileChange(path="pkg/other.py", content=FILES["pkg/other.py"], executable=True),
    FileChange(path="deep/er/new.bin", content=b"\0\1", executable=True),
)


def sorted_changes(changes: tuple[FileChange, ...]) -> list[FileChange]:
    return sorted(changes, key=lambda change: change.path)


def test_it_is_what_git_diff_says(tree: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    clone = tmp_path_factory.mktemp("clone")
    for path, content in FILES.items():
        (clone / path).parent.mkdir(parents=True, exist_ok=True)
        (clone / path).write_bytes(content)
    git = ["git", "-c", "user.name=x", "-c", "user.email=x@example.org"]
    for arguments in (["init", "-q"], ["add", "."], ["commit", "-q", "-m", "start"]):
        subprocess.run([*git, *arguments], cwd=clone, check=True)
    for change in CHANGES:
        (clone / change.path).parent.mkdir(parents=True, exist_ok=True)
        if change.content is None:
            (clone / change.path).unlink()
        else:
            (clone / change.path).write_bytes(change.content)
            (clone / change.path).chmod(0o755 if change.executable else 0o644)
    subprocess.run([*git, "add", "-A"], cwd=clone, check=True)
    flags = ("--no-renames", "--binary", "--full-index")
    said = subprocess.run(
        [*git, "-c", "core.quotePath=false", "diff", "--cached", *flags],
        cwd=clone,
        check=True,
        capture_output=True,
    ).stdout.decode()
    assert canonical_diff(CHANGES, tree) == said


def test_it_makes_the_changes_again(tree: Path) -> None:
    text = canonical_diff(CHANGES, tree)
    applied = apply_patch(Patch(id="0", name="x", text=text), tree)
    texts = tuple(change for change in CHANGES if not change.path.endswith(".bin"))
    assert sorted_changes(applied.changes) == sorted_changes(texts)


def test_it_does_not_depend_on_how_a_patch_is_written(
    tree: Path, apply: Callable[[str], AppliedPatch]
) -> None:
    wordings = (GIT, PLAIN, f"prose\n```\n{PLAIN}```", PLAIN.replace("-3,6", "-30,6"))
    texts = {canonical_diff(apply(wording).changes, tree) for wording in wordings}
    assert len(texts) == 1


def test_no_change_is_no_text(tree: Path) -> None:
    assert canonical_diff((), tree) == ""


def test_attributes_of_the_tree_do_not_matter(tree: Path) -> None:
    changes = (
        FileChange(path=".gitattributes", content=b"*.py binary\n"),
        FileChange(path="pkg/m.py", content=FIXED),
    )
    assert "+    b = 20" in canonical_diff(changes, tree)
