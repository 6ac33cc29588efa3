"""A bug to study, in SWE-bench's format, and reports of runs on it as they come."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from tests.support.interval import CLAMP, CLAMP_ISSUE, FIXES, SOURCE, TESTS, diff_of

STUDIES = Path(__file__).parents[2] / "examples/studies"
#: Tests of the project with those that show the bug.
HIDDEN = TESTS + "\n\ndef test_inside():\n    assert clamp(5, 0, 10) == 5\n"
HIDDEN += "\n\ndef test_above():\n    assert clamp(12, 0, 10) == 10\n"


def fix(name: str) -> str:
    return diff_of(SOURCE.replace(CLAMP, FIXES[name]))


def make_data(folder: Path, *, candidates: bool) -> Path:
    """Write two bugs of which the second has a fix that does not apply."""
    tree, data = folder / "tree", folder / "data"
    (tree / "interval").mkdir(parents=True)
    (tree / "interval/__init__.py").write_text(SOURCE, "utf-8")
    (tree / "tests").mkdir()
    (tree / "tests/test_interval.py").write_text(TESTS, "utf-8")
    bug = {
        "instance_id": "clamp",
        "repo": "me/interval",
        "tree": str(tree),
        "problem_statement": CLAMP_ISSUE,
        "patch": fix("a-right"),
        "test_patch": diff_of(HIDDEN, "tests/test_interval.py", TESTS),
    }
    lost = {**bug, "instance_id": "lost", "patch": fix("a-right").replace("value", "x")}
    patches = [
        {"instance_id": "clamp", "model_name_or_path": "s", "model_patch": fix(name)}
        for name in (FIXES if candidates else ())
    ]
    data.mkdir()
    write_lines(data / "bugs.jsonl", bug, lost)
    write_lines(data / "predictions.jsonl", *patches)
    return data


def write_lines(path: Path, *rows: object) -> None:
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows), "utf-8")


def run_script(name: str, *words: object) -> subprocess.CompletedProcess[str]:
    line = [sys.executable, str(STUDIES / name), *map(str, words)]
    return subprocess.run(line, capture_output=True, text=True, check=False)


# -- reports --


def made_test(name: str, verdict: str = "FAIL", **more: object) -> dict[str, Any]:
    """Return a test as a report has it."""
    entry = {
        "id": name,
        "name": "test_it",
        "file": f"tests/test_{name}.py",
        "source": "def test_it(): ...\n",
        "strategy": "replay",
        "oracle": "no-raise",
        "candidate": verdict == "FAIL",
        "verdict": verdict,
        "agree": 1,
        "confidence": 0.5,
    }
    return entry | more


def attempt(strategy: str = "replay", **more: object) -> dict[str, Any]:
    cost = {"calls": 1, "tokens": 5, "prompt_tokens": 9, "evaluated": 9, "seconds": 1.0}
    return {
        "name": strategy,
        "strategy": strategy,
        "actions": [],
        "endings": [],
        "cost": cost,
    } | more


def made_patch(name: str, passed: tuple[str, ...] = (), **more: object) -> dict[str, Any]:
    """Return a patch as a report has it, which passes these tests."""
    cells = [{"test": test, "verdict": "PASS", "exercised": True} for test in passed]
    entry = {"name": name, "cells": cells, "copies": [], "existing": None}
    return entry | {"epr": None, "score": None, "place": None} | more


def report(**more: object) -> dict[str, Any]:
    return {"issues": [], "tests": [], "rankings": [], "repairs": []} | more


def write_bug(results: Path, bug: str, **reports: object) -> None:
    """Write what was made of a bug: its reports, by name."""
    about = {"repo": "r", "extent": "single-line"}
    for name, value in {"bug": about, **reports}.items():
        path = results / bug / f"{name}.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(value), "utf-8")


def write_tests(results: Path, bug: str, *tests: dict[str, Any], fixed: tuple[str, ...]) -> None:
    """Write what the tests of a bug are and do, of which `fixed` pass with the true fix."""
    strategies = {test["strategy"]: "" for test in tests} or ["replay"]
    made = report(tests=tests, issues=[{"attempts": [attempt(one) for one in strategies]}])
    given = [{**test, "file": f"tests/test_brt_{test['id']}.py"} for test in tests]
    ranking = {"patches": [made_patch("fix.diff", fixed)]}
    truth = report(tests=given, rankings=[ranking])
    write_bug(results, bug, tests=made, judge_truth=truth)
