"""Projects with what is neither a file nor a folder, or may not be looked at."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.interval import CLAMP, CLAMP_ISSUE, FIXES, SOURCE, TESTS, diff_of
from tests.support.trees import write_tree
from tests.support.users import ORDINARY, ROOT

pytestmark = pytest.mark.slow
#: Seconds after which a session is held to wait for somebody.
WAITS = 60


@pytest.fixture
def project(tmp_path: Path) -> Path:
    root = tmp_path / "project"
    files = {"interval/__init__.py": SOURCE, "tests/test_interval.py": TESTS}
    write_tree(root, {**files, "clamp.md": CLAMP_ISSUE})
    return root


def reproduce(
    project: Path, *user: str, sandbox: str = "auto", rank: str = "", tell: str = "-q"
) -> subprocess.CompletedProcess[str]:
    command = [*user, sys.executable, "-m", "pytest", tell, "--brt-issue=clamp.md"]
    command += [f"--rank-fixes={rank}"] if rank else []
    done = subprocess.run(
        [*command, f"--brt-sandbox={sandbox}"],
        cwd=project,
        env={**os.environ, "PYTEST_ADDOPTS": "", "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=WAITS,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done


@pytest.mark.parametrize("sandbox", ["auto", "process"])
def test_pipes_are_no_part_of_a_project(project: Path, sandbox: str) -> None:
    for name in ("pipe", "tests/test_pipe.py", "interval/pipe.py"):
        os.mkfifo(project / name)
    (project / "tests/linked.py").symlink_to("test_pipe.py")
    shown = reproduce(project, tell="-v", sandbox=sandbox).stdout
    assert "Possibly reproduced: " in shown
    assert "brt: pipes, sockets and devices passed over in the project: 4\n" in shown


def test_nobody_waits_for_a_pipe_in_place_of_a_file_of_ours(project: Path) -> None:
    ours = project / ".pytest_cache/d/brt"
    ours.mkdir(parents=True)
    for name in ("journal.jsonl", "last-run.json", "spent.json"):
        os.mkfifo(ours / name)
    assert "Possibly reproduced: " in reproduce(project).stdout


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can make what others may not read")
def test_a_folder_that_may_not_be_read_is_left_out(project: Path) -> None:
    """As of a database that another user's service has in the project."""
    data = project / "data"
    (data / "inner").mkdir(parents=True)
    for path in (project, *project.rglob("*")):
        os.chown(path, ORDINARY, ORDINARY)
    os.chown(data, 0, 0)
    data.chmod(0)
    for folder in (project, *project.parents):
        folder.chmod(folder.stat().st_mode | 0o055)
    user = (sys.executable, "-m", "tests.hostile.as_user", str(ORDINARY), str(project))
    shown = reproduce(project, *user, tell="-v").stdout
    assert "Possibly reproduced: " in shown
    assert "brt: left out of the project, for it may not be read: 'data'\n" in shown


def test_patches_are_ranked_whatever_they_are_called(project: Path) -> None:
    """What pytest takes for the name of a test is nobody's reason to rank no patch."""
    patches = project / "patches"
    patches.mkdir()
    right = diff_of(SOURCE.replace(CLAMP, FIXES["a-right"]))
    for name in ("a::b.diff", "fix [1].diff", "plain.diff"):
        (patches / name).write_text(f"{right}\n", "utf-8")
    wrong = diff_of(SOURCE.replace(CLAMP, FIXES["c-wrong"]))
    (patches / "wrong::[2].diff").write_text(wrong, "utf-8")
    told = reproduce(project, rank="patches").stdout
    assert "Best: a::b.diff (fix [1].diff and plain.diff: the same patch)" in told
