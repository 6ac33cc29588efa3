"""Pull requests ranked as people name them, and mixed with branches and files."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from tests.support.github import pull_request, put_gh_on_path
from tests.support.interval import CLAMP, CLAMP_ISSUE, FIXES, SOURCE, diff_of
from tests.support.refusals import assert_refused
from tests.support.repository import Repository

RIGHT = diff_of(SOURCE.replace(CLAMP, FIXES["a-right"]))
WRONG = diff_of(SOURCE.replace(CLAMP, FIXES["c-wrong"]))


@pytest.fixture
def cloned(project: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> pytest.Pytester:
    """Return a project that was cloned from GitHub, with two pull requests and an issue."""
    repository = Repository(project.path)
    repository.commit("start")
    repository.git("remote", "add", "origin", "git@github.com:someone/interval.git")
    repository.git("remote", "add", "upstream", "https://github.com/owner/interval")
    known: dict[str, dict[str, object]] = {
        "owner/interval#9": {"title": "clamp() ignores the upper bound", "body": CLAMP_ISSUE},
        "owner/interval#12": pull_request(RIGHT, "Ann", "Mend clamp()", CLAMP_ISSUE),
        "owner/interval#15": pull_request(WRONG, "bob"),
    }
    put_gh_on_path(project.path.parent / f"{project.path.name}-bin", monkeypatch, known)
    return project


def ranked(project: pytest.Pytester, *options: str) -> dict[str, float]:
    """Return the pass rate of each patch of a run."""
    result = project.runpytest_subprocess(*options, "--brt-report=out.json")
    assert result.ret in (0, 7), result.stdout.str() + result.stderr.str()
    found = json.loads((project.path / "out.json").read_text("utf-8"))
    return {patch["name"]: patch["epr"] for patch in found["rankings"][0]["patches"]}


def test_a_pull_request_is_a_report_too_and_others_are_ranked_beside_it(
    cloned: pytest.Pytester,
) -> None:
    repository = Repository(cloned.path)
    repository.git("checkout", "-q", "-b", "fix-b")
    fixed = SOURCE.replace(CLAMP, FIXES["b-literal"])
    (cloned.path / "interval/__init__.py").write_text(fixed, "utf-8")
    repository.commit("b")
    repository.git("checkout", "-q", "main")
    address = "https://github.com/owner/interval/pull/15"
    (cloned.path / "more").mkdir()
    (cloned.path / "patches/c-wrong.diff").rename(cloned.path / "more/c-wrong.diff")
    mixed = (address, "owner/interval#12", "git:fix-*", "more")
    rates = ranked(cloned, "--brt-issue=#12", "--rank-fixes", *mixed)
    names = ["owner/interval#12", "owner/interval#15", "fix-b", "c-wrong.diff"]
    assert sorted(rates) == sorted(names)
    assert rates[names[0]] == 1.0
    assert max(rates[name] for name in names[1:]) < 1.0


def test_what_cannot_be_read_is_said_in_a_line(
    cloned: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    messages = {
        "--brt-issue=#9 --rank-fixes=#9": "gh cannot read '#9': GraphQL: Could not resolve",
        "--brt-issue=#404": "gh cannot read '#404': GraphQL",
        "--brt-issue=#9 --rank-fixes=git:none": "no branch is called 'none'",
    }
    assert_refused(cloned, messages)
    monkeypatch.setenv("PATH", without_gh())
    message = "'#9' is read with GitHub's command gh, which is not installed"
    assert_refused(cloned, {"--brt-issue=#9": message})


def test_a_project_that_comes_from_elsewhere(project: pytest.Pytester) -> None:
    message = "'#9': the project has no remote that is on GitHub (write OWNER/REPO#9)"
    assert_refused(project, {"--brt-issue=#9": message})


def without_gh() -> str:
    """Return the folders on PATH that have no gh."""
    folders = os.environ["PATH"].split(os.pathsep)
    return os.pathsep.join(folder for folder in folders if not Path(folder, "gh").exists())
