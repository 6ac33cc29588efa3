"""Does the net hold? Small faults are put into the code, and tests are to notice them.

    git clone . ../mutants && cd ../mutants      # its files are changed while this runs
    (make .venv as in CONTRIBUTING.md)
    .venv/bin/python bench/mutants.py --count 200 --seed 0 --out mutants.jsonl

Each mutant is one change, drawn by seed over the syntax trees of the rooms that decide what is
true. For each, the tests that mirror its room are run, and the scenarios alone, until the first
that fails. What is in the file already is not run again. `--only scenarios` leaves the first out.
"""

from __future__ import annotations

import argparse
import ast
import hashlib
import json
import random
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
ROOMS = ("oracle", "rank", "patches", "execute", "guard")
RUNS = {
    "tests": ("-m", "slow or not slow", "tests/{room}"),
    "scenarios": ("-n", "2", "--dist", "loadfile", "tests/scenarios"),
}
#: Seconds after which a run of tests is taken for one that noticed: it hangs.
PATIENCE = 3600
NEGATED: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Eq: ast.NotEq, ast.NotEq: ast.Eq, ast.Lt: ast.GtE, ast.GtE: ast.Lt, ast.Gt: ast.LtE,
    ast.LtE: ast.Gt, ast.In: ast.NotIn, ast.NotIn: ast.In, ast.Is: ast.IsNot, ast.IsNot: ast.Is,
}  # fmt: skip


def changes_of(node: ast.AST) -> list[tuple[str, ast.AST]]:
    """Return what may stand in place of a node, each with the name of what was done."""
    match node:
        case ast.Compare(left=left, ops=[op, *others], comparators=right) if type(op) in NEGATED:
            negated = NEGATED[type(op)]()
            return [("comparison", ast.Compare(left, [negated, *others], right))]
        case ast.BoolOp(op=op, values=values):
            return [
                ("and/or", ast.BoolOp(ast.Or() if isinstance(op, ast.And) else ast.And(), values))
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
    changed = "\n".join([*lines[: node.lineno - 1], head + inside + tail, *lines[last:]]) + "\n"
    try:  # before Python 3.12, positions inside of f-strings are none of the file
        return changed if ast.dump(ast.parse(changed)) != ast.dump(ast.parse(text)) else ""
    except SyntaxError:
        return ""


def draw(count: int, seed: int) -> Iterator[dict[str, str]]:
    """Yield mutants, the same for the same seed and code."""
    found = []
    for room in ROOMS:
        for path in sorted((ROOT / "pytest_brt" / room).rglob("*.py")):
            tree = ast.parse(path.read_text("utf-8"))
            nodes = [node for node in ast.walk(tree) if isinstance(node, ast.stmt | ast.expr)]
            found += [(room, path, n, *one) for n in nodes for one in changes_of(n)]
    random.Random(seed).shuffle(found)
    for room, path, node, done, new in found:
        if not count:
            return
        text = path.read_text("utf-8")
        changed = in_place(text, node, new)
        if changed:
            count -= 1
            at = f"{path.relative_to(ROOT).as_posix()}:{node.lineno}"
            code = text.splitlines()[node.lineno - 1].strip()
            yield {"room": room, "at": at, "done": done, "code": code, "text": changed}


def notices(run: str, room: str) -> bool:
    """Return whether some test fails."""
    options = [option.format(room=room) for option in RUNS[run]]
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:randomly", *options]
    try:
        done = subprocess.run(command, cwd=ROOT, capture_output=True, timeout=PATIENCE, check=False)
    except subprocess.TimeoutExpired:
        return True
    return done.returncode != 0


def main() -> None:
    """Run what is missing and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, default=Path("mutants.jsonl"))
    parser.add_argument("--only", choices=RUNS, help="one kind of run")
    options = parser.parse_args()
    runs = [options.only] if options.only else list(RUNS)
    lines = options.out.read_text("utf-8").splitlines() if options.out.exists() else []
    known = {
        (one["at"], one["done"], one["run"], one["new"]): one for one in map(json.loads, lines)
    }
    table: Counter[tuple[str, ...]] = Counter()
    for mutant in draw(options.count, options.seed):
        path = ROOT / mutant["at"].partition(":")[0]
        new = hashlib.sha256(mutant["text"].encode()).hexdigest()[:12]
        noticed = []
        for run in runs:
            key = (mutant["at"], mutant["done"], run, new)
            if key not in known:
                before = path.read_bytes()
                try:
                    path.write_text(mutant["text"], "utf-8")
                    result = notices(run, mutant["room"])
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
        told = [f"{sum(n for key, n in row.items() if run in key)} by {run}" for run in runs]
        print(
            f"{room}: {sum(row.values())} mutants; {', '.join(told)}; {row.get((), 0)} slip through"
        )


if __name__ == "__main__":
    main()
