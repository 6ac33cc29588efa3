from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from pytest_brt.execute.scratch import clear_stale
from tests.hostile.run_cases import digest
from tests.support.projects import make_project
from tests.support.rounds import rounds

pytestmark = [
    pytest.mark.slow,
    pytest.mark.long,
    pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc"),
]
ROOT = Path(__file__).parents[2]
TIMES = rounds(50, least=12)
#: Which process of a run is killed, by a word of its command line.
VICTIMS = ("chaos_run", "launcher/__main__.py", "inside/start.py")


def _marked(mark: str) -> list[int]:
    """Return the processes that have the mark in their environment or command line."""
    found = []
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit() and int(folder.name) != os.getpid():
            try:
                text = (folder / "environ").read_bytes() + (folder / "cmdline").read_bytes()
            except OSError:
                continue
            if mark.encode() in text:
                found.append(int(folder.name))
    return found


def _descendants(pid: int) -> list[int]:
    parents = {}
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                stat = (folder / "stat").read_text(encoding="utf-8", errors="replace")
            except OSError:
                continue
            parents[int(folder.name)] = int(stat.rpartition(")")[2].split()[1])
    found = {pid}
    while more := {child for child, parent in parents.items() if parent in found} - found:
        found |= more
    return sorted(found)


def _named(pids: list[int], word: str) -> list[int]:
    found = []
    for pid in pids:
        try:
            if word.encode() in Path(f"/proc/{pid}/cmdline").read_bytes():
                found.append(pid)
        except OSError:
            continue
    return found


def _wait_until_gone(mark: str, seconds: float) -> list[int]:
    last = time.monotonic() + seconds
    while (left := _marked(mark)) and time.monotonic() < last:
        time.sleep(0.1)
    return left


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Make a folder for what is temporary, where nobody else's engines come and go."""
    tmp_path.chmod(0o755)  # it is made first, and elsewhere
    with tempfile.TemporaryDirectory(prefix="chaos-") as name:
        Path(name).chmod(0o755)
        monkeypatch.setenv("TMPDIR", name)
        monkeypatch.setattr("tempfile.tempdir", name)
        yield Path(name)
        clear_stale()


@pytest.mark.parametrize("level", ["ns", "landlock"])
def test_killing_anything_at_any_moment_harms_nothing(
    level: str, temporary: Path, tmp_path: Path
) -> None:
    root = make_project(tmp_path / "project")
    before, mounts = digest(root), Path("/proc/mounts").read_bytes()
    chance = random.Random(7)
    for _ in range(TIMES // 2):
        mark = uuid.uuid4().hex
        command = [sys.executable, "-m", "tests.hostile.chaos_run", level, str(root), mark]
        with subprocess.Popen(
            command, cwd=ROOT, stdout=subprocess.PIPE, text=True, encoding="utf-8"
        ) as main:
            assert main.stdout is not None
            if is_ready := chance.random() < 0.7:
                assert main.stdout.readline() == "ready\n"
            time.sleep(chance.random() * 1.5)
            # While it starts, what it asks is asked once: then nobody can do the work again.
            word = chance.choice(VICTIMS if is_ready else VICTIMS[:2])
            victims = _named(_descendants(main.pid), word) or [main.pid]
            victim = chance.choice(victims)
            with suppress(ProcessLookupError):  # that of a test may have ended meanwhile
                os.kill(victim, signal.SIGKILL)
            if victim != main.pid:
                time.sleep(0.5)
                assert main.poll() is None, f"the end of {word} ended all"
                main.kill()
            said = main.stdout.read()
        assert "wrong" not in said, said
        if level == "ns":  # one process holds all others: they end with it
            assert _wait_until_gone(mark, 20) == []
        else:  # a daemon may have got away with its parents killed: the next engine ends it
            _wait_until_gone(mark, 2)
            clear_stale()
            assert _wait_until_gone(mark, 20) == []
        assert digest(root) == before
        assert Path("/proc/mounts").read_bytes() == mounts
    for brief in temporary.glob("brt-*-*"):  # it was killed while it used one: swept in an hour
        os.utime(brief, (0, 0))
    clear_stale()
    assert [*temporary.iterdir()] == []
