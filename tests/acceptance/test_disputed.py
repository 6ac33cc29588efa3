"""A suite that asserts the bug: the right patch is first, and the test that is wrong is named."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from pytest_brt.patches import canonical_diff
from pytest_brt.types import FileChange
from tests.support.reports import read_report
from tests.support.trees import write_tree

CORE = "def clamp(n):\n    return min(n, 10)\n\n\ndef half(n):\n    return n / 2\n"
SUITE = """\
from core import clamp, half


def test_small():
    assert clamp(3) == 3


def test_below():
    result = clamp(-1)
    assert result == -1


def test_half():
    assert half(3) == 1.5
"""
REPORT = """\
# clamp() keeps negative numbers

`clamp(-1)` should return `0`.

```pycon
>>> from core import clamp
>>> clamp(-1)
-1
```

Expected: 0
"""
#: What each patch makes of the first function, and of the second.
PATCHES = {
    "a-right": ("return max(0, min(n, 10))", "return n / 2"),
    "b-harms": ("return max(0, min(n, 10))", "return n // 2"),
    "c-breaks": ("return max(0, min(n, 1))", "return n / 2"),
    "d-nothing": ("n = min(n, 10)\n    return n", "return n / 2"),
}
WRONG = "test_core.py::test_below"


@pytest.fixture
def toy(pytester: pytest.Pytester) -> pytest.Pytester:
    root = pytester.path
    write_tree(
        root,
        {"core.py": CORE, "test_core.py": SUITE, "pyproject.toml": "", "issue.md": REPORT},
    )
    (root / "patches").mkdir()
    for name, (first, second) in PATCHES.items():
        core = CORE.replace("return min(n, 10)", first).replace("return n / 2", second)
        text = canonical_diff((FileChange(path="core.py", content=core.encode()),), root)
        (root / f"patches/{name}.diff").write_text(text, "utf-8")
    return pytester


def found_in(path: Path) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Return the patches of a JSON report by name, and what is in dispute."""
    (ranking,) = read_report(path)["rankings"]
    return {patch["name"]: patch for patch in ranking["patches"]}, ranking["disputes"]


def rank(toy: pytest.Pytester, *arguments: str) -> pytest.RunResult:
    return toy.runpytest_subprocess("--rank-fixes=patches", "--brt-report=found.json", *arguments)


def test_the_right_patch_is_first_and_the_test_is_named(toy: pytest.Pytester) -> None:
    result = rank(toy, "--brt-issue=issue.md")
    result.stdout.fnmatch_lines(
        [
            "Best: a-right.diff: passes * and breaks none of *",
            f"*{WRONG} asserts what the report complains about (`assert result == -1`) "
            "(bug test: `assert clamp(-1) != -1`): it counts against no patch*",
        ]
    )
    patches, (dispute,) = found_in(toy.path / "found.json")
    assert patches["a-right.diff"]["place"] == [1, 1]
    assert (dispute["existing"], dispute["signs"]) == (WRONG, ["contradicted"])
    # What they break besides is no less a regression.
    for name, test in (("b-harms.diff", "test_half"), ("c-breaks.diff", "test_small")):
        regressions = patches[name]["existing"]["broken"]
        assert [one["test"] for one in regressions] == [f"test_core.py::{test}"]


def test_a_person_decides_which_is_right(toy: pytest.Pytester) -> None:
    rank(toy, "--brt-issue=issue.md")
    shown = toy.run(sys.executable, "-m", "pytest_brt", "review", "--accept", "E1")
    assert shown.ret == 0
    result = rank(toy, "--brt-issue=issue.md")
    result.stdout.fnmatch_lines([f"*{WRONG}: you said that it is right: it counts"])
    patches, _ = found_in(toy.path / "found.json")
    regressions = patches["a-right.diff"]["existing"]["broken"]
    assert [one["test"] for one in regressions] == [WRONG]
    toy.run(sys.executable, "-m", "pytest_brt", "review", "--reject", WRONG)
    rank(toy, "--brt-issue=issue.md")
    patches, _ = found_in(toy.path / "found.json")
    assert patches["a-right.diff"]["place"] == [1, 1]


def test_a_name_that_there_is_not_is_an_error(toy: pytest.Pytester) -> None:
    rank(toy, "--brt-issue=issue.md")
    shown = toy.run(sys.executable, "-m", "pytest_brt", "review", "--accept", "E2")
    assert shown.ret != 0
    shown.stderr.fnmatch_lines(["*review: no test 'E2' (there are E1, T1*)*"])
