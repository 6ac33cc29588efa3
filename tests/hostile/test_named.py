"""What a project brings leads nothing of ours out of it."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.interval import CLAMP_ISSUE, SOURCE, TESTS
from tests.support.trees import write_tree
from tests.support.users import ORDINARY, ROOT

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform != "linux", reason="namespaces and Landlock are Linux's"),
]


@pytest.fixture
def home() -> Iterator[Path]:
    """Return a folder that other users can reach, with something of its owner's."""
    with tempfile.TemporaryDirectory(prefix="named-", ignore_cleanup_errors=True) as name:
        folder = Path(name)
        folder.chmod(0o755)
        write_tree(folder, {"thesis/chapter.py": "kept", ".ssh/key": "the secret"})
        yield folder


@pytest.fixture(params=["as we are", "ordinary user"])
def user(request: pytest.FixtureRequest, home: Path) -> tuple[str, ...]:
    """Return how a command is begun that is to run as another user, with a home of its own."""
    if request.param == "as we are":
        return ("env", f"HOME={home}")
    if os.geteuid() != 0:
        pytest.skip("only root can become another user")
    return (sys.executable, "-m", "tests.hostile.as_user", str(ORDINARY), str(home))


def run(
    user: tuple[str, ...], home: Path, folder: Path, *arguments: str
) -> subprocess.CompletedProcess[str]:
    """Run a command of ours in a folder of the user's."""
    if user[0] != "env":
        for path in (home, *home.rglob("*")):
            os.chown(path, ORDINARY, ORDINARY, follow_symlinks=False)
    return subprocess.run(
        [*user, sys.executable, "-m", "pytest_brt", *arguments],
        cwd=folder,
        env={**os.environ, "PYTEST_ADDOPTS": "", "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )


def test_patches_are_written_through_no_link(home: Path, user: tuple[str, ...]) -> None:
    project = home / "work/project"
    files = {"interval/__init__.py": SOURCE, "tests/test_interval.py": TESTS}
    write_tree(project, {**files, "clamp.md": CLAMP_ISSUE})
    (project / "brt-patches").symlink_to("../../thesis")
    done = run(user, home, project, "repair", "clamp.md", "--brt-model=server:127.0.0.1:9")
    assert [path.name for path in (home / "thesis").iterdir()] == ["chapter.py"]
    assert (home / "thesis/chapter.py").read_text("utf-8") == "kept"
    assert done.returncode == 4, done.stdout + done.stderr
    assert "is a link" in done.stderr
    assert "Traceback" not in done.stdout + done.stderr
