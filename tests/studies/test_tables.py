"""The tables of a study, of reports whose figures can be worked out by hand."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

from tests.studies.bugs import (
    attempt,
    made_patch,
    made_test,
    report,
    run_script,
    write_bug,
    write_lines,
    write_tests,
)

pytest.importorskip("pandas")
pytest.importorskip("matplotlib")
pytestmark = pytest.mark.slow


def tables_of(results: Path) -> dict[str, list[dict[str, str]]]:
    done = run_script("tables.py", results)
    assert done.returncode == 0, done.stderr
    found = {}
    for path in (results / "tables").glob("*.csv"):
        with path.open(encoding="utf-8", newline="") as file:
            found[path.stem] = list(csv.DictReader(file))
    return found


def test_shares_of_tests_follow_their_definitions(tmp_path: Path) -> None:
    write_tests(tmp_path, "1", made_test("wrong"), made_test("good"), fixed=("good",))
    write_tests(tmp_path, "2", made_test("good"), fixed=("good",))
    write_tests(tmp_path, "3", made_test("wrong"), fixed=())
    write_tests(tmp_path, "4", made_test("good", strategy="libro"), fixed=("good",))
    # It fails on the bug for no reason that can be named: the paper counts it.
    unnamed = made_test("good", candidate=False)
    write_tests(tmp_path, "5", unnamed, fixed=("good",))
    # Nothing was made of this one.
    write_tests(tmp_path, "6", fixed=())
    tables = tables_of(tmp_path)
    replay, libro = tables["reproduced"]
    assert {head: cell.partition(" [")[0] for head, cell in replay.items()} == {
        "strategy": "replay",
        "repo": "r",
        "n": "5",
        "F→X": "0.80",
        "F→P": "0.60",
        "F→P of F→X": "0.75",
        "candidate": "0.60",
        "plausible": "0.40",
        "plausible of candidate": "0.67",
    }
    assert libro["candidate"] == "1.00 [1.00, 1.00]"
    replay = tables["effort"][0]
    assert [float(replay[name]) for name in ("n", "acc@1", "acc@3", "wef@1")] == [3, 1, 2, 2]
    lines = (tmp_path / "predictions/replay.jsonl").read_text("utf-8").splitlines()
    rows = [json.loads(line) for line in lines]
    assert [row["instance_id"] for row in rows] == ["1", "2", "3"]
    assert "+++ b/tests/test_brt_wrong.py" in rows[0]["model_patch"]


def test_runs_without_a_token_are_told_from_those_that_ended(tmp_path: Path) -> None:
    none = {"calls": 1, "tokens": 0, "prompt_tokens": 9}
    runs = [
        attempt("agent", actions=["edit", "test", ""], endings=["steps"]),
        attempt("agent", endings=["tokens"], cost=none),
        attempt("libro", endings=["finish", "finish", "tokens"]),
    ]
    write_bug(tmp_path, "1", tests=report(issues=[{"attempts": runs}]))
    tables = tables_of(tmp_path)
    endings = {(row["strategy"], row["ending"]): row["times"] for row in tables["endings"]}
    assert endings[("agent", "steps")] == endings[("agent", "unstarted")] == "1"
    assert endings[("libro", "finish")] == "2"
    assert [row["action"] for row in tables["actions"]] == ["edit", "test", "other"]
    assert [row["pair"] for row in tables["pairs"]] == ["edit→test", "test→other"]


def test_rankings_are_measured_with_ties(tmp_path: Path) -> None:
    """Two right and two wrong patches; EPR ties one of each, and puts a right one before."""
    eprs = {"a": 1.0, "b": 0.5, "c": 0.5, "d": 0.0}
    right = {"a", "b"}
    pool = [
        made_patch(f"{name}.diff", epr=epr, score=epr, place=[1, 4]) for name, epr in eprs.items()
    ]
    judged = [
        made_patch(f"judge_pool/{name}.diff", ("h",) if name in right else ()) for name in eprs
    ]
    fix = made_patch("fix.diff", ("h",), copies=["judge_pool/a.diff"])
    ranking = report(rankings=[{"patches": pool}])
    truth = report(rankings=[{"patches": [*judged, fix]}])
    write_bug(tmp_path, "1", judge_pool=truth, ranking=ranking)
    tables = tables_of(tmp_path)
    rankers = {row["ranker"]: row for row in tables["rankers"]}
    heads = ["p1", "p2", "p3", "p4", "p5", "r1", "r2", "r3", "r4", "r5", "mrr"]
    measured = [round(float(rankers["epr"][head]), 2) for head in heads]
    expected = [1.0, 0.75, 0.67, 0.5, 0.5, 0.5, 0.75, 1.0, 1.0, 1.0, 1.0]
    assert measured == pytest.approx(expected, abs=0.02)
    # The first of two wrong and two right ones, drawn.
    assert round(float(rankers["random"]["p1"]), 1) == 0.5
    selected = {row["from"]: row for row in tables["thresholds"]}
    from_half = selected["0.5"]
    assert [round(float(from_half[head]), 2) for head in ("precision", "recall")] == [0.67, 1.0]


def repair(given: str, *, right: bool) -> dict[str, object]:
    """Return the reports of a way of repairing a bug in one run, which kept one fix."""
    name = f"repair_passerine_{given}"
    found = {"total": 1, "passed": ["t"], "diff": "d"}
    run = attempt(
        "passerine", index=0, given="t" if "with" in given else None, ending="finish", steps=2,
        seconds=4.0, fixes=[found],
    )  # fmt: skip
    passed = ("h",) if right else ()
    patches = [
        made_patch(f"judge_{name}/00-00-kept.diff", passed),
        made_patch(f"judge_{name}/00-002-00.diff", passed),
        made_patch("fix.diff", ("h",)),
    ]
    return {name: report(repairs=[run]), f"judge_{name}": report(rankings=[{"patches": patches}])}


def test_repairs_are_measured_with_the_test_and_without(tmp_path: Path) -> None:
    steps = [
        {"action": "test", "arguments": {"path": "tests/test_brt_t.py"}, "done": True},
        {"action": "write_fix", "arguments": {}, "done": True},
    ]
    line = {"of": "repair", "index": 0, "steps": [{**step, "seconds": 1.0} for step in steps]}
    for bug, alone in (("1", True), ("2", False)):
        both = repair("with-test", right=True) | repair("report-alone", right=alone)
        write_bug(tmp_path, bug, **both)
        write_lines(tmp_path / bug / "repair_passerine_with-test.trajectories.jsonl", line)
    tables = tables_of(tmp_path)
    repairs = {row["given"]: row for row in tables["repairs"]}
    assert repairs["with-test"]["right"] == "1.00 [1.00, 1.00]"
    assert repairs["report-alone"]["right"].startswith("0.50 ")
    assert repairs["with-test"]["patches tried per bug"] == "1.0"
    assert {row["by"]: row["bugs"] for row in tables["fixed-by"]} == {
        "passerine report-alone, passerine with-test": "1",
        "passerine with-test": "1",
    }
    runs = {row["given"]: row for row in tables["repair-runs"]}
    assert float(runs["with-test"]["steps to right, median"]) == 2
    uses = {row["use"]: row["right"] for row in tables["repairs-use"]}
    assert float(uses["used"]) == 1.0
    assert float(uses["not-given"]) == 0.5
    (writes,) = tables["writes"]
    assert float(writes["plausible"]) == 1.0
    assert (tmp_path / "figures/repair-steps.svg").exists()
