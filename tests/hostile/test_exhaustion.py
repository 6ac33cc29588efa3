"""What one patch uses up must not decide what another one is found to do."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

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


@pytest.mark.parametrize("attack", ["is-busy-in-many-sessions", "holds-all-inotify-instances"])
@pytest.mark.parametrize("level", ["ns", "landlock"])
def test_what_a_patch_uses_up_is_not_held_against_others(
    tmp_path: Path, level: str, attack: str
) -> None:
    found, *beside = verdict(tmp_path / "project", level, attack)
    assert found == "PASS"
    assert beside in ([], ["evil.diff"])


def test_the_same_for_an_ordinary_user(tmp_path: Path) -> None:
    if os.getuid() != 0:
        pytest.skip("the test before is that of an ordinary user")
    home = tmp_path / "home"
    home.mkdir()
    os.chown(home, ORDINARY, ORDINARY)
    for folder in (tmp_path, *list(tmp_path.parents)[:3]):
        folder.chmod(folder.stat().st_mode | 0o055)
    user = (sys.executable, "-m", "tests.hostile.as_user", str(ORDINARY), str(home))
    attack = "holds-all-inotify-instances"
    assert met(home, "ns", attack, *user, TMPDIR=str(home)) == ["PASS", "evil.diff"]


def test_a_full_disk_is_not_held_against_others(tmp_path: Path) -> None:
    small = tmp_path / "small"
    small.mkdir()
    script = f'mount -t tmpfs -o size=96m,mode=1777 tmpfs {small} && exec env TMPDIR={small} "$@"'
    before = ("unshare", "-m", "sh", "-c", script, "sh")
    if subprocess.run([*before, "true"], capture_output=True, check=False).returncode:
        pytest.skip("a file system of its own cannot be mounted here")
    found = met(tmp_path, "landlock", "fills-the-disk", *before)
    assert found == ["PASS", "evil.diff"]
