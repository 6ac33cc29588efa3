"""The main job, end to end, on a small project."""

from __future__ import annotations

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


def test_a_test_goes_into_the_file_that_was_named(project: pytest.Pytester) -> None:
    suite, other = (project.path / "tests" / name for name in ("test_interval.py", "test_b.py"))
    original = suite.read_bytes()
    other.write_text("def test_nothing():\n    pass\n", "utf-8")
    named = ("--brt-write=into", "--brt-test-file", "./tests/test_b.py")
    result, _ = run(project, "--brt-issue=clamp.md", *named)
    assert result.ret == 0, result.stdout.str()
    assert "def test_clamp" in other.read_text("utf-8")
    assert suite.read_bytes() == original
