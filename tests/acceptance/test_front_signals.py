"""``pytest-brt`` is one process: what ends it ends everything."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.support.trees import write_tree

pytestmark = [pytest.mark.slow, pytest.mark.load]

REPORT = """# f hangs

```python
>>> from pkg import f
>>> f()
1
```
Expected 2.
"""
#: Says that it is at work, and goes on for as long as the test looks.
SOURCE = """import os, pathlib, time

def f():
    while True:
        time.sleep(1)
"""

#: Runs the command; what a script's shell starts in the background ignores Ctrl-C.
HEEDFUL = """
import signal, sys
from pytest_brt.cli.main import main
signal.signal(signal.SIGINT, signal.default_int_handler)
sys.exit(main())
"""


def parents() -> dict[tuple[int, str], int]:
    """Return the parent of each process that runs, which is known by its number and its start."""
    found = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                stat = (entry / "stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue
            if stat[0] != "Z":
                found[int(entry.name), stat[19]] = int(stat[1])
    return found


def below(pid: int) -> set[tuple[int, str]]:
    """Return the processes that `pid` started, and those that they did."""
    running = parents()
    found: set[tuple[int, str]] = set()
    ours = {pid}
    while new := {key for key, parent in running.items() if parent in ours} - found:
        found |= new
        ours |= {number for number, _ in new}
    return found


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="processes are read from /proc")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGKILL])
def test_a_signal_to_the_command_ends_all_of_it(
    number: signal.Signals, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    copies = tmp_path_factory.mktemp("copies")
    write_tree(tmp_path, {"pkg/__init__.py": SOURCE, "issue.md": REPORT})
    started = subprocess.Popen(
        [sys.executable, "-c", HEEDFUL, "issue", "issue.md", "--brt-timeout=100"],
        cwd=tmp_path,
        env={**os.environ, "TMPDIR": str(copies)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    children: set[tuple[int, str]] = set()
    try:
        deadline = time.monotonic() + 30
        while len(children) < 3 and time.monotonic() < deadline:
            time.sleep(0.05)
            children = below(started.pid)
        assert len(children) >= 3
        os.kill(started.pid, number)
        assert started.wait(30) != 0
        deadline = time.monotonic() + 30
        while time.monotonic() < deadline and (
            children & parents().keys() or any(copies.iterdir())
        ):
            time.sleep(0.05)
        assert not children & parents().keys()
        assert not list(copies.iterdir())
    finally:
        started.kill()
        for pid, _ in children & parents().keys():
            os.kill(pid, signal.SIGKILL)
