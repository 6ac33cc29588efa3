"""Reports come from anywhere, projects are of every kind, and what cannot be used is one line."""

from __future__ import annotations

import time

import pytest

from tests.scenarios.github import put_gh_on_path
from tests.scenarios.project import Make, Project, is_right
from tests.scenarios.samples import CLAMP_REPORT, FILES, INTERVAL, MEAN_FIXED, MEAN_REPORT
from tests.support.subjects import environment


@pytest.fixture(scope="module")
def interval(make: Make) -> Project:
    return make(FILES)


@pytest.mark.parametrize(
    ("content", "word"),
    [
        (b" \n\n", "empty"),
        (b"\x00\x01\x02\xff\xfe" * 40, "binary"),
        (MEAN_REPORT.encode("utf-16"), "UTF-8"),
    ],
    ids=["blank", "binary", "utf-16"],
)
def test_a_report_that_cannot_be_read(interval: Project, content: bytes, word: str) -> None:
    interval.write({"bad.md": content})
    run = interval.pytest("--brt-issue=bad.md")
    assert run.refuses("bad.md", word), run.said


def test_a_report_of_three_megabytes(interval: Project) -> None:
    """It is refused, or what was left out is said; the code at its beginning is read anyway."""
    log = "Please look at this log.\n" * 120_000
    began = time.monotonic()
    run = interval.issue(f"{MEAN_REPORT}\n{log}")
    assert time.monotonic() - began < 120
    assert run.code == 0 or run.refuses("issue.md"), run.said
    assert "issue.md" in run.out + run.err


def test_a_command_in_a_folder_of_the_project_is_about_the_project(interval: Project) -> None:
    interval.write({"issue.md": MEAN_REPORT})
    command = ("pytest-brt", "issue", "../issue.md", f"--report={interval.json}")
    run = interval.run(*command, cwd="tests")
    assert run.report.answer.status == "reproduced", run.said
    review = interval.run("pytest-brt", "review", cwd="tests")
    assert review.code == 0, review.said


def test_a_report_that_is_not_there(interval: Project) -> None:
    assert interval.pytest("--brt-issue=none.md").refuses("none.md")


@pytest.mark.parametrize(
    "option",
    [
        "--brt-timeout=never",
        "--brt-write=yes",
        "--brt-python=/no/such/python",
        "--brt-strategy=nope",
    ],
)
def test_an_option_that_cannot_be_used(interval: Project, option: str) -> None:
    run = interval.issue(MEAN_REPORT, option)
    assert run.refuses(*option.split("=")), run.said


def test_patches_are_ranked_for_one_report(interval: Project) -> None:
    interval.write({"issue.md": MEAN_REPORT, "other.md": CLAMP_REPORT})
    interval.patch("mean", MEAN_FIXED)
    run = interval.rank("--brt-issue=issue.md", "--brt-issue=other.md")
    assert run.refuses("--rank-fixes", "got 2"), run.said


def test_an_issue_on_github(make: Make) -> None:
    project = make(FILES)
    project.commit("start")
    project.git("remote", "add", "origin", "git@github.com:owner/interval.git")
    title, _, body = MEAN_REPORT.removeprefix("# ").partition("\n")
    put_gh_on_path(project, {"owner/interval#12": {"title": title, "body": body}})
    run = project.pytest("--brt-issue=#12")
    assert run.code == 0, run.said
    assert run.report.answer.source == "#12"
    assert is_right(project, run.report.first, MEAN_FIXED)
    assert project.pytest("--brt-issue=#13").refuses("#13")


def test_a_project_on_python_3_8(make: Make) -> None:
    """It has an interpreter of its own, with an older pytest."""
    python = environment("3.8", "pytest==8.3.5")
    old = INTERVAL.replace(
        "    return sum",
        "    import sys\n    if sys.version_info >= (3, 9):\n        return 7\n    return sum",
    )
    project = make({**FILES, "interval.py": old})
    run = project.issue(MEAN_REPORT, f"--brt-python={python}")
    assert run.report.answer.status == "reproduced", run.said


def test_settings_that_are_no_settings_of_pytest(make: Make) -> None:
    """A section that pytest refuses stops pytest; the command of ours works."""
    project = make({"interval.py": INTERVAL, "setup.cfg": "[pytest]\naddopts = -q\n"})
    project.write({"issue.md": MEAN_REPORT})
    report = f"--brt-report={project.json}"
    run = project.run("pytest-brt", "issue", "issue.md", report)
    assert run.code == 0, run.said
    assert run.report.answer.status == "reproduced"


def test_settings_that_want_what_is_not_installed(make: Make) -> None:
    settings = "[pytest]\naddopts = --cov=interval --no-such-option\nrequired_plugins = x-y-z\n"
    project = make({**FILES, "pytest.ini": f"{settings}pythonpath = .\n", "issue.md": MEAN_REPORT})
    run = project.run("pytest-brt", "issue", "issue.md", f"--brt-report={project.json}")
    assert run.code == 0, run.said
    assert run.report.answer.status == "reproduced"


def test_a_folder_in_which_nothing_is_python(make: Make) -> None:
    """It is said at once, also where thousands of other files lie around."""
    others = {f"photos/{year}/{number}.txt": "x" for year in range(40) for number in range(25)}
    project = make({"issue.md": MEAN_REPORT, **others})
    run = project.run("pytest-brt", "issue", "issue.md", f"--brt-report={project.json}")
    assert run.code in (1, 4), run.said
    assert "no Python project" in run.out + run.err
