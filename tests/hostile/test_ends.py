"""Runs that are ended, or whose ends nobody hears of, in ways that are not the usual ones."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.trees import write_tree

pytestmark = [pytest.mark.slow, pytest.mark.skipif(sys.platform != "linux", reason="signals")]

#: Becomes a command with another answer to a signal.
BECOMES = """
import os, signal, sys
signal.signal(int(sys.argv[1]), signal.Handlers(int(sys.argv[2])))
os.execv(sys.argv[3], sys.argv[3:])
"""
REPORT = "# twice() is wrong\n\n```python\n>>> from pkg import twice\n>>> twice(2)\n5\n```\n"
SOURCE = "def twice(x):\n    return x + x + 1\n"
#: A second Ctrl-C while pytest looks at the first one, after one piece of work was done.
TWICE = """
import pytest

@pytest.hookimpl(trylast=True)
def pytest_runtest_logreport(report):
    if report.when == "call":
        raise KeyboardInterrupt

def pytest_keyboard_interrupt():
    raise KeyboardInterrupt
"""
#: What pytest meets where nobody reads its output any more.
UNSEEN = """
def pytest_runtest_logreport(report):
    if report.when == "call":
        raise BrokenPipeError
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    report = REPORT + "Expected 4.\n"
    write_tree(tmp_path, {"pkg/__init__.py": SOURCE, "issue.md": report, "temporary/x": ""})
    return tmp_path


def command(*options: str, number: int = signal.SIGINT, handler: int = signal.SIG_DFL) -> list[str]:
    become = [sys.executable, "-c", BECOMES, str(int(number)), str(int(handler))]
    ours = [sys.executable, "-m", "pytest_brt", "issue", "issue.md", *options]
    return [*become, *ours]


@pytest.fixture
def temporary(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """Yield an environment whose temporary files are looked at afterwards."""
    folder = tmp_path_factory.mktemp("ends")
    yield {**os.environ, "TMPDIR": str(folder)}
    assert [*folder.glob("*brt-*")] == []


def test_who_ignores_the_ends_of_children_gets_the_same_answer(
    project: Path, temporary: dict[str, str]
) -> None:
    done = subprocess.run(
        command(number=signal.SIGCHLD, handler=signal.SIG_IGN),
        cwd=project,
        env=temporary,
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=False,
        timeout=120,
    )
    assert "eproduced: test_" in done.stdout, done.stdout + done.stderr


def test_what_has_no_output_writes_its_reports(project: Path, temporary: dict[str, str]) -> None:
    closes = "import os, sys; os.closerange(0, 3); os.execv(sys.argv[1], sys.argv[1:])"
    subprocess.run(
        [sys.executable, "-c", closes, *command("--report=report.md")],
        cwd=project,
        env=temporary,
        check=False,
        timeout=120,
    )
    assert "eproduced" in (project / "report.md").read_text("utf-8")


@pytest.mark.parametrize("plugin", [TWICE, UNSEEN])
def test_an_end_in_the_middle_loses_nothing_that_was_finished(
    plugin: str, project: Path, temporary: dict[str, str]
) -> None:
    (project / "ending.py").write_text(plugin, encoding="utf-8")
    paths = os.pathsep.join((str(project), os.environ.get("PYTHONPATH", "")))
    subprocess.run(
        command("-p", "ending"),
        cwd=project,
        env={**temporary, "PYTHONPATH": paths},
        capture_output=True,
        check=False,
        timeout=120,
    )
    assert (project / ".pytest_cache/d/brt/journal.jsonl").read_bytes().count(b"\n") >= 1


def test_a_terminal_that_is_closed_leaves_nothing(project: Path, temporary: dict[str, str]) -> None:
    (project / "pkg/__init__.py").write_text(f"import time\ntime.sleep(50)\n{SOURCE}", "utf-8")
    with subprocess.Popen(
        command(number=signal.SIGHUP), cwd=project, env=temporary, stdout=subprocess.PIPE
    ) as started:
        assert started.stdout is not None
        while b"collected" not in started.stdout.readline():
            continue
        time.sleep(1)
        started.send_signal(signal.SIGHUP)
        said, _ = started.communicate(timeout=60)
    assert started.returncode == 2, said
    assert b"continue: " in said
