"""A test has one number: it decides the word, the exit code, what is written, and the weight."""

from __future__ import annotations

import math
import re
from typing import Any
from xml.etree import ElementTree

import pytest

from tests.support.reports import read_report
from tests.support.trees import write_tree

SOURCE = """\
def clamp(value, low, high):
    return max(low, min(value, low))


def mean(values):
    return sum(values) / len(values)
"""
TRACEBACK = """\
Traceback (most recent call last):
  File "interval.py", line 6, in mean
    return sum(values) / len(values)
ZeroDivisionError: division by zero
"""
REPORTS = {
    "shown.md": f"# mean() crashes\n\n>>> from interval import mean\n>>> mean([])\n{TRACEBACK}",
    "complained.md": "# clamp is odd\n\n>>> from interval import clamp\n>>> clamp(5, 0, 10)\n0\n\n"
    "`clamp(5, 0, 10)` should be `5`.\n",
    "stated.md": "# clamp is odd\n\n```python\nfrom interval import clamp\nclamp(5, 0, 10)\n```\n\n"
    "`clamp(5, 0, 10)` should be `5`.\n",
    "asserted.md": "# clamp is odd\n\n```python\nfrom interval import clamp\n"
    "assert clamp(5, 0, 10) == 5\n```\n",
    "own.md": "# clamp is odd\n\n```python\nfrom interval import clamp\n\n\ndef test_own():\n"
    "    assert clamp(5, 0, 10) == 5\n```\n",
}
#: The reports that have a test of a kind that was right in six cases of ten or more.
COUNTING = {"shown.md", "complained.md"}
FIX = """\
--- a/interval.py
+++ b/interval.py
@@ -1,3 +1,3 @@
 def clamp(value, low, high):
-    return max(low, min(value, low))
+    return max(low, min(value, high))
 \n"""
NOTHING = FIX.replace("value, high", "value, low, low")
SUITE = "from interval import clamp\n\n\ndef test_low():\n    assert clamp(-1, 0, 9) == 0\n"


@pytest.fixture
def project(pytester: pytest.Pytester) -> pytest.Pytester:
    files = {"interval.py": SOURCE, "patches/fix.diff": FIX, "patches/nothing.diff": NOTHING}
    files |= {"pyproject.toml": "", "tests/test_interval.py": SUITE}
    write_tree(pytester.path, {**files, **REPORTS})
    return pytester


def run(project: pytest.Pytester, *options: str) -> tuple[pytest.RunResult, dict[str, Any]]:
    result = project.runpytest_subprocess(*options, "-v", "--brt-report=out.json")
    return result, read_report(project.path / "out.json")


def test_what_was_measured_decides_the_word_the_letter_the_exit_code_and_what_is_written(
    project: pytest.Pytester,
) -> None:
    reports = [f"--brt-issue={name}" for name in REPORTS]
    result, report = run(project, *reports, "--brt-write=new", "--junitxml=out.xml")
    assert result.ret == 1
    failing = [test for test in report["tests"] if test["candidate"]]
    for test in failing:
        right, of = test["measured"]["right"], test["measured"]["of"]
        number = (right + 2) / (of + 4)
        assert test["confidence"] == round(number, 2)
        assert test["counts"] == (number >= 0.6)
        # The only number that is shown of it, and none where too little was measured.
        shown = f"{number:.0%}" if of >= 10 else ""
        assert re.findall(r"\d+ ?%", test["sure"]) == ([shown] if shown else [])
        result.stdout.re_match_lines([rf"  {test['name']} \(replay, {test['sure']}\)"])
    assert not re.findall(r"\d+ of \d+ such tests", result.stdout.str())
    cases = ElementTree.parse(project.path / "out.xml").iter("testcase")
    assert not [case for case in cases if case.find("failure") is not None], "all were judged"
    for issue in report["issues"]:
        tests = [test for test in failing if test["issue"] == issue["id"]]
        best = max(tests, key=lambda test: test["confidence"])
        assert best["name"] in issue["answer"]["text"]
        assert best["counts"] is (issue["source"] in COUNTING)
        is_sure = best["confidence"] >= 0.8 and best["measured"]["of"] >= 20
        assert issue["answer"]["status"] == ("reproduced" if is_sure else "possible")
        written = {path.read_text("utf-8") for path in project.path.rglob("test_*.py")}
        for test in tests:
            source = test["source"]
            function = source[source.index(f"def {test['name']}(") :].strip()
            assert any(function in text for text in written) is test["counts"]


def test_a_kind_that_is_seldom_right_carries_no_patch(project: pytest.Pytester) -> None:
    result, found = run(project, "--brt-issue=asserted.md", "--rank-fixes=patches")
    assert result.ret == 1
    (ranking,) = found["rankings"]
    best = ranking["patches"][0]
    assert (best["name"], best["epr"]) == ("fix.diff", 1)
    assert ranking["answer"]["status"] == "unsure"
    number = max(test["confidence"] for test in found["tests"] if test["candidate"])
    # Nothing else of the kind of a test goes into the score.
    assert best["score"] == pytest.approx(1 / (1 + math.exp(0.4 - 2.3 * number)), abs=0.002)
