"""What a project's settings say is data: none of it is obeyed outside of the sandbox."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_brt.code.ini import cache_dir_of, project_cache_dir
from tests.support.sessions import LEAN
from tests.support.trees import write_tree

REPORT = "# f is wrong\n\n```python\n>>> from pkg import f\n>>> f(1)\n1\n```\nExpected 2.\n"
#: Makes a file when it is imported, wherever that may be.
PLUGIN = "import os, pathlib\npathlib.Path(os.environ['SEEN']).touch()\n"
LINE_BREAK = (
    "[tool.pytest.ini_options]\n"
    'cache_dir = ".pytest_cache\\naddopts = -p evilplug\\npythonpath = $PWD"\n'
)


def run(command: str, root: Path, seen: Path) -> subprocess.CompletedProcess[str]:
    files = {"issue": ["issue", "issue.md"], "pytest": ["--brt-issue=issue.md"]}[command]
    module = "pytest" if command == "pytest" else "pytest_brt"
    return subprocess.run(
        [sys.executable, "-m", module, *files, *LEAN.split()],
        cwd=root,
        env={**os.environ, "SEEN": str(seen)},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture
def project(tmp_path: Path) -> Path:
    tree = {
        "pkg/__init__.py": "def f(x): return x\n",
        "evilplug.py": PLUGIN,
        "issue.md": REPORT,
    }
    write_tree(tmp_path / "project", tree)
    return tmp_path / "project"


@pytest.mark.slow
def test_a_line_break_in_a_setting_is_no_second_setting(project: Path, tmp_path: Path) -> None:
    (project / "pyproject.toml").write_text(LINE_BREAK, "utf-8")
    done = run("issue", project, tmp_path / "seen")
    assert not (tmp_path / "seen").exists(), done.stdout + done.stderr
    assert "test_wrong fails" in done.stdout, done.stdout + done.stderr
    assert "cache_dir" in done.stderr


@pytest.mark.slow
@pytest.mark.parametrize("command", ["issue", "pytest"])
@pytest.mark.parametrize("key", ["cache_dir = {}", "addopts = -o cache_dir={}", "log_file = {}"])
def test_a_project_names_no_place_outside_of_itself(
    command: str, key: str, project: Path, tmp_path: Path
) -> None:
    place = tmp_path / "outside"
    (project / "pytest.ini").write_text(f"[pytest]\n{key.format(place)}\n", "utf-8")
    done = run(command, project, tmp_path / "seen")
    assert "test_wrong fails" in done.stdout, done.stdout + done.stderr
    assert not place.exists()


def test_a_link_that_leads_out_is_not_followed(tmp_path: Path) -> None:
    write_tree(tmp_path, {"project/pytest.ini": "[pytest]\ncache_dir = here/cache\n"})
    (tmp_path / "project/here").symlink_to(tmp_path)
    assert project_cache_dir(tmp_path / "project") == ""
    (tmp_path / "project/here").unlink()
    assert project_cache_dir(tmp_path / "project") == "here/cache"


@given(
    st.text(st.characters(codec="utf-8"))
    | st.lists(st.sampled_from(["..", ".", "~", "/", "\n", "$PWD", "a", "${HOME}", "\\"])).map(
        "/".join
    )
)
def test_whatever_it_says_the_cache_is_one_folder_in_the_project(
    tmp_path_factory: pytest.TempPathFactory, stated: str
) -> None:
    root = tmp_path_factory.getbasetemp() / "stated"
    root.mkdir(exist_ok=True)
    quoted = "".join(f"\\U{ord(char):08x}" for char in stated)
    (root / "pytest.toml").write_text(f'[pytest]\ncache_dir = "{quoted}"\n', "utf-8")
    place = cache_dir_of(root)
    assert place.resolve().is_relative_to(root.resolve())
    assert place.resolve() != root.resolve()
    assert str(place.relative_to(root)).isprintable()
    assert "$" not in str(place.relative_to(root))
