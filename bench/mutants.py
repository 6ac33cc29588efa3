"""Does the net hold? Small faults are put into the code, and tests are to notice them.

    git clone . ../mutants && cd ../mutants      # its files are changed while this runs
    (make .venv as in CONTRIBUTING.md, and install `coverage`)
    .venv/bin/python bench/mutants.py --count 200 --seed 0 --out mutants.jsonl

Each mutant is one change, drawn by seed over the syntax trees of the rooms that decide what is
true. For each, the tests that mirror its room are run, and the scenarios alone, until the first
that fails. First of all the scenarios are run once under coverage: later only those are run that
reach the changed line, and those that look at the same run, the quickest first, at most `--most`.
What is in the file already is not run again. `--only scenarios` leaves the tests of the rooms out.
"""

from __future__ import annotations

import argparse
import ast
import hashlib
import json
import os
import random
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

ROOT = Path(__file__).parents[1]
#: What is changed, and the tests that mirror it.
ROOMS = {
    "oracle": ("tests/oracle", "tests/reproduce"),
    "rank": ("tests/rank",),
    "patches": ("tests/patches",),
    "sandbox": ("tests/sandbox",),
    "guard.py": ("tests/guard",),
}
SCENARIOS = "tests/scenarios"
RUNS = ("tests", "scenarios")
#: Which test runs which line; a process that is stopped writes it too.
COVERAGE = """\
[run]
source = {root}/pytest_brt
data_file = {folder}/data
context = ${{PYTEST_CURRENT_TEST}}
parallel = true
sigterm = true
disable_warnings = no-data-collected
"""
#: Seconds after which a run of tests is taken for one that noticed: it hangs.
PATIENCE = 900
NEGATED: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Eq: ast.NotEq, ast.NotEq: ast.Eq, ast.Lt: ast.GtE, ast.GtE: ast.Lt, ast.Gt: ast.LtE,
    ast.LtE: ast.Gt, ast.In: ast.NotIn, ast.NotIn: ast.In, ast.Is: ast.IsNot, ast.IsNot: ast.Is,
}  # fmt: skip


def changes_of(node: ast.AST) -> list[tuple[str, ast.AST]]:
    """Return what may stand in place of a node, each with the name of what was done."""
    match node:
        case ast.Compare(left=left, ops=[op, *others], comparators=right) if (
            type(op) in NEGATED
        ):
            negated = NEGATED[type(op)]()
            return [("comparison", ast.Compare(left, [negated, *others], right))]
        case ast.BoolOp(op=op, values=values):
            return [
                (
                    "and/or",
                    ast.BoolOp(ast.Or() if isinstance(op, ast.And) else ast.And(), values),
                )
            ]
        case ast.Constant(value=bool() as value):
            return [("constant", ast.Constant(not value))]
        case ast.Constant(value=int() | float() as value):
            return [("constant", ast.Constant(value + step)) for step in (1, -1)]
        case ast.Expr(value=ast.Call()) | ast.Assign() | ast.AugAssign() | ast.Raise():
            return [("statement", ast.Pass())]
        case ast.Return(value=ast.expr()):
            return [("return", ast.Return(ast.Constant(None)))]
        case ast.Call(func=function, args=[one, two, *more], keywords=named):
            swapped = ast.Call(function, [two, one, *more], named)
            return [("arguments", swapped)] if ast.dump(one) != ast.dump(two) else []
    return []


def in_place(text: str, node: ast.stmt | ast.expr, new: ast.AST) -> str:
    """Return a file's text with a node changed; "" where that cannot be written."""
    lines = text.splitlines()
    last = node.end_lineno or node.lineno
    head = lines[node.lineno - 1].encode()[: node.col_offset].decode()
    tail = lines[last - 1].encode()[node.end_col_offset :].decode()
    inside = ast.unparse(ast.fix_missing_locations(new))
    inside = f"({inside})" if isinstance(new, ast.expr) else inside
    changed = (
        "\n".join([*lines[: node.lineno - 1], head + inside + tail, *lines[last:]]) + "\n"
    )
    try:  # before Python 3.12, positions inside of f-strings are none of the file
        return changed if ast.dump(ast.parse(changed)) != ast.dump(ast.parse(text)) else ""
    except SyntaxError:
        return ""


def draw(count: int, seed: int) -> Iterator[dict[str, Any]]:
    """Yield mutants, the same for the same seed and code."""
    found = []
    for room in ROOMS:
        place = ROOT / "pytest_brt" / room
        for path in [place] if place.is_file() else sorted(place.rglob("*.py")):
            tree = ast.parse(path.read_text("utf-8"))
            found += [(room, path, *one) for one in places(tree)]
    random.Random(seed).shuffle(found)
    for room, path, node, lines, done, new in found:
        if not count:
            return
        text = path.read_text("utf-8")
        changed = in_place(text, node, new)
        if changed:
            count -= 1
            file = path.relative_to(ROOT).as_posix()
            code = text.splitlines()[node.lineno - 1].strip()
            at = f"{file}:{node.lineno}"
            yield {
                "room": room, "file": file, "at": at, "lines": lines, "done": done, "code": code,
                "text": changed,
            }  # fmt: skip


def places(
    tree: ast.Module,
) -> Iterator[tuple[ast.stmt | ast.expr, list[int], str, ast.AST]]:
    """Yield what can be changed: the node, the lines it is reached by, how, and by what."""
    stack: list[tuple[ast.AST, list[int]]] = [(tree, [])]
    while stack:
        node, first = stack.pop()
        if isinstance(node, ast.stmt):
            first = [node.lineno]
        if isinstance(node, ast.stmt | ast.expr):
            is_compound = isinstance(node, ast.stmt) and hasattr(node, "body")
            last = node.lineno if is_compound else node.end_lineno or node.lineno
            lines = sorted({*first, *range(node.lineno, last + 1)})
            yield from ((node, lines, done, new) for done, new in changes_of(node))
        stack += [(child, first) for child in ast.iter_child_nodes(node)]


