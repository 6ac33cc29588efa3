"""The main job, end to end, on a small project."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.support.interval import SOURCE
from tests.support.reports import patches_of, read_report
from tests.support.sessions import LEAN
from tests.support.trees import tree_hash


def run(project: pytest.Pytester, *arguments: str) -> tuple[pytest.RunResult, dict[str, Any]]:
    """Run pytest in the project: its result and the JSON report."""
    out = project.path.parent / "report.json"
    out.unlink(missing_ok=True)
    result = project.runpytest_subprocess(f"--brt-report={out}", *arguments)
    report = read_report(out) if out.exists() else {}
    assert report.get("exit_code", result.ret) == result.ret
    return result, report


def shows_test(result: pytest.RunResult) -> bool:
    """Return whether a test is shown as a diff."""
    return bool(re.search(r"^\+def test_", result.stdout.str(), re.MULTILINE))


def test_a_wrong_value_becomes_tests_and_a_ranking(
    project: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTEST_ADDOPTS", LEAN)  # a test runs as often as by default
    before = tree_hash(project.path)
    junit = project.path.parent / "junit.xml"
    options = ("--brt-issue=clamp.md", "--rank-fixes=patches", f"--junitxml={junit}")
    result, report = run(project, *options)
    assert result.ret == 7, result.stdout.str()  # two are level
    assert tree_hash(project.path) == before
    properties = junit.read_text("utf-8")  # they carry the record
    assert properties.count('<property name="brt"') == 6
    assert 'name="patches.a-right.diff"' in properties
    assert "does not apply" in properties or "e-stale" in properties
    assert report["schema"] == 3
    assert [issue["source"] for issue in report["issues"]] == ["clamp.md"]
    candidates = [test for test in report["tests"] if test["candidate"]]
    assert candidates
    for test in candidates:
        assert test["verdict"] == "FAIL"
        assert test["oracle"] in {"equals-expected", "observed-gone"}
        assert 0 < test["confidence"] < 1
        compile(test["source"], test["file"], "exec")
    patches = patches_of(report)
    assert set(patches) == {
        "a-right.diff",
        "b-literal.diff",
        "c-wrong.diff",
        "d-right-too.diff",
        "e-stale.diff",
    }
    for right in ("a-right.diff", "d-right-too.diff"):
        assert patches[right]["place"] == [1, 2]
        assert patches[right]["epr"] == 1.0
        assert patches[right]["passed"] == patches[right]["total"] == len(candidates)
    assert patches["b-literal.diff"]["place"][0] > 1
    assert patches["c-wrong.diff"]["place"][0] > 1
    stale = patches["e-stale.diff"]
    assert (stale["epr"], stale["place"]) == (None, None)
    assert "apply" in stale["refused"]["text"]
    result.stdout.fnmatch_lines(
        [
            "*= bug report =*",
            "*clamp() always returns the lower bound*",
            "Possibly reproduced: test_clamp_always_returns_lower fails (74% sure)*",
            "*= patch ranking =*",
            "No patch stands out: a-right.diff and d-right-too.diff pass the same tests*",
            "*1-? *a-right.diff *4/4 pass*",
            "*e-stale.diff*does not apply*",
        ]
    )


@pytest.mark.slow
def test_a_crash_becomes_a_test_that_only_a_fix_turns_green(
    project: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    result, report = run(project, "--brt-issue=mean.md")
    assert result.ret == 0, result.stdout.str()
    crash = next(test for test in report["tests"] if test["oracle"] == "no-raise")
    assert crash["candidate"]
    assert "ZeroDivisionError" in crash["reason"]
    # What it says is checked by running it as any pytest file, before and after a fix.
    project.path.joinpath("tests/test_found.py").write_text(crash["source"], "utf-8")
    monkeypatch.delenv("PYTEST_ADDOPTS")
    plain = ("-p", "no:brt", "-p", "no:randomly", "-p", "no:cacheprovider")
    env = project.path / "interval/__init__.py"
    failing = project.runpytest_subprocess(
        *plain, "--rootdir=.", "-c/dev/null", "tests/test_found.py"
    )
    failing.assert_outcomes(failed=1)
    env.write_text(
        SOURCE.replace("sum(values) / len(values)", "sum(values) / (len(values) or 1)"), "utf-8"
    )
    project.runpytest_subprocess(
        *plain, "--rootdir=.", "-c/dev/null", "tests/test_found.py"
    ).assert_outcomes(passed=1)


@pytest.mark.slow
def test_patches_are_ranked_for_one_report(project: pytest.Pytester) -> None:
    result, _ = run(project, "--brt-issue=clamp.md", "--brt-issue=mean.md", "--rank-fixes=patches")
    assert result.ret == 4
    result.stderr.fnmatch_lines(
        ["*--rank-fixes: patches are ranked for one report, got 2 (run it for each)"]
    )


@pytest.mark.slow
def test_ranking_by_tests_that_a_person_wrote(project: pytest.Pytester) -> None:
    written = project.path.parent / "test_mine.py"
    written.write_text(
        "import pytest\n"
        "from interval import clamp\n\n\n"
        "@pytest.mark.parametrize('given', [5, 7])\n"
        "def test_inside(given):\n    assert clamp(given, 0, 10) == given\n\n\n"
        "def test_fine():\n    assert clamp(-1, 0, 10) == 0\n",
        "utf-8",
    )
    result, report = run(project, "--rank-fixes=patches", f"--brt-tests={written}")
    assert result.ret == 7, result.stdout.str()
    tests = {test["name"]: test for test in report["tests"]}
    assert {name: test["verdict"] for name, test in tests.items()} == {
        "test_inside[5]": "FAIL",
        "test_inside[7]": "FAIL",
        "test_fine": "PASS",
    }
    patches = patches_of(report)
    assert patches["a-right.diff"]["epr"] == 1.0
    assert patches["b-literal.diff"]["epr"] == 0.5
    assert patches["c-wrong.diff"]["epr"] == 0.0
    assert patches["b-literal.diff"]["place"][0] == 3


def test_the_report_may_come_from_stdin_and_nothing_be_shown(project: pytest.Pytester) -> None:
    before = tree_hash(project.path)
    with (project.path / "clamp.md").open("rb") as issue:
        result = project.run(
            sys.executable,
            "-m",
            "pytest",
            "--brt-issue=-",
            "--brt-write=no",
            "--brt-report=../report.json",
            stdin=issue,
        )
    assert result.ret == 0, result.stdout.str()
    report = read_report(project.path.parent / "report.json")
    assert report["issues"][0]["source"] == "-"
    assert any(test["candidate"] for test in report["tests"])
    assert tree_hash(project.path) == before
    assert not shows_test(result)


@pytest.mark.parametrize("write", ["diff", "new", "into"])
def test_the_tree_is_written_only_when_asked(
    project: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, write: str
) -> None:
    before = tree_hash(project.path)
    suite = project.path / "tests/test_interval.py"
    original = suite.read_bytes()
    result, _ = run(project, "--brt-issue=clamp.md", f"--brt-write={write}")
    assert result.ret == 0, result.stdout.str()
    if write == "diff":
        assert tree_hash(project.path) == before
        assert shows_test(result)
        return
    new = sorted(set(project.path.joinpath("tests").glob("*.py")) - {suite})
    if write == "new":
        assert suite.read_bytes() == original
        (written,) = new
    else:
        assert new == []
        written = suite
        assert suite.read_text("utf-8").startswith("from interval import clamp, mean\n")
        assert "def test_clamp_below" in suite.read_text("utf-8")
    monkeypatch.delenv("PYTEST_ADDOPTS")
    again = project.runpytest_subprocess("-p", "no:brt", "-p", "no:randomly", str(written))
    outcomes = again.parseoutcomes()
    assert outcomes["failed"] >= 1
    assert outcomes.get("passed", 0) == (2 if write == "into" else 0)


def test_a_test_goes_into_the_file_that_was_named(project: pytest.Pytester) -> None:
    suite, other = (project.path / "tests" / name for name in ("test_interval.py", "test_b.py"))
    original = suite.read_bytes()
    other.write_text("def test_nothing():\n    pass\n", "utf-8")
    named = ("--brt-write=into", "--brt-test-file", "./tests/test_b.py")
    result, _ = run(project, "--brt-issue=clamp.md", *named)
    assert result.ret == 0, result.stdout.str()
    assert "def test_clamp" in other.read_text("utf-8")
    assert suite.read_bytes() == original


@pytest.mark.slow
def test_no_candidate_means_no_evidence(project: pytest.Pytester) -> None:
    fixed = Path(project.path / "interval/__init__.py")
    fixed.write_text(SOURCE.replace("min(value, low)", "min(value, high)"), "utf-8")
    result, report = run(project, "--brt-issue=clamp.md", "--rank-fixes=patches")
    assert result.ret == 1
    assert not any(test["candidate"] for test in report["tests"])
    assert all(patch["epr"] is None for patch in patches_of(report).values())
    result.stdout.fnmatch_lines(["No patch stands out: no patch could be applied."])
