"""The main job on projects and machines that are not as ours."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from tests.support.interval import CLAMP_ISSUE, FIXES, SOURCE, diff_of
from tests.support.trees import tree_hash, write_tree
from tests.support.users import ORDINARY, as_ordinary_user

pytestmark = [pytest.mark.slow, pytest.mark.long]

RIGHT = SOURCE.replace("min(value, low)", "min(value, high)")
WRONG = SOURCE.replace("    return max(low, min(value, low))\n", FIXES["c-wrong"])
OPTIONS = ("--brt-issue=issue.md", "--rank-fixes=patches", "--brt-guard=no")
UNITTEST = """\
import unittest

from interval import clamp


class TestClamp(unittest.TestCase):
    def test_below(self):
        self.assertEqual(clamp(-1, 0, 10), 0)
"""


@pytest.fixture
def root() -> Iterator[Path]:
    # Other runs of pytest make the folder of all their temporary ones one for their user alone.
    with TemporaryDirectory(prefix="foreign-", ignore_cleanup_errors=True) as folder:
        root = Path(folder) / "project"
        root.mkdir()
        yield root


def make(root: Path, path: str = "interval/__init__.py", *, issue: str = CLAMP_ISSUE) -> None:
    """Write a project with the module at `path`, a report and two patches."""
    patches = {
        f"patches/{name}.diff": diff_of(after, path)
        for name, after in {"right": RIGHT, "wrong": WRONG}.items()
    }
    write_tree(root, {path: SOURCE, "issue.md": issue, "pytest.ini": "[pytest]\n", **patches})


def run(
    root: Path, *arguments: str, before: tuple[str, ...] = (), **environment: str
) -> subprocess.CompletedProcess[str]:
    """Run pytest in `root`, started by the command `before`."""
    return subprocess.run(
        [*before, sys.executable, "-m", "pytest", "-p", "no:randomly", *arguments],
        cwd=root,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        encoding="utf-8",
        errors="replace",
        check=False,
    )


def assert_ranked(done: subprocess.CompletedProcess[str]) -> None:
    assert done.returncode == 7, done.stdout + done.stderr
    rows = [line.split() for line in done.stdout.splitlines() if ".diff  " in line]
    assert [row[1] for row in rows] == ["right.diff", "wrong.diff"], done.stdout
    assert [row[2] for row in rows] == ["4/4", "3/4"], done.stdout
    assert 0.0 < float(rows[1][4]) < float(rows[0][4]) <= 1.0, done.stdout


def test_a_src_layout_below_letters_of_all_kinds_in_the_locale_and_home_of_a_bare_machine(
    tmp_path: Path,
) -> None:
    root = tmp_path / "mein Projekt, größer – 中文 'x'"
    make(root, "src/interval/__init__.py", issue=f"{CLAMP_ISSUE}\nGrüße – 中文 🐛\n")
    (root / "src/interval/__init__.py").chmod(0o444)  # files may be read-only
    done = run(
        root,
        *(*OPTIONS, "--brt-report=out.json", "--brt-report=out.html"),
        LANG="C",
        LC_ALL="C",
        PYTHONUTF8="0",
        PYTHONCOERCECLOCALE="0",
        HOME="/proc",
        XDG_CACHE_HOME="/proc/x",  # nothing can be written there
    )
    assert_ranked(done)


def run_as_other(root: Path, home: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run pytest in `root` as a user who may read the project, and nothing else."""
    if os.getuid() != 0:
        pytest.skip("only root can become another user")
    home.mkdir()
    os.chown(home, ORDINARY, ORDINARY)
    command = "import os, sys, pytest; os.chdir(sys.argv[1]); sys.exit(pytest.main(sys.argv[2:]))"
    root.parent.chmod(0o755)
    unset = [f"--unset={name}" for name, value in environment.items() if not value]
    return subprocess.run(
        as_ordinary_user(
            "env", *unset, sys.executable, "-c", command, str(root), "-p", "no:randomly", *OPTIONS,
            home=home,
        ),
        cwd=Path(__file__).parents[2],
        # Where tox is, pytest's cache is in its folder, not in the project's.
        env={**os.environ, "TMPDIR": str(home), "TOX_ENV_DIR": "", **environment},
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=False,
    )  # fmt: skip


def test_a_project_of_another_user(root: Path) -> None:
    make(root)
    done = run_as_other(root, root.parent / "home")
    assert_ranked(done)
    assert "sandbox bubblewrap" in done.stdout, "the copy is the user's own"
    assert "the tests are not kept for the next run: pytest's cache cannot be" in done.stdout
    assert not (root / ".pytest_cache").exists()


