"""Bug tests of the last run are reviewed, patches ranked by what is left, and compared."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from pytest_brt.cli.main import main
from pytest_brt.pipeline.keeping import find_last_run
from pytest_brt.plugin.apart import apart
from pytest_brt.plugin.inputs import cache_folder
from pytest_brt.store import WRITTEN, LastRun, save_last_run
from pytest_brt.types import Review
from tests.support.rows import judged
from tests.support.sessions import LEAN

FIRST = judged(0)
SECOND = replace(
    judged(1), test=replace(judged(1).test, name="test_b", source="def test_b():\n    assert 0\n")
)


@pytest.fixture
def kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the folder in which the last run left two tests; its project is the current folder."""
    folder = tmp_path / ".pytest_cache/d/brt"
    save_last_run(folder, LastRun(tests=(FIRST, SECOND), about="issue.md, now"))
    monkeypatch.chdir(tmp_path)
    return folder


def reviews(folder: Path) -> list[Review]:
    return [judged.review for judged in find_last_run(str(folder), WRITTEN)[2].tests]


def test_tests_are_listed_with_what_was_said(
    kept: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["review", "--accept", "T1", "--reject", SECOND.test.name]) == 0
    assert capsys.readouterr().out == "you accepted 1 and rejected 1 of 2 tests\n"
    assert reviews(kept) == [Review.ACCEPTED, Review.REJECTED]
    assert main(["review"]) == 0
    shown = capsys.readouterr().out
    assert f"T2  {SECOND.test.name}  (65% sure, rejected)" in shown
    assert SECOND.test.source is not None
    assert f"    | {SECOND.test.source.splitlines()[0]}" in shown


def test_what_is_no_test_is_refused(kept: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["review", "--accept", "T3"]) == 4
    assert "no test 'T3' (there are T1, T2)" in capsys.readouterr().err
    assert reviews(kept) == [Review.OPEN, Review.OPEN]


def test_without_an_earlier_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["review"]) == 4
    assert "no earlier run is kept" in capsys.readouterr().err


ADDOPTS = "[tool.pytest.ini_options]\naddopts = '-o cache_dir=build/cache'\n"
VARIABLES = {"TOX_ENV_DIR": "/", "PYTEST_ADDOPTS": "-o cache_dir=$WHERE/cache"}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("file", "text", "variables"),
    [
        ("pytest.ini", "[pytest]\ncache_dir = build/cache\n", {}),
        ("pyproject.toml", ADDOPTS, {}),
        ("README", "", VARIABLES),
        ("README", "", {"TOX_ENV_DIR": "{root}/build"}),
    ],
)
def test_pytests_cache_is_found_where_the_project_has_it(
    file: str,
    text: str,
    variables: dict[str, str],
    pytester: pytest.Pytester,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    root = pytester.path
    (root / file).write_text(text, "utf-8")
    (root / "issue.md").write_text("# It is wrong\n", "utf-8")
    (root / "setup.py").write_text("", "utf-8")
    monkeypatch.setenv("WHERE", "build")
    for name, value in variables.items():
        monkeypatch.setenv(name, value.replace("{root}", str(root)))
    place = cache_folder(pytester.parseconfigure(*apart(root)[2:]))  # without our session
    assert place is not None
    assert root / "build" in place.parents
    save_last_run(place, LastRun(tests=(FIRST,), about="issue.md, now"))
    assert find_last_run(str(root), WRITTEN)[:2] == (root, place)
    assert not (root / ".pytest_cache").exists()


@pytest.mark.slow
def test_the_front_end_keeps_its_runs_in_pytests_cache(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where variables could be in its way; a run that finds nothing to do keeps that."""
    (tmp_path / "issue.md").write_text("# It is wrong\n", "utf-8")
    (tmp_path / "setup.py").write_text("", "utf-8")
    monkeypatch.chdir(tmp_path)
    for name, value in {"WHERE": "build", **VARIABLES}.items():
        monkeypatch.setenv(name, value)
    command = [sys.executable, "-m", "pytest_brt", "issue", "issue.md", *LEAN.split()]
    assert subprocess.run(command, check=False).returncode == 1
    assert not (tmp_path / ".pytest_cache").exists()
    root, folder, last = find_last_run(str(tmp_path), WRITTEN)
    assert (root, folder) == (tmp_path, tmp_path / "build/cache/d/brt")
    assert last.about.startswith("issue.md, ")


@pytest.mark.slow
def test_patches_are_ranked_by_the_tests_that_were_accepted(project: pytest.Pytester) -> None:
    project.runpytest_subprocess("--brt-issue=clamp.md")
    assert main(["review", "--accept", "T3", "--root", str(project.path)]) == 0
    (project.path / "nothing.md").write_text("# It is slow\n\nSometimes.\n", "utf-8")
    missed = project.runpytest_subprocess("--brt-issue=nothing.md")
    assert missed.ret == 1
    missed.stdout.fnmatch_lines(["kept: the bug tests of clamp.md, 20* (you accepted 1)"])
    result = project.runpytest_subprocess("--rank-fixes=patches", "--brt-report=page.html")
    result.stdout.fnmatch_lines(
        ["brt: bug tests from the last run (clamp.md, 20??-??-?? ??:??); you accepted 1"]
    )
    # The literal patch passes the only test that counts now.
    result.stdout.fnmatch_lines(
        [
            "No patch stands out: a-right.diff and d-right-too.diff pass the same tests*",
            "*b-literal.diff * 1/1 pass *may handle only the reported input: value == 5",
        ]
    )
    assert "accepted by you" in (project.path / "page.html").read_text("utf-8")
    everything = ["--reject", "T1", "T2", "T3", "T4", "--root", str(project.path)]
    assert main(["review", *everything]) == 0
    result = project.runpytest_subprocess("--rank-fixes=patches")
    assert result.ret == 4
    result.stderr.fnmatch_lines(["*you rejected every bug test of the last run*"])
