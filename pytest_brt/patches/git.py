"""Runs git on a folder of its own: no repository, no configuration of anybody.

Inside a repository ``git apply`` resolves names by that repository's prefix; a GIT_DIR that
is nowhere prevents it (git(1), "Environment Variables").
"""

from __future__ import annotations

import os
import subprocess
from dataclasses import dataclass
from pathlib import Path

from pytest_brt.errors import PatchProblem, UsageProblem

#: Seconds after which a git that works on a handful of files is stuck.
_SECONDS = 60.0
_NOWHERE = "/nonexistent"
#: What a program needs to start at all; the rest of the user's environment stays out.
_KEPT = ("PATH", "TMPDIR", "TEMP", "TMP", "SYSTEMROOT", "LD_LIBRARY_PATH")


@dataclass(frozen=True, slots=True, kw_only=True)
class GitReply:
    """What one run of git gave."""

    status: int
    stdout: bytes
    stderr: str


def run_git(folder: Path, *arguments: str, stdin: bytes = b"") -> GitReply:
    """Run ``git *arguments`` in `folder`.

    Raises:
        UsageProblem: git is not installed.
        PatchProblem: git does not end within a minute.
    """
    environment = {name: os.environ[name] for name in _KEPT if name in os.environ}
    environment |= {
        "GIT_DIR": _NOWHERE,
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CONFIG_SYSTEM": os.devnull,
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_ATTR_NOSYSTEM": "1",
        "GIT_TERMINAL_PROMPT": "0",
        "HOME": _NOWHERE,
        "XDG_CONFIG_HOME": _NOWHERE,
        "LC_ALL": "C",
    }
    try:
        done = subprocess.run(
            ["git", *arguments],
            cwd=folder,
            env=environment,
            input=stdin,
            capture_output=True,
            timeout=_SECONDS,
            check=False,
        )
    except FileNotFoundError as error:
        raise UsageProblem(
            "git: not found on PATH, and patches are applied by 'git apply' (install git)"
        ) from error
    except subprocess.TimeoutExpired as error:
        raise PatchProblem(f"git {arguments[0]} did not end within {_SECONDS:.0f} s") from error
    return GitReply(
        status=done.returncode,
        stdout=done.stdout,
        stderr=done.stderr.decode("utf-8", "surrogateescape"),
    )
