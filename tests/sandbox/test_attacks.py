"""Every attack, in bubblewrap and by Landlock, as root and as an ordinary user."""

from __future__ import annotations

import functools
import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import pytest

from tests.sandbox.attacks import ATTACKS
from tests.support.users import ORDINARY, ROOT, as_ordinary_user

pytestmark = [pytest.mark.slow, pytest.mark.load, pytest.mark.long]

ISOLATIONS = ("bubblewrap", "landlock")
#: Root is tried as both; anybody else is an ordinary user.
USERS = ("root", "user") if os.geteuid() == 0 else ("user",)


@functools.cache
def outcome(isolation: str, user: str) -> dict[str, Any]:
    """Return what the attacks came to: all are run when one is first asked for."""
    folder = Path(tempfile.mkdtemp(prefix="brt-attacks-"))
    mark = f"m{os.getpid()}{isolation[0]}{user[0]}"
    command = [sys.executable, "-m", "tests.sandbox.run_attacks", isolation, str(folder), mark]
    try:
        folder.chmod(0o755)
        (folder / "home").mkdir()
        if user == "user" and os.geteuid() == 0:
            for path in (folder, folder / "home"):
                os.chown(path, ORDINARY, ORDINARY)
            command = as_ordinary_user(*command, home=folder / "home")
        env = {**os.environ, "HOME": str(folder / "home")}
        done = subprocess.run(
            command, cwd=ROOT, env=env, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr[-2000:]
        found: dict[str, Any] = json.loads(done.stdout)
        return found
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@pytest.mark.parametrize("user", USERS)
@pytest.mark.parametrize("isolation", ISOLATIONS)
@pytest.mark.parametrize("name", ATTACKS)
def test_each_attack_comes_to_what_is_expected(name: str, isolation: str, user: str) -> None:
    if isolation == "landlock" and user == "root" and not _is_reachable():
        pytest.skip("nobody can reach our interpreter, as whom root's tests run")
    verdict, reason = outcome(isolation, user)["runs"][name]
    assert verdict == ATTACKS[name].expected(isolation, user), reason
    assert ATTACKS[name].words in reason


@pytest.mark.parametrize("user", USERS)
@pytest.mark.parametrize("isolation", ISOLATIONS)
def test_nothing_is_changed_and_nothing_is_left(isolation: str, user: str) -> None:
    if isolation == "landlock" and user == "root" and not _is_reachable():
        pytest.skip("nobody can reach our interpreter, as whom root's tests run")
    seen = outcome(isolation, user)
    assert seen["isolation"] == isolation
    assert seen["processes"] == []
    assert not seen["folder"]
    if isolation == "bubblewrap":  # Landlock does not see modes and times change
        assert seen["changed"] == []


def _is_reachable() -> bool:
    """Return whether every user can start our interpreter."""
    place = Path(sys.executable).resolve()
    return all(folder.stat().st_mode & 0o001 for folder in place.parents)
