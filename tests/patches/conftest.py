"""A tree with a file of every awkward kind; no test may change a byte of it."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from pytest_brt.patches import apply_patch
from pytest_brt.types import AppliedPatch, Patch
from tests.patches.diffs import FILES, hash_tree


@pytest.fixture
def tree(tmp_path: Path) -> Iterator[Path]:
    """A project; that it is untouched is checked when the test ends."""
    root = tmp_path / "project"
    for path, content in FILES.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_bytes(content)
    (root / "pkg/run.sh").chmod(0o755)
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "target.py").write_bytes(b"one = 1\n")
    (root / "linked").symlink_to(outside)
    (root / "pkg/link.py").symlink_to("m.py")
    # Whoever copied the whole tree would wait for ever.
    os.mkfifo(root / "pipe")
    (root / ".git").mkdir()
    (root / ".git/config").write_bytes(b"[core]\n")
    before = hash_tree(tmp_path)
    yield root
    assert hash_tree(tmp_path) == before, "the tree was changed"


@pytest.fixture
def apply(tree: Path) -> Callable[[str], AppliedPatch]:
    """Apply a text to the tree."""
    return lambda text: apply_patch(Patch(id="0", name="fix.diff", text=text), tree)


@pytest.fixture
def after(apply: Callable[[str], AppliedPatch]) -> Callable[[str], dict[str, bytes | None]]:
    """Apply a text to the tree; the contents that it makes."""
    return lambda text: {change.path: change.content for change in apply(text).changes}
