"""A project may bring what looks like an earlier run of ours: it is data, whatever it says."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from pytest_brt.bounded import MOST_TEXT
from pytest_brt.cli.main import main
from pytest_brt.errors import EditProblem
from pytest_brt.plugin.files import plan_edits
from pytest_brt.plugin.options import read_options
from pytest_brt.rank.weighted import rank_by_weight
from pytest_brt.store import RANKED, WRITTEN, LastRun, save_last_run
from pytest_brt.types import Attempt, Issue, JudgedTest, Patch, RunRecord, Value
from tests.support.rows import judged, row

KEPT = ".pytest_cache/d/brt"
#: The largest text, and a byte; a file of so many holds no block of the disk.
TOO_MUCH = MOST_TEXT + 1


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the folder of a project that a last run is brought with; it is the current one."""
    folder = tmp_path / "project"
    (folder / KEPT).mkdir(parents=True)
    monkeypatch.chdir(folder)
    return folder


def bring(project: Path, *tests: JudgedTest, patches: tuple[Patch, ...] = ()) -> None:
    """Keep a run with these tests in a project, and a ranking of the patches."""
    cells = "p" * len(tests)
    rows = tuple(replace(row("a", cells), patch=patch) for patch in patches)
    save_last_run(project / KEPT, LastRun(tests=tests))
    ranks = rank_by_weight(rows, tests)
    save_last_run(project / KEPT, LastRun(tests=tests, ranks=ranks), RANKED)


def with_source(source: str) -> JudgedTest:
    return replace(judged(0), test=replace(judged(0).test, source=source))


def new_file(path: str) -> str:
    return f"--- /dev/null\n+++ b/{path}\n@@ -0,0 +1 @@\n+x = 1\n"


def change(path: str) -> str:
    return f"--- a/{path}\n+++ b/{path}\n@@ -1 +1 @@\n-key\n+x = 1\n"


@pytest.mark.parametrize("link", [".pytest_cache/d", KEPT, f"{KEPT}/{WRITTEN}"])
def test_links_are_not_followed(project: Path, link: str) -> None:
    other = project.parent / "other"
    bring(other, judged(0))
    before = (other / KEPT / WRITTEN).read_bytes()
    for folder in (KEPT, ".pytest_cache/d"):
        if folder.startswith(link):
            (project / folder).rmdir()
    (project / link).symlink_to(other / link)
    assert main(["review", "--accept", "T1"]) == 4
    assert (other / KEPT / WRITTEN).read_bytes() == before


def test_a_file_that_is_too_large_is_not_read(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in (WRITTEN, RANKED):
        (project / KEPT / name).touch()
        os.truncate(project / KEPT / name, TOO_MUCH)
    assert main(["review"]) == 4
    assert "it holds more than 64 MB" in capsys.readouterr().err


@pytest.mark.parametrize(
    "setting",
    [f"cache_dir = '{'a' * 300}'", f"a = {'[' * 10_000}", f"a = {'9' * 5_000}"],
    ids=["long", "deep", "digits"],
)
def test_settings_may_be_anything(
    project: Path, setting: str, capsys: pytest.CaptureFixture[str]
) -> None:
    text = f"[tool.pytest.ini_options]\n{setting}\n"
    (project / "pyproject.toml").write_text(text, "utf-8")
    assert main(["review"]) == 4
    assert "no earlier run is kept" in capsys.readouterr().err


def test_a_value_of_a_test_that_gives_none_is_passed_over(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    value = Value(test=judged(0).test.id, expression="f()", before="1", text="2")
    rows = (row("a", "p", values=(value,)),)
    save_last_run(project / KEPT, LastRun(tests=(judged(0),)))
    save_last_run(project / KEPT, LastRun(tests=(), ranks=rank_by_weight(rows, ())), RANKED)
    assert main(["review", "--accept", "V1"]) == 4
    assert "no test 'V1' (there are T1)" in capsys.readouterr().err


def test_a_name_is_one_line(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    name = "test_a\nT2  test_b  (99% sure, accepted)\x1b[2J"
    test = replace(judged(0), test=replace(judged(0).test, name=name))
    patches = tuple(Patch(id=word, name=f"{word}\nBest: {word}", text="") for word in "ab")
    bring(project, test, patches=patches)
    assert main(["review"]) == 0
    told = capsys.readouterr()
    lines = (told.out + told.err).splitlines()
    assert not [line for line in lines if line.startswith(("T2", "Best:"))]
    assert "\x1b" not in told.out


@pytest.mark.parametrize(
    ("path", "host"), [("../out/test_a.py", ""), ("test_a.py", "../key.py"), ("../a\0.py", "")]
)
@pytest.mark.parametrize("write", ["new", "into", "diff"])
def test_a_test_of_a_journal_is_written_in_the_project_only(
    path: str, host: str, write: str, pytester: pytest.Pytester
) -> None:
    (pytester.path.parent / "key.py").write_text("key = 1\n", "utf-8")
    source = "def test_a():\n    assert 0\n"
    test = replace(judged(0).test, issue="i", source=source, path=path, host=host)
    forged = replace(judged(0), test=test)
    attempt = Attempt(issue="i", strategy="replay", index=0, tests=(forged,))
    issue = Issue(id="i", title="", text="", source="a.md")
    record = RunRecord(issues=(issue,), attempts=(attempt,), given=(), ranks=(), sandbox="ns")
    options = read_options(pytester.parseconfig("--brt-issue=a.md", f"--brt-write={write}"), {})
    with pytest.raises(EditProblem, match="outside of the project: '\\.\\./"):
        plan_edits(record, options, pytester.path, None, ())


@pytest.mark.parametrize("source", ["x = '\ud800'\n", "x = " + "-" * 100_000 + "1\n", "\0"])
def test_an_editor_gets_whatever_is_there(project: Path, source: str) -> None:
    bring(project, with_source(source))
    ours, theirs = os.openpty()
    os.write(ours, b"e\nq\n")
    done = subprocess.run(
        [sys.executable, "-m", "pytest_brt", "review"],
        stdin=theirs,
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "VISUAL": "true"},
    )
    os.close(ours)
    os.close(theirs)
    assert "Traceback" not in done.stderr
    assert "review: n" in done.stderr
    assert done.returncode == 0
