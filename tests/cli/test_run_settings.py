"""`pytest-brt issue` where the project's own settings stop pytest."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.sessions import LEAN
from tests.support.trees import write_tree

REPORT = "# double is wrong\n\n```python\n>>> from pkg import double\n>>> double(1)\n1\n```\n"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("ini", "options", "said"),
    [
        pytest.param(
            "[pytest]\nrequired_plugins = nosuch-plugin\nminversion = 99\n",
            (),
            "test_double_wrong fails (74% sure)",
            id="wants",
        ),
        pytest.param("[pytest\nbroken\n", ("--collect-only",), "1 test collected", id="broken"),
    ],
)
def test_settings_that_stop_pytest_are_left_out(
    tmp_path: Path, ini: str, options: tuple[str, ...], said: str
) -> None:
    tree = {"pkg/__init__.py": "def double(x): return x\n", "pytest.ini": ini, "issue.md": REPORT}
    write_tree(tmp_path, tree)
    for command, status in (("pytest", 4), ("pytest_brt", 0)):
        arguments = ["--brt-issue=issue.md"] if command == "pytest" else ["issue", "issue.md"]
        done = subprocess.run(
            [sys.executable, "-m", command, *arguments, *options, *LEAN.split()],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == status, done.stdout + done.stderr
    assert said in done.stdout
