from __future__ import annotations

import errno
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from pytest_brt.errors import StoreProblem
from pytest_brt.execute.scratch import Scratch, clear_stale


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
