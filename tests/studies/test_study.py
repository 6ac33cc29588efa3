"""A whole study on a bug, by a scripted server that speaks OpenAI's protocol."""

from __future__ import annotations

import csv
import json
import sys
from pathlib import Path

import pytest

from tests.scenarios.server import Model, serving
from tests.studies.bugs import make_data, run_script
from tests.support.sessions import LEAN

pytestmark = [pytest.mark.slow, pytest.mark.long]
BRT = f"{sys.executable} -m pytest_brt"
TEST = "from interval import clamp\n\n\ndef test_it():\n    assert clamp(12, 0, 10) == 10\n"
#: The line of the bug, as it must be and as it must not.
RIGHT = "    return max(low, min(value, high))"
WRONG = "    return max(low, min(value, low + 0))"
#: Two ways of repairing in one run each, given a plausible test, and not.
PASSERINE = """\
tests = ["--strategy=agent", "--samples=1"]

[ways]
passerine_with-test = ["--strategy=none,passerine", "--samples=2", "-kpasserine-00"]
passerine_report-alone = ["--strategy=none,passerine", "--samples=1"]
"""


def action(name: str, **arguments: str) -> str:
    return json.dumps({"thought": "t", "action": name, **arguments})


def edited(code: str, *, changes: str = "") -> str:
    head = f"{action('change', changes=changes)}\n" if changes else ""
    return f"{head}```python\n{code}\n```\n"


def repaired(code: str) -> list[str]:
    """Return what Passerine is answered that writes `code` in place of the bug's line."""
    path = "interval/__init__.py"
    return [
        action("edit", path=path, prompt="mend it"),
        edited(code, changes="replace 6"),
        action("test", path="tests/test_interval.py"),
        action("finish"),
    ]


def column(results: Path, table: str, name: str) -> list[str]:
    with (results / f"tables/{table}.csv").open(encoding="utf-8", newline="") as file:
        return [row[name] for row in csv.DictReader(file)]


def test_the_true_fix_judges_tests_and_the_hidden_tests_judge_repairs(tmp_path: Path) -> None:
    path = "tests/test_interval.py"
    replies = (
        action("edit", path=path, prompt="the reported behaviour"),
        edited(TEST),
        action("test", path=path),
        action("finish"),
        *repaired(RIGHT),
        *repaired(WRONG),
    )
    data, results = make_data(tmp_path, candidates=False), tmp_path / "results"
    (tmp_path / "setup.toml").write_text(PASSERINE, "utf-8")
    words = (tmp_path / "setup.toml", data, results, "--brt", BRT)
    with serving(Model(replies, judge={})) as server:
        model = f"--model=server:127.0.0.1:{server.port}"
        done = run_script("study.py", *words, model, *LEAN.split())
    assert "clamp: done" in done.stdout, done.stdout
    # Its fix does not apply, so that nobody could judge: no model is asked.
    assert "lost: " in done.stdout
    assert done.returncode == 1
    # What was done is not done again: nobody asks the server any more.
    asked = len(server.requests)
    again = run_script("study.py", *words, "--model=server:127.0.0.1:9", *LEAN.split())
    assert "clamp: done" in again.stdout
    assert len(server.requests) == asked

    tables = run_script("tables.py", results)
    assert tables.returncode == 0, tables.stderr
    assert column(results, "reproduced", "F→P") == ["1.00 [1.00, 1.00]"]
    assert column(results, "transitions", "transition") == ["F→P"]

    def by_way(table: str, name: str) -> dict[str, str]:
        ways, cells = (column(results, table, head) for head in ("given", name))
        return dict(zip(ways, cells, strict=True))

    right = by_way("repairs", "right")
    assert right["with-test"] == "1.00 [1.00, 1.00]"
    assert right["report-alone"] == "0.00 [0.00, 0.00]"
    assert by_way("repair-runs", "steps to right, median")["with-test"] == "1.0"
    # What it wrote without a test is wrong, so that there is nothing to select.
    assert not (results / "tables/rankers.csv").exists()
    assert set(column(results, "endings", "ending")) == {"finish"}
    tests = (results / "predictions/agent.jsonl").read_text("utf-8")
    assert json.loads(tests)["instance_id"] == "clamp"


def test_candidate_patches_are_ranked_by_what_the_report_gives(tmp_path: Path) -> None:
    data, results = make_data(tmp_path, candidates=True), tmp_path / "results"
    (tmp_path / "setup.toml").write_text('tests = ["--strategy=replay"]\n', "utf-8")
    words = (tmp_path / "setup.toml", data, results, "--brt", BRT, "--model=none", *LEAN.split())
    done = run_script("study.py", *words)
    assert "clamp: done" in done.stdout, done.stdout
    assert run_script("tables.py", results).returncode == 0
    rankers = column(results, "rankers", "ranker")
    at_2 = dict(zip(rankers, column(results, "rankers", "p2"), strict=True))
    assert float(at_2["epr"]) == 1.0
    assert float(at_2["random"]) == pytest.approx(0.5, abs=0.01)
    # The hidden tests say that two of four are right.
    at_4 = dict(zip(rankers, column(results, "rankers", "p4"), strict=True))
    assert float(at_4["epr"]) == 0.5