class Covered:
    """Says which scenarios reach a line."""

    def __init__(self, folder: Path) -> None:
        """Run all scenarios under coverage, unless that was done into `folder` before."""
        data = folder / "data"
        if not data.exists():
            folder.mkdir(parents=True, exist_ok=True)
            rules = folder / "rules"
            rules.write_text(COVERAGE.format(root=ROOT, folder=folder.resolve()), "utf-8")
            seen = {**os.environ, "COVERAGE_PROCESS_START": str(rules.resolve())}
            log = f"--junitxml={folder / 'times.xml'}"
            command = [
                sys.executable,
                "-m",
                "pytest",
                "-q",
                "-p",
                "no:randomly",
                log,
                SCENARIOS,
            ]
            subprocess.run(command, cwd=ROOT, env=seen, check=False)
            combine = [sys.executable, "-m", "coverage", "combine", f"--rcfile={rules}"]
            subprocess.run(
                [*combine, str(folder)], env={**seen, "PYTEST_CURRENT_TEST": ""}, check=True
            )
        self.data = import_module("coverage").CoverageData(str(data))
        self.data.read()
        self.seconds: dict[str, float] = {}
        for case in ElementTree.parse(folder / "times.xml").iter("testcase"):
            file = case.attrib["classname"].replace(".", "/") + ".py"
            self.seconds[f"{file}::{case.attrib['name']}"] = float(case.attrib["time"])
        self.alike = [
            group
            for path in Path(ROOT, SCENARIOS).glob("test_*.py")
            for group in alike(path)
        ]

    def scenarios(self, file: str, lines: list[int]) -> list[str]:
        """Return the tests that reach one of the lines, the quickest first."""
        reached = self.data.contexts_by_lineno(str(ROOT / file))
        contexts = {context for line in lines for context in reached.get(line, ())}
        tests = {context.rpartition(" (")[0] for context in contexts} & {*self.seconds}
        functions = {test.partition("[")[0] for test in tests}
        for group in self.alike:
            if group & functions:
                functions |= group
        tests |= {test for test in self.seconds if test.partition("[")[0] in functions}
        return sorted(tests, key=lambda test: self.seconds[test])


def alike(path: Path) -> Iterator[set[str]]:
    """Yield the tests of a file that look at the same run: by the fixtures of its whole module."""
    tree = ast.parse(path.read_text("utf-8"))
    functions = [node for node in tree.body if isinstance(node, ast.FunctionDef)]
    taken = {node.name: {arg.arg for arg in node.args.args} for node in functions}
    for fixture in functions:
        if any("scope='module'" in ast.unparse(mark) for mark in fixture.decorator_list):
            name = path.relative_to(ROOT).as_posix()
            yield {
                f"{name}::{test}" for test, given in taken.items() if fixture.name in given
            }


def notices(tests: list[str]) -> bool:
    """Return whether some test fails."""
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:randomly", *tests]
    try:
        done = subprocess.run(
            command, cwd=ROOT, capture_output=True, timeout=PATIENCE, check=False
        )
    except subprocess.TimeoutExpired:
        return True
    return done.returncode not in (0, pytest.ExitCode.NO_TESTS_COLLECTED)


def main() -> None:
    """Run what is missing and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, default=Path("mutants.jsonl"))
    parser.add_argument("--only", choices=RUNS, help="one kind of run")
    parser.add_argument(
        "--most", type=int, default=40, help="scenarios that are run on one mutant"
    )
    options = parser.parse_args()
    covered = Covered(options.out.with_suffix(".covered"))
    runs = [options.only] if options.only else list(RUNS)
    lines = options.out.read_text("utf-8").splitlines() if options.out.exists() else []
    known = {
        (one["at"], one["done"], one["run"], one["new"]): one
        for one in map(json.loads, lines)
    }
    table: Counter[tuple[str, ...]] = Counter()
    for mutant in draw(options.count, options.seed):
        path = ROOT / mutant["at"].partition(":")[0]
        new = hashlib.sha256(mutant["text"].encode()).hexdigest()[:12]
        noticed = []
        tests = {
            "tests": ["-m", "(slow or not slow) and not load", *ROOMS[mutant["room"]]],
            "scenarios": covered.scenarios(mutant["file"], mutant["lines"])[: options.most],
        }
        for run in runs:
            key = (mutant["at"], mutant["done"], run, new)
            if key not in known:
                before = path.read_bytes()
                try:
                    path.write_text(mutant["text"], "utf-8")
                    result = bool(tests[run]) and notices(tests[run])
                finally:
                    path.write_bytes(before)
                known[key] = {
                    **dict(zip(("at", "done", "run", "new"), key, strict=True)),
                    "noticed": result,
                }
                with options.out.open("a", encoding="utf-8") as file:
                    file.write(json.dumps({**known[key], "code": mutant["code"]}) + "\n")
            noticed += [run] * known[key]["noticed"]
        table[mutant["room"], *noticed] += 1
        print(
            mutant["at"],
            mutant["done"],
            mutant["code"],
            "->",
            noticed or "slips through",
            flush=True,
        )
    for room in ROOMS:
        row = {key[1:]: number for key, number in table.items() if key[0] == room}
        told = [
            f"{sum(n for key, n in row.items() if run in key)} by {run}" for run in runs
        ]
        print(
            f"{room}: {sum(row.values())} mutants; {', '.join(told)}; {row.get((), 0)} slip through"
        )


if __name__ == "__main__":
    main()
