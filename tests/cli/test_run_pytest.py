"""The front-end starts the pytest that we need, whatever the project is."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from tests.support.interval import MEAN_ISSUE, SOURCE
from tests.support.trees import write_tree


def test_a_project_that_is_pytest_itself(tmp_path: Path) -> None:
    root = tmp_path / "project"
    files = {
        "src/pytest/__init__.py": "raise ImportError('an older pytest')\n",
        "src/_pytest/__init__.py": "",
        "lib/interval/__init__.py": SOURCE,
        "issue.md": MEAN_ISSUE,
    }
    write_tree(root, files)
    path = os.pathsep.join(("src", "lib", str(Path.cwd())))
    done = subprocess.run(
        [sys.executable, "-m", "pytest_brt", "issue", "issue.md", "--brt-sandbox=auto"],
        cwd=root,
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=False,
    )
    # The tests see that pytest, and it cannot be imported; ours is the one that says so.
    assert "Traceback" not in done.stderr + done.stdout
    assert "an older pytest" in done.stderr + done.stdout
