# /// script
# requires-python = ">=3.11"
# dependencies = ["pandas", "matplotlib", "unidiff"]
# ///
"""The JSON reports of a study → rows → tables, the figures of two papers, and predictions.

    tables.py RESULTS

The tables are those of tables.toml. A share of bugs comes with where it lies with 95 %, by drawing
the bugs again. Patches that tie count as the mean over 10,000 drawn orders.
Paper 1 is on the BRT Agent, paper 2 on RepairAgent: see docs/papers.md.
"""

from __future__ import annotations

import json
import sys
import tomllib
from collections.abc import Iterator
from difflib import unified_diff
from itertools import zip_longest
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from matplotlib import pyplot as plt
from pandas import DataFrame as Frame
from study import HERE, Row, passes_of, place_of, read_lines

Frames = dict[str, Frame]
#: What rows are about, and a row.
Rows = Iterator[tuple[str, Row]]
#: Numbers, or labels: right or not.
List = list[Any]
LETTERS = {"PASS": "P", "FAIL": "F", "CRASH": "F", "TIMEOUT": "F"}
#: Actions that run the failing test or show it, whatever they are given.
USING = {"extract_tests", "run_tests", "write_fix"}
TOP = range(1, 6)


# -- reports → rows -----------------------------------------------------------------------------


def rows_of(results: Path) -> Frames:
    """Return the rows of a study, by what each is about; each says which bug's it is."""
    rows: dict[str, List] = {}
    for folder in sorted(results.glob("*/bug.json")):
        reports: Row = {
            path.stem: read_lines(path) for path in folder.parent.glob("*.jsonl")
        }
        for path in sorted(folder.parent.glob("*.json")):
            reports[path.stem] = json.loads(path.read_text("utf-8"))
        about = reports["bug"]
        bug = {"bug": folder.parent.name, "repo": about["repo"], "extent": about["extent"]}
        for read in (test_rows, patch_rows, run_rows):
            for kind, row in read(reports):
                rows.setdefault(kind, []).append(bug | row)
    return {kind: pd.json_normalize(some) for kind, some in rows.items()}


def test_rows(reports: Row) -> Rows:
    """Yield what tests do on both trees, and how dialogues went (paper 1, 6.1)."""
    truth, fixed = (
        reports.get(f"judge_{name}", {"tests": ()}) for name in ("truth", "fixed")
    )
    tests = [test for test in reports.get("tests", truth)["tests"] if test["source"]]
    if "tests" not in reports or (tests and not truth["tests"]):
        return  # nobody could judge them
    cells = patches_of(truth)["cells"].iloc[0] if truth["tests"] else []
    judged = {(test["file"], test["name"]): test for test in fixed["tests"]}
    with_fix = {cell["test"]: cell for cell in cells}
    for test in truth["tests"]:
        if test["id"] in with_fix:
            judged[test["file"], test["name"]] = with_fix[test["id"]]
    passing = {test["file"] for test in truth["tests"] if test["verdict"] == "PASS"}
    for test in tests:
        path = place_of(test)
        after = judged.get((path, test["name"]), {"verdict": ""})
        letters = [LETTERS.get(one["verdict"], "") for one in (test, after)]
        test["transition"] = "→".join(letters) if all(letters) else "broken"
        test["fails"], test["fails_to_pass"] = letters[0] == "F", letters == ["F", "P"]
        test["plausible"] = test["candidate"] and test["fails_to_pass"]
        test["flawless"] = test["plausible"] and path not in passing
        diff = unified_diff(
            [], test["source"].splitlines(keepends=True), "/dev/null", f"b/{path}"
        )
        head = f"diff --git a/{path} b/{path}\nnew file mode 100644\n"
        test["diff"] = head + "".join(diff)
    runs = [run for issue in reports["tests"]["issues"] for run in issue["attempts"]]
    for strategy in {run["strategy"]: "" for run in runs}:
        yield from judged_rows(
            strategy, [test for test in tests if test["strategy"] == strategy]
        )
    for run in runs:
        about = {**run, "stage": "reproduce", "outcome": ""}
        yield from step_rows(about, run["actions"], run["endings"])


