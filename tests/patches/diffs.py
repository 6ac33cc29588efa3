"""A tree and diffs of it."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

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

#: b = 2 → b = 20 in pkg/m.py, without headers.
HUNK = """\
@@ -3,6 +3,6 @@ import os
 
 def first(x):
     a = 1
-    b = 2
+    b = 20
     c = 3
     return a + b + c + x
"""  # noqa: W293

FIXED = MODULE.replace("b = 2\n", "b = 20\n").encode()

PLAIN = "--- a/pkg/m.py\n+++ b/pkg/m.py\n" + HUNK

GIT = "diff --git a/pkg/m.py b/pkg/m.py\nindex 1111111..2222222 100644\n" + PLAIN


BLOCK = "def f{}(x):\n    y = x\n    # same\n    z = y\n    return z\n\n\n"


FILES = {
    "pkg/__init__.py": b"",
    "pkg/m.py": MODULE.encode(),
    "pkg/other.py": b"one = 1\ntwo = 2\nthree = 3\n",
    "pkg/crlf.py": b"one = 1\r\ntwo = 2\r\nthree = 3\r\n",
    "pkg/same.py": "".join(BLOCK.format(number) for number in range(4)).encode(),
    "pkg/caf\u00e9.py": "name = '\u00e9'\n".encode(),
    "pkg/sp ace.py": b"one = 1\ntwo = 2\n",
    "pkg/old_syntax.py": b"print 'one'\nprint 'two'\n",
    "pkg/_fast.c": b"int one = 1;\n",
    "pkg/data.bin": bytes(range(256)),
    "pkg/run.sh": b"#!/bin/sh\necho one\n",
    "tests/test_m.py": b"def test_m():\n    assert False\n",
    "q.sql": b"-- one\nselect 1;\n-- two\n",
    "conftest.py": b"one = 1\n",
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
