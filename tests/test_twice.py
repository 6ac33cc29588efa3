from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("xdist")

TWICE = Path(__file__).parents[1] / ".ci" / "twice.py"
SUITE = """
import os, pathlib, pytest

@pytest.fixture(scope="module")
def machine():
    busy = pathlib.Path("busy")
    if busy.exists():
        busy.unlink()
        raise OSError("no process can be started")

def test_chance(machine): pass
def test_other(): print("ran")
def test_fault(): assert not os.path.exists("fault")
"""


@pytest.mark.parametrize(
    ("files", "options", "code", "told"),
    [
        pytest.param((), (), 0, "3 passed in", id="nothing fails"),
        pytest.param(("busy",), (), 0, "1 passed in", id="fails by chance"),
        pytest.param(("fault",), (), 1, "FAILED test_suite.py::test_fault", id="fails always"),
        pytest.param(("busy", "fault"), (), 1, "1 failed, 1 passed in", id="fails in both ways"),
        pytest.param(("busy",), ("--unknown",), 4, "unrecognized arguments", id="was not run"),
    ],
)
def test_what_fails_is_run_once_more(
    tmp_path: Path, files: tuple[str, ...], options: tuple[str, ...], code: int, told: str
) -> None:
    (tmp_path / "test_suite.py").write_text(SUITE)
    for name in files:
        (tmp_path / name).touch()
    ended = subprocess.run(
        [sys.executable, TWICE, "-n", "1", "-p", "no:randomly", *options],
        check=False,
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    assert ended.returncode == code, ended.stdout
    assert told in (ended.stdout + ended.stderr).rpartition("Once more")[2]
    assert ("test_chance" in ended.stdout) == (files[:1] == ("busy",) and not options)