def judged_rows(strategy: str, tests: List) -> Rows:
    """Yield a strategy's tests (paper 1, 5.2.1), and how many are read (LIBRO, acc@k).

    The paper counts tests that fail on the bug, F→X; a candidate of ours fails for a reason that
    can be named. A bug without any test has a row too.
    """
    names = ("fails", "fails_to_pass", "candidate", "plausible")
    best = [test for test in tests if test["candidate"]]
    right = [test["plausible"] for test in best]
    for test in tests or [
        {"strategy": strategy, "transition": "", **dict.fromkeys(names, False)}
    ]:
        test["best"] = test in best[:1]
        yield "tests", test
    for order, keys in {
        "ranked": [*range(len(right))],
        "shuffled": [0] * len(right),
    }.items():
        if right:
            first = drawn_orders(keys, right)[1]
            row: Row = {"strategy": strategy, "order": order}
            for k in (1, 3, 5):
                row[f"acc@{k}"] = (first <= k).mean()
                row[f"wef@{k}"] = np.minimum(first - 1, min(k, len(right))).mean()
            yield "effort", row


def drawn_orders(keys: List, right: List) -> tuple[Any, Any]:
    """Return labels in 10,000 orders, lowest key first, and the place of the first right one."""
    jitter = np.random.default_rng(0).random((10_000, len(right)))
    labels = np.asarray(right)[np.lexsort((jitter, np.broadcast_to(keys, jitter.shape)))]
    return labels, np.where(labels.any(1), labels.argmax(1) + 1, np.inf)


def step_rows(run: Row, actions: List, endings: List, right: List | None = None) -> Rows:
    """Yield the steps of a run, and why it or its samples ended (paper 1, 6.1.2).

    One in which the model made no token did not start.
    """
    for ending in filter(None, endings):
        yield "endings", {**run, "ending": ending if run["cost"]["tokens"] else "unstarted"}
    named = [action or "other" for action in actions]
    for step, (action, following) in enumerate(zip_longest(named, named[1:]), 1):
        row: Row = {**run, "step": step, "action": action, "writes": action == "write_fix"}
        row["pair"] = f"{action}→{following}" if following else ""
        yield "steps", row | {"plausible": step in (right or ())}


def patches_of(report: Row) -> Frame:
    """Return the patches of a report by name, with the existing tests that each breaks."""
    found = Frame([patch for ranking in report["rankings"] for patch in ranking["patches"]])
    existing = [one["regressions"] if one else () for one in found["existing"]]
    found["broken"] = [{test["test"] for test in tests} for tests in existing]
    return found.set_index(found["name"].map(lambda name: Path(name).stem))


def labelled(report: Row) -> Frame:
    """Return patches with labels.

    Right ones pass the hidden tests that the true fix does, and break nothing that it does not.
    """
    passed, found = passes_of(report), patches_of(report)
    fix = found.loc["fix"]
    mends = found["name"].map(lambda name: passed["fix.diff"] <= passed[name])
    found["right"] = mends & found["broken"].map(fix["broken"].issuperset)
    found["same_as_fix"] = found["name"].isin(fix["copies"])
    return found.drop(index="fix")


def patch_rows(reports: Row) -> Rows:
    """Yield how EPR and the tool order patches, and what thresholds of EPR select.

    (Paper 1, 6.3.1 and 6.3.2.)
    """
    if "judge_pool" not in reports:
        return
    pool = patches_of(reports["ranking"]).join(labelled(reports["judge_pool"])["right"])
    right = [*pool["right"]]
    if len({*right}) < 2:
        return
    places = pool["place"].map(lambda place: place[0] if place else len(pool))
    epr = pool["epr"].fillna(-1)
    for ranker, keys in {"random": 0 * places, "epr": -epr, "ours": places}.items():
        yield "rankings", {"ranker": ranker, **measures([*keys], right)}
    first = drawn_orders([*-epr], right)[1]
    for step in range(101):
        chosen = pool["right"][epr >= step / 100]
        row: Row = {"from": step / 100, "tenth": step % 10 == 0}
        row["precision"], row["recall"] = chosen.mean(), chosen.sum() / sum(right)
        yield "thresholds", row | {"mrr": (1 / first).mean() * chosen.any()}


