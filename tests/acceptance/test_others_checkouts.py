"""A checkout of somebody else's decides nothing: nothing of it runs outside, or leads outside."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

#: Libraries that we import only when a report is read.
LIBRARIES = ("libcst", "markdown_it", "msgspec", "rapidfuzz", "unidiff")
COMMANDS = {
    "plugin": ["-P", "-m", "pytest", "--brt-issue=mean.md"],
    "module": ["-m", "pytest", "--brt-issue=mean.md"],
    "front": ["-m", "pytest_brt", "issue", "mean.md"],
}


@pytest.mark.slow
@pytest.mark.parametrize("command", COMMANDS)
def test_its_modules_are_not_taken_for_libraries(command: str, project: pytest.Pytester) -> None:
    ran = project.path / "ran"
    for name in LIBRARIES:
        told = f"open({str(ran)!r}, 'a').write(__name__)\nraise SystemExit\n"
        (project.path / f"{name}.py").write_text(told, "utf-8")
    if command == "plugin":
        project.makeini("[pytest]\npythonpath = .\n")
    done = subprocess.run(
        [sys.executable, *COMMANDS[command]], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "Reproduced: " in done.stdout
    assert not ran.exists()


@pytest.mark.slow
def test_links_in_its_cache_are_not_written_through(
    project: pytest.Pytester, tmp_path_factory: pytest.TempPathFactory
) -> None:
    outside = tmp_path_factory.mktemp("outside")
    (outside / "profile").write_text("mine\n", "utf-8")
    cache = project.path / ".pytest_cache/d/brt"
    cache.mkdir(parents=True)
    for name in ("journal.jsonl", "last-run.json"):
        (cache / name).symlink_to(outside / "profile")
    (cache / "models").symlink_to(outside)
    result = project.runpytest_subprocess(
        "--brt-issue=clamp.md", "--rank-fixes=patches/a-right.diff"
    )
    assert result.ret == 0
    assert [path.name for path in outside.iterdir()] == ["profile"]
    assert (outside / "profile").read_text("utf-8") == "mine\n"
    assert (cache / "last-run.json").is_file()


def test_a_linked_cache_is_replaced(project: pytest.Pytester, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (project.path / ".pytest_cache/d").mkdir(parents=True)
    (project.path / ".pytest_cache/d/brt").symlink_to(outside)
    assert project.runpytest_subprocess("--brt-issue=mean.md").ret == 0
    assert not any(outside.iterdir())
    assert (project.path / ".pytest_cache/d/brt/last-run.json").is_file()


@pytest.mark.parametrize("link", [".pytest_cache", ".pytest_cache/d"])
def test_nothing_is_kept_where_a_cache_leads(
    project: pytest.Pytester, tmp_path: Path, link: str
) -> None:
    (tmp_path / "outside").mkdir()
    place = project.path / link
    place.parent.mkdir(exist_ok=True)
    place.symlink_to(tmp_path / "outside")
    assert project.runpytest_subprocess("--brt-issue=mean.md").ret == 0
    assert not list((tmp_path / "outside").rglob("last-run.json"))
