"""A git repository with a package, for tests of what histories say."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path


class Repository:
    """A git repository with a package and a test file."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.git("init", "-q", "-b", "main")
        self.git("config", "user.email", "a@example.org")
        self.git("config", "user.name", "A")

    def git(self, *arguments: str) -> str:
        env = {**os.environ, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
        done = subprocess.run(
            ["git", *arguments],
            cwd=self.root,
            env=env,
            capture_output=True,
            text=True,
            check=True,
            encoding="utf-8",
        )
        return done.stdout.strip()

    def commit(self, message: str, **files: str | None) -> str:
        for name, content in files.items():
            path = self.root / name.replace("__", "/").replace("_py", ".py")
            if content is None:
                path.unlink()
                continue
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(content, encoding="utf-8")
        self.git("add", "-A")
        self.git("commit", "-q", "--allow-empty", "-m", message)
        return self.git("rev-parse", "HEAD")

    def run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", *arguments]
        return subprocess.run(
            command,
            cwd=self.root,
            capture_output=True,
            text=True,
            check=False,
            timeout=300,
            encoding="utf-8",
        )