def measures(keys: List, right: List) -> Row:
    """Return precision, recall and F1 of the best K, and the mean reciprocal rank."""
    labels, first = drawn_orders(keys, right)
    hits, size, all_right = labels.cumsum(1).mean(0), len(right), sum(right)
    row: Row = {"mrr": (1 / first).mean()}
    for k in TOP:
        found = hits[min(k, size) - 1]
        row[f"p{k}"], row[f"r{k}"] = found / min(k, size), found / all_right
        row[f"f1@{k}"] = f1(row[f"p{k}"], row[f"r{k}"])
    return row


def f1(precision: float, recall: float) -> float:
    """Return the harmonic mean of both."""
    return 2 * precision * recall / (precision + recall) if precision + recall else 0.0


def run_rows(reports: Row) -> Rows:
    """Yield what each run of a repair came to: fixes, steps, use of the test, cost.

    And by which ways of repairing the bug was fixed. (Paper 1, 6.2; paper 2, V-B.)
    """
    fixed_by: set[str] = set()
    names = [name for name in reports if f"judge_{name}" in reports and "repair_" in name]
    for name in names:
        _, strategy, given = name.split("_")
        labels = labelled(reports[f"judge_{name}"])
        told = {
            line["index"]: line["steps"] for line in reports.get(f"{name}.trajectories", ())
        }
        for run in reports[name]["repairs"]:
            steps = told.get(run["index"], [])
            mine = labels[labels.index.str.startswith(f"{run['index']:02}-")]
            is_kept = mine.index.str.endswith("-kept")
            good = [int(patch[3:6]) for patch in mine.index[mine["right"] & ~is_kept]]
            kept = mine[["right", "same_as_fix"]][is_kept]
            use = "used" if any(map(is_use, steps)) else "unused"
            row = run | dict(kept.any()) | {"strategy": strategy, "given": given}
            row |= {
                "outcome": "fixed" if row["right"] else "unfixed",
                "use": use if run["given"] else "not-given",
                "patches": len(mine) - len(kept),
                "first_right": min(good, default=None),
                "share_in_tools": sum(step["seconds"] for step in steps)
                / (run["seconds"] or 1),
            }
            yield "runs", row
            way = f"{strategy} {given}"
            if row["right"]:
                fixed_by.add(way)
            about = {**row, "stage": "repair", "name": f"{way} {run['index']}"}
            actions = [step["action"] for step in steps]
            yield from step_rows(about, actions, [run["ending"]], good)
    if names:
        yield "fixed", {"by": ", ".join(sorted(fixed_by)) or "none"}


def is_use(step: Row) -> bool:
    """Whether a step executes the failing test, or reads its file."""
    reads = "test_brt_" in step["arguments"].get("path", "")
    return bool(step["done"] and (step["action"] in USING or reads))


# -- rows → tables ------------------------------------------------------------------------------


def interval(of_bugs: Any) -> str:
    """Return a mean over bugs, and where it lies with 95 %: 2,000 draws of the bugs, seeded."""
    drawn = np.random.default_rng(0).choice(of_bugs, (2000, len(of_bugs))).mean(1)
    low, high = np.quantile(drawn, (0.025, 0.975))
    return f"{of_bugs.mean():.2f} [{low:.2f}, {high:.2f}]"


def measure(text: str, rows: Frame, within: Frame) -> object:
    """Return a cell, as tables.toml has it: a measure, a column, and which bugs count.

    It is of rows, and of those that differ from them in the last column alone.
    """
    how, of, where = [*text.split(" "), "", ""][:3]
    if where:
        rows = rows[rows["bug"].isin(rows["bug"][rows[where].astype(bool)])]
    bugs = rows["bug"].nunique()
    match how:
        case "count":
            return len(rows)
        case "part":
            return len(rows) / len(within)
        case "bugs":
            return bugs
        case "per_run":
            return len(rows) / len(within[["bug", "name"]].drop_duplicates())
        case "f1":
            return f1(rows["precision"].fillna(0).mean(), rows["recall"].mean())
    numbers = rows.set_index("bug")[of].dropna().astype(float)
    by_bug = numbers.groupby("bug")
    match how:
        case "bugs_with":
            return by_bug.max().sum()
        case "per_bug":
            return numbers.sum() / bugs
        case "any":
            return interval(by_bug.max())
        case "lower" | "upper":
            return numbers.quantile(0.25 if how == "lower" else 0.75)
    return numbers.agg(how)


