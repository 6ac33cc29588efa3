from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from pytest_brt.patches import apply_patch, canonical_diff
from pytest_brt.types import AppliedPatch, FileChange, Patch
from tests.patches.diffs import FIXED, GIT, PLAIN

CHANGES = (
    FileChange(path="pkg/m.py", content=FIXED),
    FileChange(path="pkg/caf\u00e9.py", content=b"x = 1"),
    FileChange(path="pkg/sp ace.py", content=None),
    FileChange(path="pkg/new file.py", content=b"x = 1\n"),
    FileChange(path="pkg/empty.py", content=b""),
    FileChange(path="deep/er/new.sh", content=b"echo"),
)


def sorted_changes(changes: tuple[FileChange, ...]) -> list[FileChange]:
    return sorted(changes, key=lambda change: change.path)


def test_it_makes_the_changes_again(tree: Path) -> None:
    text = canonical_diff(CHANGES, tree)
    applied = apply_patch(Patch(id="0", name="x", text=text), tree)
    assert sorted_changes(applied.changes) == sorted_changes(CHANGES)


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
