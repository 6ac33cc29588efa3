"""The papers' setups: each study of `examples/studies` on a bug, with a script for a model."""

from __future__ import annotations

import importlib.util
import shutil
import sys
from pathlib import Path
from types import ModuleType

import pytest

from pytest_brt.evaluate.rows.runs import ALONE, WITH_TEST
from pytest_brt.evaluate.rows.study import Rows
from pytest_brt.evaluate.write import read_study
from tests.evaluate.bugs import make_bugs
from tests.support.sessions import ONCE

ROOT = Path(__file__).parents[2]


def load_setups() -> ModuleType:
    """Return the script that makes replies for a bug whose test and fix are known."""
    spec = importlib.util.spec_from_file_location("brt_bench_setups", ROOT / "bench/setups.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def write_replies(bugs: Path) -> str:
    """Write what a model answers that knows the true test, and the fix where a test is shown."""
    place = bugs / "clamp"
    texts = {name: (place / name).read_text("utf-8") for name in ("issue.md", "fix.diff")}
    setups = load_setups()
    bug = setups.Bug(
        number=0,
        base=place / "tree",
        row={
            "problem_statement": texts["issue.md"],
            "patch": texts["fix.diff"],
            "test_patch": (place / "tests.diff").read_text("utf-8"),
            "FAIL_TO_PASS": ["tests/test_interval.py::test_above"],
        },
    )
    replies = (f"=== always if: (?s){when}\n{text}" for when, text in setups.replies(bug))
    (bugs.parent / "replies.txt").write_text("".join(replies), "utf-8")
    return "scripted:replies.txt"


@pytest.mark.slow
@pytest.mark.long
@pytest.mark.usefixtures("without_plots")
def test_each_setup_finds_what_its_script_knows(pytester: pytest.Pytester) -> None:
    bugs = make_bugs(pytester.path, ("clamp",))
    shutil.rmtree(bugs / "clamp/candidates")
    model = write_replies(bugs)
    for file in (ROOT / "examples/studies").glob("*.toml"):
        shutil.copy(file, pytester.path)

    def study(name: str, results: str) -> Rows:
        how = ("--model", model, "--samples=1", "--variants=0", "--guard=no", *ONCE.split())
        pytester.run(sys.executable, "-m", "pytest_brt", "study", f"{name}.toml", *how)
        return read_study(pytester.path / "brt-results" / results)[1]

    libro = study("libro", "libro")
    assert [row["transition"] for row in libro["tests"]] == ["F→P"]
    agent = study("brt-agent", "paper-1")
    assert [row["transition"] for row in agent["tests"]] == ["F→P"]
    runs = study("passerine", "paper-1")["runs"]
    assert {(row["given"], row["right"]) for row in runs} == {(WITH_TEST, 1), (ALONE, 0)}
    # What Passerine wrote without a test is wrong, and all that there is to rank.
    patches = study("epr", "paper-1")["patches"]
    assert [(row["system"], row["right"], row["epr"]) for row in patches] == [("passerine", 0, 0)]
    runs = study("repairagent", "repairagent")["runs"]
    ways = {(row["given"], row["without"], row["right"]) for row in runs}
    found = {*((WITH_TEST, part, 1) for part in ("", "search", "memory", "place"))}
    # Without states the script does not know what is asked of it.
    assert ways == {*found, (WITH_TEST, "states", 0), (ALONE, "", 0)}