def make_table(rows: Frame, spec: Row) -> Frame:
    """Return a table of tables.toml."""
    rows = rows[rows[spec["where"]].astype(bool)] if "where" in spec else rows
    if rows.empty:
        return rows
    *outer, last = spec["by"]
    lines: List = []
    for _, within in rows.groupby(outer, sort=False) if outer else [("", rows)]:
        groups = {str(key): group for key, group in within.groupby(last, sort=False)}
        start = dict(within[outer].iloc[0])
        if "whole" in spec and len(groups) > 1:
            groups = {"all": within, **groups}
        keys = [*groups]
        if "top" in spec:
            keys = sorted(keys, key=lambda key: -len(groups[key]))[: spec["top"]]
        for key in keys:
            columns = spec["columns"].items()
            cells = {title: measure(text, groups[key], within) for title, text in columns}
            lines.append(start | {last: key} | cells)
    return Frame(lines)


# -- rows → figures -----------------------------------------------------------------------------


def figures_of(rows: Frames) -> Iterator[str]:
    """Draw each figure, and yield its name. Paper 1, Figures 2 and 4 to 6; paper 2, Figure 9."""
    if "rankings" in rows:
        means = rows["rankings"].groupby("ranker").mean(numeric_only=True)
        recall, precision = (
            means[[f"{what}{k}" for k in TOP]].to_numpy().T for what in "rp"
        )
        plt.plot(recall, precision, "o-", label=[*means.index])
        yield "top-k"
        rows["thresholds"].groupby("from")[["precision", "recall", "mrr"]].mean().plot()
        yield "thresholds"
    if "runs" in rows:
        runs = rows["runs"]
        for way, some in runs.groupby(["strategy", "given"]):
            steps = some["first_right"].dropna().sort_values()
            plt.step(
                [0, *steps],
                np.arange(len(steps) + 1) / len(some),
                where="post",
                label=" ".join(way),
            )
        yield "repair-steps"
        for of in ("seconds", "cost.prompt_tokens"):
            runs.boxplot(of, by=["strategy", "outcome"])
            yield f"repair-{of}"
    if "steps" in rows:
        for name, steps in rows["steps"].groupby("strategy"):
            often = steps["action"].value_counts().index[:5]
            named = steps["action"].where(steps["action"].isin(often), "other")
            pd.crosstab(steps["step"], named, normalize="index").plot.bar(stacked=True)
            yield f"actions-{name}"


def main(results: Path) -> None:
    """Write tables, figures and predictions."""
    rows, specs = rows_of(results), tomllib.loads((HERE / "tables.toml").read_text("utf-8"))
    for name in ("tables", "figures", "predictions"):
        (results / name).mkdir(exist_ok=True)
    for name, spec in specs.items():
        table = make_table(rows[spec["rows"]], spec) if spec["rows"] in rows else Frame()
        if len(table):
            table.to_csv(results / f"tables/{name}.csv", index=False)
            text = table.to_string(index=False, float_format="{:.2f}".format, na_rep="–")
            print(f"\n{name}: {spec.get('papers', 'ours')}\n{text}")
    for name in figures_of(rows):
        plt.legend()
        plt.savefig(results / f"figures/{name}.svg")
        plt.close("all")
    # The best test of each bug, as SWT-bench takes it.
    keys = {"bug": "instance_id", "strategy": "model_name_or_path", "diff": "model_patch"}
    for name, tests in (
        rows["tests"].query("best").groupby("strategy") if "tests" in rows else ()
    ):
        file = results / f"predictions/{name}.jsonl"
        tests[[*keys]].rename(columns=keys).to_json(file, orient="records", lines=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
