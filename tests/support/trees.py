"""Small projects, written down as texts by path."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path


def write_tree(root: Path, files: Mapping[str, str]) -> None:
    """Write `files` below `root`, with the folders that they need."""
    for path, text in files.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text, encoding="utf-8")


def tree_hash(root: Path) -> str:
    """Return a digest of every path and byte below `root`.

    What the outer pytest and pytester themselves put there is left out.
    """
    others = {".pytest_cache", "__pycache__", "stdout", "stderr", "runpytest-0", "runpytest-1"}
    digest = hashlib.sha256()
    for path in sorted(root.rglob("*")):
        if path.is_file() and not others & set(path.relative_to(root).parts):
            digest.update(path.relative_to(root).as_posix().encode() + b"\0")
            digest.update(path.read_bytes() + b"\0")
    return digest.hexdigest()
