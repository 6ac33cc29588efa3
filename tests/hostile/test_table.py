"""The table of docs/safety.md says what code in a sandbox can do: it is made by trying."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import uuid
from pathlib import Path

import pytest

from tests.hostile.attempts import ATTEMPTS, LEFT, ROWS
from tests.support.docs import load
from tests.support.users import ORDINARY, ROOT

pytestmark = [
    pytest.mark.skipif(sys.platform != "linux", reason="the levels are Linux's"),
    pytest.mark.long,
]
LEVELS = [
    "ns",
    *(pytest.param(level, marks=pytest.mark.slow) for level in ("landlock", "process", "none")),
]


def tried(level: str) -> dict[str, list[str]]:
    """Return what could be done at a level, by an ordinary user."""
    mark = uuid.uuid4().hex
    as_root = os.getuid() == 0
    with (
        tempfile.TemporaryDirectory(prefix="attempts-", ignore_cleanup_errors=True) as name,
        tempfile.TemporaryDirectory(dir="/opt" if as_root else None) as other,
    ):
        folder, home, shown = Path(name), Path(name, "home"), Path(other, "shown")
        home.mkdir()
        shown.mkdir()
        Path(other).chmod(0o755)
        arguments = ["tests.hostile.attempts", level, str(folder), mark, str(shown)]
        command = [sys.executable, "-m", *arguments]
        if as_root:
            for path in (folder, home, shown):
                os.chown(path, ORDINARY, ORDINARY)
            user = [sys.executable, "-m", "tests.hostile.as_user", str(ORDINARY), str(home)]
            command = [*user, *command]
        try:
            done = subprocess.run(
                command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=300
            )
        finally:
            for left in Path("/dev/shm").glob(f"brt-note-{mark}*"):
                left.unlink()
    assert done.returncode == 0, done.stderr[-3000:]
    answer = json.loads(done.stdout.splitlines()[-1])
    assert isinstance(answer, dict)
    return answer


@pytest.mark.parametrize("level", LEVELS)
def test_the_page_says_what_can_be_done(level: str) -> None:
    assert tried(level) == load("safety").column(level)


def test_everything_that_is_tried_is_in_the_table() -> None:
    rows = load("safety").column("none")
    assert set(rows) == {*ATTEMPTS, ROWS}
    assert {name for names in rows.values() for name in names} <= {
        *(name for tries in ATTEMPTS.values() for name in tries),
        *LEFT,
    }


if __name__ == "__main__":
    print(json.dumps({level: tried(level) for level in ("ns", "landlock", "process", "none")}))
