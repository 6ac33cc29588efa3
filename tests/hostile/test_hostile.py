from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.hostile.cases import CASES
from tests.support.users import ROOT

pytestmark = [
    pytest.mark.slow,
    pytest.mark.long,
    pytest.mark.skipif(sys.platform != "linux", reason="namespaces and Landlock are Linux's"),
]


#: A user for this set alone, in which a fork bomb uses up what its user may have.
BOMBED = 12346


class Outcome:
    """What became of the whole set, once."""

    def __init__(self, answer: dict[str, object], left: list[str]) -> None:
        self.answer = answer
        self.left = left

    @property
    def runs(self) -> dict[str, list[str]]:
        runs = self.answer["runs"]
        assert isinstance(runs, dict)
        return runs


@pytest.fixture(
    scope="module",
    params=["ns-as-we-are", "landlock-as-we-are", "ns-as-other", "landlock-as-other"],
)
def outcome(request: pytest.FixtureRequest) -> Iterator[tuple[str, Outcome]]:
    level, _, who = request.param.partition("-")
    other = who == "as-other"
    if other and os.getuid() != 0:
        pytest.skip("only root can become another user")
    mark = uuid.uuid4().hex
    with tempfile.TemporaryDirectory(prefix="hostile-", ignore_cleanup_errors=True) as name:
        folder = Path(name)
        home = folder / "home"
        home.mkdir()
        shown = Path("/opt" if os.getuid() == 0 else folder, f"brt-{mark}")
        shown.mkdir(parents=True)
        command = [sys.executable, "-m", "tests.hostile.run_cases", level, str(folder), mark]
        command.append(str(shown))
        if other:
            for path in (folder, home, shown):
                os.chown(path, BOMBED, BOMBED)
            user = [sys.executable, "-m", "tests.hostile.as_user", str(BOMBED), str(home)]
            command = [*user, *command]
        try:
            done = subprocess.run(
                command,
                cwd=ROOT,
                capture_output=True,
                text=True,
                timeout=400,
                check=False,
                encoding="utf-8",
            )
            assert done.returncode == 0, done.stderr[-4000:]
            answer = json.loads(done.stdout.splitlines()[-1])
            assert answer["level"] == level
            assert answer["user"] == (BOMBED if other else os.getuid())
            yield level, Outcome(answer, _marked(mark))
        finally:
            shutil.rmtree(Path.home() / f"brt-{mark}", ignore_errors=True)
            shutil.rmtree(shown)


def _marked(mark: str) -> list[str]:
    """Return the processes that have the mark in their environment."""
    found = []
    for folder in Path("/proc").iterdir():
        if not folder.name.isdigit():
            continue
        try:
            if mark.encode() in (folder / "environ").read_bytes():
                found.append((folder / "cmdline").read_bytes().replace(b"\0", b" ").decode())
        except OSError:
            continue
    return found


def test_there_are_at_least_fifty() -> None:
    assert len(CASES) >= 50


@pytest.mark.parametrize("name", CASES)
def test_each_gets_the_right_verdict(outcome: tuple[str, Outcome], name: str) -> None:
    level, seen = outcome
    verdict, reason = seen.runs[name]
    case = CASES[name]
    user = seen.answer["user"]
    assert isinstance(user, int)
    assert verdict == case.expected(level, user), reason
    assert case.words in reason


def test_nothing_of_the_users_was_touched(outcome: tuple[str, Outcome]) -> None:
    assert outcome[1].answer["intact"] is True


def test_no_process_is_left(outcome: tuple[str, Outcome]) -> None:
    assert outcome[1].left == []


def test_nothing_had_to_be_tried_again(outcome: tuple[str, Outcome]) -> None:
    assert outcome[1].answer["notes"] == []
