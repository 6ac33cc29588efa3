"""Every attack, in bubblewrap and by Landlock, as root and as an ordinary user."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from tests.sandbox.attacks import ATTACKS, FORK_BOMB
from tests.support.users import ORDINARY, ROOT, as_ordinary_user

pytestmark = [pytest.mark.slow, pytest.mark.long]

#: Root is tried as both users; anybody else is an ordinary one.
SETTINGS = list(product(("bubblewrap", "landlock"), ("root", "user")[os.geteuid() > 0 :]))
#: What some attacks came to, at an isolation and for a user.
Outcome = dict[str, Any]


def run_attacks(isolation: str, user: str, *names: str) -> Outcome:
    if (isolation, user) == ("landlock", "root") and not _is_reachable():
        pytest.skip("nobody can reach our interpreter, as whom root's tests run")
    folder = Path(tempfile.mkdtemp(prefix="brt-attacks-"))
    mark = f"m{os.getpid()}{isolation[0]}{user[0]}"
    command = [sys.executable, "-m", "tests.sandbox.run_attacks", isolation, str(folder), mark]
    command += names
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
        found: Outcome = json.loads(done.stdout)
        return found
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="module")
def outcome_of() -> Iterator[Callable[[str, str], Outcome]]:
    """Run all attacks in all settings at once: most of them wait for their end."""
    with ThreadPoolExecutor(len(SETTINGS)) as pool:
        found = {setting: pool.submit(run_attacks, *setting, *ATTACKS) for setting in SETTINGS}
        yield lambda isolation, user: found[isolation, user].result()


@pytest.mark.parametrize(("isolation", "user"), SETTINGS)
@pytest.mark.parametrize("name", ATTACKS)
def test_each_attack_comes_to_what_is_expected(
    name: str, isolation: str, user: str, outcome_of: Callable[[str, str], Outcome]
) -> None:
    verdict, reason = outcome_of(isolation, user)["runs"][name]
    assert verdict == ATTACKS[name].expected(isolation, user), reason
    assert ATTACKS[name].words in reason


@pytest.mark.parametrize(("isolation", "user"), SETTINGS)
def test_nothing_is_changed_and_nothing_is_left(
    isolation: str, user: str, outcome_of: Callable[[str, str], Outcome]
) -> None:
    seen = outcome_of(isolation, user)
    assert seen["isolation"] == isolation
    assert seen["processes"] == seen["folders"] == []
    if isolation == "bubblewrap":  # Landlock does not see modes and times change
        assert seen["changed"] == []


@pytest.mark.load
@pytest.mark.parametrize(("isolation", "user"), SETTINGS)
def test_a_fork_bomb_is_ended(isolation: str, user: str) -> None:
    """It takes all processes that its user may have: nothing else can run beside it."""
    ((verdict, reason),) = run_attacks(isolation, user, *FORK_BOMB)["runs"].values()
    assert verdict == "TIMEOUT", reason


def _is_reachable() -> bool:
    """Return whether every user can start our interpreter."""
    place = Path(sys.executable).resolve()
    return all(folder.stat().st_mode & 0o001 for folder in place.parents)
