from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from pytest_brt.errors import StoreProblem
from pytest_brt.sandbox.workspace import Scratch, Scratch, clear_stale


@pytest.fixture
def scratch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Scratch]:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    scratch = Scratch()
    yield scratch
    scratch.close()


def test_a_full_disk_is_told_before_anything_begins(scratch: Scratch) -> None:
    with pytest.raises(StoreProblem, match=r"no space left in .*TMPDIR"), scratch.room(1 << 62):
        pytest.fail("begun")


def test_and_in_the_middle(scratch: Scratch) -> None:
    with pytest.raises(StoreProblem, match="no space left in"), scratch.room():
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    with pytest.raises(FileNotFoundError), scratch.room():
        raise FileNotFoundError("another error is another error")


FULL = """
import sys
from pathlib import Path
from pytest_brt.execute.tree import TreeCopy
try:
    TreeCopy(Path(sys.argv[1]), Path(sys.argv[2]) / "copy")
except OSError as error:
    sys.exit(error.errno)
"""


def test_a_copy_that_would_not_be_whole_is_none(tmp_path: Path) -> None:
    source, small = tmp_path / "source", tmp_path / "small"
    source.mkdir()
    small.mkdir()
    (source / "a.py").write_bytes(b"#" * (1 << 20))
    script = f'mount -t tmpfs -o size=64k none "{small}" && exec "$@"'
    command = ["unshare", "-Urm", "sh", "-c", script, "sh", sys.executable, "-c", FULL]
    done = subprocess.run([*command, source, small], capture_output=True, check=False, text=True)
    if "unshare" in done.stderr or "mount" in done.stderr:
        pytest.skip("no small file system can be had here")
    assert done.returncode == errno.ENOSPC, done.stderr


def test_what_a_living_engine_holds_is_left_alone(scratch: Scratch, tmp_path: Path) -> None:
    left = tmp_path / "brt-left"
    left.mkdir()
    (left / "lock").touch()
    clear_stale()
    assert not left.exists()
    assert scratch.path.exists()


@pytest.mark.parametrize(
    ("name", "content", "seconds", "stays"),
    [
        ("pytest-brt-abcd_123", "lock", 0, False),
        ("pytest-brt-bug-abcd_123", "lock", 0, False),
        ("pytest-brt-abcd_123", "", 120, False),
        ("pytest-brt-abcd_123", "", 0, True),  # it may have been made this moment
        ("pytest-brt-abcd_123", "notes.txt", 10_000, True),
        ("brt-git-abcd_123", "config", 10_000, False),
        ("brt-git-abcd_123", "config", 120, True),
        ("pytest-brt-main", "", 120, True),  # no name of ours
        ("pytest-brt-main", "lock", 10_000, True),
    ],
)
def test_what_a_killed_run_left_is_swept(
    name: str, content: str, seconds: int, stays: bool, scratch: Scratch, tmp_path: Path
) -> None:
    left = tmp_path / name
    left.mkdir()
    if content:
        (left / content).touch()
    old = left.stat().st_mtime - seconds
    os.utime(left, (old, old))
    clear_stale()
    assert left.exists() is stays
    assert scratch.path.exists()


def test_no_link_is_followed_to_what_looks_left(scratch: Scratch, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    (other / "lock").touch()
    (tmp_path / "pytest-brt-abcd_123").symlink_to(other)
    (tmp_path / "brt-abcd_123").symlink_to(other)
    inner = tmp_path / "pytest-brt-abcd_124"
    inner.mkdir()
    (inner / "lock").touch()
    (inner / "away").symlink_to(other)
    clear_stale()
    assert (other / "lock").exists()
    assert not inner.exists()


HOLDS = """
import sys, time
from pytest_brt.sandbox.workspace import Scratch
print(HeldFolder("pytest-brt-").path, flush=True)
time.sleep(60)
"""


def test_a_folder_is_swept_when_its_process_was_killed(scratch: Scratch, tmp_path: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", HOLDS],
        env={**os.environ, "TMPDIR": str(tmp_path)},
        stdout=subprocess.PIPE,
        text=True,
        encoding="utf-8",
    ) as holder:
        assert holder.stdout is not None
        held = Path(holder.stdout.readline().strip())
        clear_stale()
        assert held.is_dir()
        holder.send_signal(signal.SIGKILL)
    clear_stale()
    assert not held.exists()
    assert scratch.path.exists()


#: Is killed as soon as the lock is gone.
CLOSES = """
import os, signal, sys
from pytest_brt.sandbox.workspace import Scratch
folder = HeldFolder("pytest-brt-")
for number in range(50):
    (folder.path / f"slot-{number}" / "tree").mkdir(parents=True)

def look(event, arguments):
    if event in ("os.remove", "os.rmdir") and not (folder.path / "lock").exists():
        os.kill(os.getpid(), signal.SIGKILL)

sys.addaudithook(look)
folder.close()
"""


def test_a_folder_is_swept_when_its_process_was_killed_while_removing_it(tmp_path: Path) -> None:
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    subprocess.run([sys.executable, "-c", CLOSES], env=environment, check=False)
    (left,) = tmp_path.iterdir()
    assert [*left.iterdir()] == []  # so it goes when it is a minute old


def test_a_folder_is_gone_when_its_use_is_over(scratch: Scratch) -> None:
    with HeldFolder("pytest-brt-") as folder:
        (folder / "x").touch()
    assert not folder.exists()
    assert scratch.path.exists()
