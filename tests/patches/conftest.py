"""A tree with a file of every awkward kind; no test may change a byte of it."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from pytest_brt.patches import apply_patch
from pytest_brt.types import AppliedPatch, Patch

MODULE = """\
import os


def first(x):
    a = 1
    b = 2
    c = 3
    return a + b + c + x


def second(x):
    a = 4
    return a - x
"""
BLOCK = "def f{}(x):\n    y = x\n    # same\n    z = y\n    return z\n\n\n"
FILES = {
    "pkg/__init__.py": b"",
    "pkg/m.py": MODULE.encode(),
    "pkg/other.py": b"one = 1\ntwo = 2\nthree = 3\n",
    "pkg/crlf.py": b"one = 1\r\ntwo = 2\r\nthree = 3\r\n",
    "pkg/no_end.py": b"one = 1\ntwo = 2",
    "pkg/tabs.py": b"def f(x):\n\tif x:\n\t\treturn 1\n\treturn 2\n",
    "pkg/same.py": "".join(BLOCK.format(number) for number in range(4)).encode(),
    "pkg/caf\u00e9.py": "name = '\u00e9'\n".encode(),
    "pkg/latin.py": b"# -*- coding: latin-1 -*-\nname = '\xe9'\nother = 1\n",
    "pkg/sp ace.py": b"one = 1\ntwo = 2\n",
    "pkg/old_syntax.py": b"print 'one'\nprint 'two'\n",
    "pkg/_fast.c": b"int one = 1;\n",
    "pkg/data.bin": bytes(range(256)),
    "pkg/run.sh": b"#!/bin/sh\necho one\n",
    "tests/test_m.py": b"def test_m():\n    assert False\n",
    "q.sql": b"-- one\nselect 1;\n-- two\n",
    "conftest.py": b"one = 1\n",
    "setup.cfg": b"[metadata]\nname = pkg\n",
    "pyproject.toml": b'[project]\nname = "pkg"\n\n[tool.pytest.ini_options]\naddopts = "-q"\n',
}


def hash_tree(root: Path) -> str:
    """Return a digest of every name, mode, time, link and byte under `root`."""
    digest = hashlib.sha256()
    for at, folders, names in os.walk(root):
        for name in sorted([*folders, *names]):
            path = Path(at, name)
            status = path.lstat()
            digest.update(os.fsencode(path))
            digest.update(f"{status.st_mode} {status.st_mtime_ns}".encode())
            if path.is_symlink():
                digest.update(os.fsencode(path.readlink()))
            elif path.is_file():
                digest.update(path.read_bytes())
    return digest.hexdigest()


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
