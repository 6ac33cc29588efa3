"""What one patch uses up must not decide what another one is found to do."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from pytest_brt.execute.memory_group import remove_group
from tests.support.users import ORDINARY, ROOT

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform != "linux", reason="Linux only"),
]


def verdict(root: Path, level: str, attack: str, *before: str, **environment: str) -> list[str]:
    """Return what a harmless patch was found to do beside a hostile one, and the hostile one."""
    done = subprocess.run(
        [*before, sys.executable, "-m", "tests.hostile.exhaust", str(root), level, attack],
        cwd=ROOT,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout.split("\n")[0].split()


def met(root: Path, level: str, attack: str, *before: str, **environment: str) -> list[str]:
    """Return the verdict as it is where both rows met: on a busy machine they may miss each other.

    The harmless one passes, whether they meet or not.
    """
    for number in range(4):
        found = verdict(root / str(number), level, attack, *before, **environment)
        if found != ["PASS"]:
            break
    return found


@pytest.mark.parametrize(
    "attack",
    ["is-busy-in-many-sessions", "holds-all-inotify-instances", "has-files-on-their-way"],
)
@pytest.mark.parametrize("level", ["ns", "landlock"])
def test_what_a_patch_uses_up_is_not_held_against_others(
    tmp_path: Path, level: str, attack: str
) -> None:
    found, *beside = verdict(tmp_path / "project", level, attack)
    assert found == "PASS"
    assert beside in ([], ["evil.diff"])


@pytest.fixture
def user(tmp_path: Path) -> tuple[Path, tuple[str, ...]]:
    """Return the folder of an ordinary user, and the words that run a command as that."""
    if os.getuid() != 0:
        pytest.skip("only root can become another user")
    home = tmp_path / "home"
    home.mkdir()
    os.chown(home, ORDINARY, ORDINARY)
    for folder in (tmp_path, *list(tmp_path.parents)[:3]):
        folder.chmod(folder.stat().st_mode | 0o055)
    return home, (sys.executable, "-m", "tests.hostile.as_user", str(ORDINARY), str(home))


@pytest.mark.parametrize(
    "attack", ["holds-all-inotify-instances", "has-files-on-their-way", "fills-all-pipes"]
)
def test_the_same_for_an_ordinary_user(user: tuple[Path, tuple[str, ...]], attack: str) -> None:
    home, words = user
    assert met(home, "ns", attack, *words, TMPDIR=str(home)) == ["PASS", "evil.diff"]


@pytest.fixture
def small_machine() -> Iterator[tuple[str, ...]]:
    """Return the words that run a command in little memory, as if the machine had no more."""
    found = [
        place
        for parent, name in (("memory", "memory.limit_in_bytes"), ("", "memory.max"))
        if (place := Path("/sys/fs/cgroup", parent, f"small-{os.getpid()}")).parent.is_dir()
        and _make_group(place, name)
    ]
    if not found:
        pytest.skip("no group of processes can be made here")
    yield ("sh", "-c", f'echo $$ > {found[0]}/cgroup.procs && exec "$@"', "sh")
    for place in found:
        remove_group(place)


def _make_group(place: Path, name: str) -> bool:
    try:
        place.mkdir()
    except OSError:
        return False
    try:
        (place / name).write_text(str(900 << 20), encoding="ascii")
    except OSError:
        place.rmdir()
        return False
    return True


@pytest.mark.parametrize("level", ["ns", "landlock"])
def test_memory_that_is_used_up_is_not_held_against_others(
    user: tuple[Path, tuple[str, ...]], small_machine: tuple[str, ...], level: str
) -> None:
    home, words = user
    found = met(home, level, "uses-up-memory", *small_machine, *words, TMPDIR=str(home))
    assert found == ["PASS", "evil.diff"]


def test_a_full_disk_is_not_held_against_others(tmp_path: Path) -> None:
    small = tmp_path / "small"
    small.mkdir()
    script = f'mount -t tmpfs -o size=96m,mode=1777 tmpfs {small} && exec env TMPDIR={small} "$@"'
    before = ("unshare", "-m", "sh", "-c", script, "sh")
    if subprocess.run([*before, "true"], capture_output=True, check=False).returncode:
        pytest.skip("a file system of its own cannot be mounted here")
    found = met(tmp_path, "landlock", "fills-the-disk", *before)
    assert found == ["PASS", "evil.diff"]
