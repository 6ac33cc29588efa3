"""Repair and localisation as their users start them."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.support.interval import SOURCE
from tests.support.refusals import assert_refused
from tests.support.reports import patches_of, read_report
from tests.support.trees import tree_hash

LINE = 1 + SOURCE.splitlines().index("    return max(low, min(value, low))")
MODULE = "interval/__init__.py"
STUDIES = Path(__file__).parents[2] / "examples/studies"
AGENT = f"""\
=== reply
{{"thought": "t", "action": "express_hypothesis", "hypothesis": "low is given twice"}}
=== always if: Write one variant
{{"thought": "t", "action": "write_fix", "changes": "{MODULE} replace {LINE}"}}
```python
    return low if value < low else min(value, high)
```
=== reply
{{"thought": "t", "action": "write_fix", "changes": "{MODULE} replace {LINE}"}}
```python
    return min(value, high)
```
=== reply
{{"thought": "t", "action": "write_fix", "changes": "{MODULE} replace {LINE}"}}
```python
    return max(low, min(value, high))
```
=== reply
{{"thought": "t", "action": "goal_accomplished", "reason": "it passes"}}
"""


@pytest.fixture
def replies(project: pytest.Pytester) -> Path:
    path = project.path.parent / "replies.txt"
    path.write_text(AGENT, encoding="utf-8")
    return path


def run(project: pytest.Pytester, *arguments: str) -> tuple[pytest.RunResult, dict[str, Any]]:
    out = project.path.parent / "report.json"
    out.unlink(missing_ok=True)
    result = project.runpytest_subprocess(
        f"--brt-report={out}",
        *("--brt-strategy=replay", "--brt-guard=auto"),
        *arguments,
    )
    report = read_report(out) if out.exists() else {}
    assert report.get("exit_code", result.ret) == result.ret
    return result, report


@pytest.mark.slow
def test_a_bug_is_repaired_and_the_patches_are_ranked(
    project: pytest.Pytester, replies: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A plugin adds the strategy that writes them."""
    monkeypatch.setenv("PYTHONPATH", str(STUDIES))
    before = tree_hash(project.path)
    result, report = run(
        project,
        "--brt-repair=clamp.md",
        f"--brt-model=scripted:{replies}",
        *("--rank-fixes", "patches/a-right.diff", "patches/c-wrong.diff"),
        *("-p", "strategies", "--brt-strategy=replay,repairagent-no-search"),
    )
    assert result.ret == 0, result.stdout.str()
    out = project.path.parent / "out"
    (project.path / "brt-patches/clamp").rename(out)
    (project.path / "brt-patches").rmdir()
    assert tree_hash(project.path) == before, "none is applied"
    (repair,) = report["repairs"]
    assert (repair["strategy"], repair["ending"]) == ("repairagent", "finish")
    assert [fix["source"] for fix in repair["fixes"]] == ["variant", "agent"]
    ranked = patches_of(report)
    for fix in repair["fixes"]:
        assert fix["plausible"]
        assert ranked[fix["patch"]]["epr"] == 1.0
        assert ranked[fix["patch"]]["place"] == ranked["a-right.diff"]["place"] == [1, 3]
    # Both behave the same on everything that was run: one stands for both, the model's last.
    (patch,) = sorted(out.glob("*.diff"))
    assert patch.name == repair["fixes"][1]["patch"]
    assert [path.name for path in (out / "alike").iterdir()] == [repair["fixes"][0]["patch"]]
    text = patch.read_text("utf-8")
    assert text.startswith("#pytest-brt: candidate fix")
    assert "# Hypothesis: low is given twice" in text
    assert "# In the folder alike: one more fix" in text
    # Of the two existing tests, one executes the changed line.
    assert "# Passes 4 of 4 bug tests and breaks no existing test (1 ran)\n" in text
    subprocess.run(["git", "apply", "--check", str(patch)], cwd=project.path, check=True)
    result.stdout.fnmatch_lines(
        [
            "*= repairs =*",
            "*repairagent*4 steps, given test_clamp*",
            "*a variant; passes 4 of 4 bug tests and breaks no existing test (1 ran)*",
            "*= patch ranking =*",
            "*1 patch in *out (1 more that pass the same tests, in its folder alike), not applied*",
        ]
    )


@pytest.mark.slow
def test_a_report_that_does_not_fit_the_model_is_not_called_beyond_repair(
    project: pytest.Pytester, replies: Path
) -> None:
    result, report = run(
        project,
        "--brt-repair=clamp.md",
        f"--brt-model=scripted:{replies}",
        "--brt-engine=auto,context=256",
    )
    assert report["repairs"][0]["ending"] == "tokens"
    result.stdout.fnmatch_lines(
        ["no patch was written: the first prompt does not fit *(--brt-engine auto,context=N)"]
    )
    result.stdout.no_fnmatch_line("*no fix passes*")