def test_a_user_without_a_home_in_a_folder_for_all(root: Path) -> None:
    make(root, "interval.py")
    (root / "tests").mkdir()
    for path in (root, *root.rglob("*")):
        path.chmod(0o777)
    done = run_as_other(root, root.parent / "home", HOME="", XDG_DATA_HOME="")
    assert_ranked(done)
    assert "sandbox bubblewrap" in done.stdout, "the copy is the user's own"


def test_a_namespace_package_of_a_monorepo_without_any_tests_or_a_home(tmp_path: Path) -> None:
    root = tmp_path / "repo/libs/intervals"
    path = "acme/interval/__init__.py"
    make(root, path, issue=CLAMP_ISSUE.replace("from interval", "from acme.interval"))
    write_tree(tmp_path / "repo", {"libs/other/__init__.py": "raise ImportError\n"})
    for name, after in {"right": RIGHT, "wrong": WRONG}.items():
        text = diff_of(after, f"libs/intervals/{path}")
        (root / f"patches/{name}.diff").write_text(text, "utf-8")
    home = "/nonexistent"
    done = run(root, *OPTIONS, "--brt-write=new", HOME=home, XDG_CACHE_HOME=f"{home}/x")
    assert_ranked(done)
    assert "written: tests/test_" in done.stdout or "written: test_" in done.stdout
    written = [*root.glob("test_*.py"), *root.glob("tests/test_*.py")]
    assert len(written) == 1
    assert run(root, str(written[0].relative_to(root))).returncode == 1


def test_unittest_style_and_an_editable_install(root: Path, tmp_path: Path) -> None:
    path = "lib/python/interval/__init__.py"
    make(root, path)
    write_tree(root, {"tests/test_interval.py": UNITTEST})
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", tmp_path / "env"], check=True)
    site = next((tmp_path / "env").glob("lib/python*/site-packages"))
    packages = Path(pytest.__file__).parents[1]
    (site / "editable.pth").write_text(f"{root}/lib/python\n{packages}\n", "utf-8")
    python = f"{tmp_path}/env/bin/python"
    shown = f"--brt-show={packages}"
    done = run(root, *OPTIONS, f"--brt-python={python}", shown, "--brt-write=into")
    assert_ranked(done)
    assert "written: tests/test_interval.py" in done.stdout, done.stdout
    text = (root / "tests/test_interval.py").read_text("utf-8")
    assert text.startswith(UNITTEST.rstrip())
    assert "    def test_" in text.removeprefix(UNITTEST), "a method of the class"
    plain = [python, "-m", "unittest", "discover", "-s", "tests", "-t", "."]
    (root / "tests/__init__.py").touch()
    failing = subprocess.run(plain, cwd=root, capture_output=True, text=True, check=False)
    assert "FAILED (failures=1)" in failing.stderr
    (root / path).write_text(RIGHT, "utf-8")
    assert subprocess.run(plain, cwd=root, capture_output=True, check=False).returncode == 0


@pytest.fixture
def full_disk(tmp_path: Path) -> tuple[str, ...]:
    """What starts a command that has TMPDIR on a disk without room."""
    small = tmp_path / "small"
    small.mkdir()
    script = f'mount -t tmpfs -o size=8k,mode=1777 tmpfs {small} && exec env TMPDIR={small} "$@"'
    before = ("unshare", "-m", "sh", "-c", script, "sh")
    probe = subprocess.run([*before, "true"], capture_output=True, check=False)
    if probe.returncode:
        pytest.skip("this machine allows no mount to try it in")
    return before


def test_a_full_disk_is_said(root: Path, full_disk: tuple[str, ...]) -> None:
    make(root)
    state = tree_hash(root)
    done = run(root, *OPTIONS, before=full_disk)
    assert done.returncode == 4, done.stdout + done.stderr
    assert "no space left in " in done.stdout + done.stderr
    assert "Traceback" not in done.stdout + done.stderr
    assert tree_hash(root) == state


def test_a_cache_on_a_full_disk(root: Path) -> None:
    make(root)
    cache = root / ".pytest_cache"
    cache.mkdir()
    script = f'mount -t tmpfs -o size=4k tmpfs {cache} && exec "$@"'
    before = ("unshare", "-m", "sh", "-c", script, "sh")
    if subprocess.run([*before, "true"], capture_output=True, check=False).returncode:
        pytest.skip("this machine allows no mount to try it in")
    done = run(root, *OPTIONS, before=before)
    assert_ranked(done)
    assert "Traceback" not in done.stdout + done.stderr
    assert shutil.which("unshare")