@pytest.mark.slow
def test_the_model_says_which_of_several_tests_is_given(project: pytest.Pytester) -> None:
    """Passerine is given it, and its patch takes the place of old ones in the default folder."""
    believed = r"def test_clamp_always_returns_lower\("
    judge = "What it demands"
    quote = json.dumps({f"words_{n}": "clamp() always returns the lower bound" for n in (1, 2, 3)})
    none = json.dumps({f"words_{n}": "none" for n in (1, 2, 3)})
    replies = project.path.parent / "replies.txt"
    replies.write_text(
        '=== always if: Somebody else fixes\n{"fix": "none", "passes": "yes"}\n'
        f"=== always if: (?s){believed}.*{judge}\n{quote}\n"
        f"=== always if: {judge}\n{none}\n"
        "=== reply if: What to change\n"
        f'{{"thought": "t", "action": "change", "changes": "replace {LINE}"}}\n'
        "```python\n    return max(low, min(value, high))\n```\n"
        f'=== reply\n{{"thought": "t", "action": "edit", "path": "{MODULE}", "prompt": "high"}}\n'
        '=== reply\n{"thought": "t", "action": "test", "path": "tests/test_interval.py"}\n'
        '=== reply\n{"thought": "t", "action": "finish"}\n',
        encoding="utf-8",
    )
    old = project.path / "brt-patches/clamp"
    old.mkdir(parents=True)
    (old / "fix-old.diff").write_text(
        "#pytest-brt: candidate fix; nothing of it was applied.\n", encoding="utf-8"
    )
    (old / "fix-mine.diff").write_text("mine\n", encoding="utf-8")
    result, report = run(
        project,
        "--brt-repair=clamp.md",
        f"--brt-model=scripted:{replies}",
        "--brt-strategy=replay,passerine",
        "--brt-samples=1",
        "-v",
    )
    assert result.ret == 0, result.stdout.str()
    (repair,) = report["repairs"]
    given = "test_clamp_always_returns_lower"
    assert repair["given"] == given, "others are trusted more by rules"
    names = {path.name for path in old.iterdir()}
    assert names == {"fix-mine.diff", repair["fixes"][0]["patch"]}
    result.stdout.fnmatch_lines(
        [
            "*clamp.md::passerine PASSED*",
            f"*passerine *given {given};*",
        ]
    )


@pytest.mark.slow
def test_a_fix_that_breaks_existing_tests_is_written_and_ranked_but_no_success(
    project: pytest.Pytester, replies: Path
) -> None:
    """The existing test is wrong: it asserts what the code with the bug did."""
    without_variants = re.sub(r"=== always .*?(?==== reply)", "", AGENT, flags=re.DOTALL)
    replies.write_text(without_variants, encoding="utf-8")
    (project.path / "tests/test_old.py").write_text(
        "from interval import clamp\n\n\n"
        "def test_sum():\n    assert clamp(250, 0, 10) + clamp(7, 0, 10) == 0\n",
        encoding="utf-8",
    )
    result, report = run(
        project,
        "--brt-repair=clamp.md",
        f"--brt-model=scripted:{replies}",
        "--brt-strategy=replay,repairagent",
        "--rank-fixes=patches/c-wrong.diff",
        "-v",
    )
    assert result.ret == 1, result.stdout.str()
    (fixes,) = [repair["fixes"] for repair in report["repairs"]]
    assert [fix["plausible"] for fix in fixes] == [False, False]
    broken = [[one["test"] for one in fix["existing"]["broken"]] for fix in fixes]
    below = "tests/test_interval.py::test_clamp_below"
    old = "tests/test_old.py::test_sum"
    assert broken == [[old], [below, old]], "the one that breaks fewer comes first"
    right = fixes[0]["patch"]
    result.stdout.fnmatch_lines(
        [
            "*clamp.md::repairagent NO PATCH*",
            f"*the agent; passes 4 of 4 bug tests and breaks 1 of 2 existing tests: {old}",
            f"*the agent; passes 4 of 4 bug tests and breaks 2 of 2 existing tests: {below}, {old}",
            f"*{right}*4/4 pass*1/2 break*",
            f"*2 patches in *, not applied*; {right} and *.diff break existing tests",
            "*no patch passes; every patch that was found breaks existing tests",
        ]
    )


@pytest.mark.slow
def test_no_patch_is_a_failure(project: pytest.Pytester) -> None:
    replies = project.path.parent / "replies.txt"
    replies.write_text('=== always\n{"thought": "t", "action": "run_tests"}\n', encoding="utf-8")
    model = f"--brt-model=scripted:{replies}"
    result, report = run(project, "--brt-repair=clamp.md", model, "--brt-steps=3", "-v")
    assert result.ret == 1
    assert report["repairs"][0]["fixes"] == []
    result.stdout.fnmatch_lines(["*clamp.md::auto NO PATCH*", "*no fix was tried*"])
    assert not (project.path / "brt-patches").exists()


@pytest.mark.slow
def test_what_cannot_be_used_is_said(project: pytest.Pytester) -> None:
    (project.path / "x").write_text("=== reply\n", encoding="utf-8")
    repair = "--brt-repair=clamp.md"
    magic = "--brt-model=scripted:x --brt-strategy=magic"
    messages = {
        repair: "fixes are written by a model",
        "--brt-repair=nothing.md": "nothing.md",
        f"{repair} {magic}": "known: agent, auto, invert, libro, passerine, repairagent, replay",
        f"{repair} --brt-model=scripted:x --brt-buggy-file={MODULE}:x": "FIRST-LAST",
        "--brt-issue=clamp.md --brt-strategy=repairagent": "unknown name 'repairagent'",
    }
    assert_refused(project, messages)


@pytest.mark.slow
def test_the_likeliest_places_are_in_every_report(project: pytest.Pytester) -> None:
    result, report = run(project, "--brt-issue=clamp.md", "-v")
    (found,) = report["places"]
    first = found["places"][0]
    assert (first["path"], first["function"]) == (MODULE, "clamp")
    result.stdout.fnmatch_lines(["*likeliest places*", "*interval/__init__.py::clamp *"])
    (project.path / "vague.md").write_text("# clamp is odd\n\nIt should not be.\n", "utf-8")
    vague = project.runpytest_subprocess("--brt-issue=vague.md")
    assert vague.ret == 1
    vague.stdout.fnmatch_lines(["*likeliest place: interval/__init__.py::clamp, line *(*clamp*)"])
