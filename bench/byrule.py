"""How patches made wrong by rule are ranked below the right one, by tests made from the report.

For each bug of a data set: the true fix is turned into wrong patches, each by one rule that looks
at neither the report nor the tests.

literal    the fixed code runs for the reported input only, and the old code for all others
caller     the fixed code runs where one function calls it, and the old code elsewhere
swallow    the old code, with every exception caught and None returned in its place
constant   what the fixed code returns for the reported input is returned for every input

The reported input is what the changed function is called with while the best test runs on the
fixed tree. Tests are made by `replay`; the guard and the ranking are those of the tool.

    python bench/byrule.py --data FOLDER --trees FILE --cache FOLDER

takes the same files as bench/ranking.py, and the tests that its cache holds. A right patch "wins"
when it stands before the wrong one, "ties" when they share a place.
"""

from __future__ import annotations

import argparse
import ast
import copy
import json
import os
import re
import subprocess
import sys
import tempfile
import textwrap
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from ranking import FIX, Bug, Pool, read_bugs, run_pool

from pytest_brt.codec import content_id, from_json, to_json
from pytest_brt.patches import apply_patch, canonical_diff
from pytest_brt.patches.problem import PatchProblem
from pytest_brt.rank.singled_out import singled_out
from pytest_brt.rank.weighted import rank_by_weight
from pytest_brt.store import write_text
from pytest_brt.types import Attempt, FileChange, JudgedTest, Patch

RULES = ("literal", "swallow", "constant", "caller")

#: Notes what a function of the project is called with, and what it returns (a pytest plugin).
RECORDER = """
import json, os, sys
WHERE, NAME, OUT = os.environ["RULE_FILE"], os.environ["RULE_NAME"], os.environ["RULE_OUT"]
seen = []
def look(frame, event, value):
    code = frame.f_code
    if code.co_name != NAME or not code.co_filename.endswith(WHERE):
        return
    names = code.co_varnames[:code.co_argcount]
    if event == "call":
        above = frame.f_back.f_code
        caller = above.co_name if above.co_filename.endswith(WHERE) else ""
        seen.append([[repr(frame.f_locals[name]) for name in names], "", list(names), caller])
    elif event == "return" and seen and not seen[-1][1]:
        seen[-1][1] = repr(value)
def pytest_runtest_setup(item):
    sys.setprofile(look)
def pytest_runtest_teardown(item):
    sys.setprofile(None)
    with open(OUT, "w") as stream:
        json.dump(seen[:50], stream)
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Site:
    """A function that the true fix changes, before and after."""

    path: str
    name: str
    before: ast.FunctionDef
    after: ast.FunctionDef


#: The arguments of a call, what it returns, the names of the parameters, and which function of the
#: same file calls it, or "".
Call = tuple[list[str], str, list[str], str]


def site_of(bug: Bug, root: Path) -> tuple[Site, str, str] | None:
    """Return the function that the fix changes, and the file's texts; None where it is not one."""
    fix = next(patch for patch, _ in bug.patches if patch.name == FIX)
    applied = apply_patch(fix, root)
    found = []
    for change in applied.changes:
        if not change.path.endswith(".py") or not (root / change.path).is_file():
            return None
        old = (root / change.path).read_text("utf-8")
        new = (change.content or b"").decode("utf-8")
        before, after = _functions(old), _functions(new)
        for name in before.keys() & after.keys():
            if ast.dump(before[name]) != ast.dump(after[name]):
                site = Site(path=change.path, name=name, before=before[name], after=after[name])
                found.append((site, old, new))
    same = [
        entry for entry in found if ast.dump(entry[0].before.args) == ast.dump(entry[0].after.args)
    ]
    return same[0] if len(found) == 1 and same else None


def _functions(source: str) -> dict[str, ast.FunctionDef]:
    found: dict[str, ast.FunctionDef] = {}

    def walk(node: ast.AST, prefix: str) -> None:
        for inner in ast.iter_child_nodes(node):
            if isinstance(inner, ast.FunctionDef):
                found[prefix + inner.name] = inner
            elif isinstance(inner, ast.ClassDef):
                walk(inner, f"{prefix}{inner.name}.")

    walk(ast.parse(source), "")
    return found


def calls_of(bug: Bug, site: Site, test: JudgedTest) -> list[Call]:
    """Return what the function is called with on the fixed tree, and what it returns."""
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "recorder.py").write_text(RECORDER, "utf-8")
        (Path(folder) / "test_reported.py").write_text(test.test.source or "", "utf-8")
        paths = [folder, *bug.tree["pythonpath_fixed"]]  # type: ignore[misc]
        env = {
            **os.environ,
            **{str(k): str(v) for k, v in dict(bug.tree["envvars"]).items()},  # type: ignore[call-overload]
            "PYTHONPATH": os.pathsep.join(paths),
            "PYTHONDONTWRITEBYTECODE": "1",
            "RULE_FILE": site.path,
            "RULE_NAME": site.name.rpartition(".")[2],
            "RULE_OUT": str(Path(folder) / "seen.json"),
        }
        command = [str(bug.tree["python"]), "-m", "pytest", "-q", "-p", "recorder", "-p"]
        command += ["no:cacheprovider", "-c", os.devnull, "test_reported.py"]
        subprocess.run(command, cwd=folder, env=env, capture_output=True, timeout=300, check=False)
        seen = Path(folder) / "seen.json"
        return json.loads(seen.read_text("utf-8")) if seen.exists() else []


def wrong_ones(site: Site, old: str, calls: Sequence[Call]) -> Iterator[tuple[str, str]]:
    """Yield the rules that apply, and the file that each makes."""
    kept = "\n".join(ast.unparse(node) for node in site.before.body)
    inputs = [_condition(call) for call in calls]
    if inputs and all(inputs):
        test = " or ".join(f"({text})" for text in sorted(set(inputs)))
        new = "\n".join(ast.unparse(node) for node in site.after.body)
        body = f"if {test}:\n{textwrap.indent(new, '    ')}\nelse:\n{textwrap.indent(kept, '    ')}"
        yield "literal", _with_body(old, site, body)
    swallow = f"try:\n{textwrap.indent(kept, '    ')}\nexcept Exception:\n    return None"
    yield "swallow", _with_body(old, site, swallow)
    if moved := in_caller(site, old, calls):
        yield "caller", moved
    if calls and str(calls[0][1]):
        try:
            ast.literal_eval(str(calls[0][1]))
        except (ValueError, SyntaxError):
            return
        yield "constant", _with_body(old, site, f"return {calls[0][1]}")


def _condition(call: Call) -> str:
    """Return what holds for the arguments of a call; "" where it would hold for others too."""
    parts = []
    for text, name in zip(call[0], call[2], strict=True):
        try:
            ast.literal_eval(text)
            parts.append(f"{name} == {text}")
        except (ValueError, SyntaxError):
            # A class or a thing that is known by its address is no input.
            if not text.startswith("<") and " at 0x" not in text:
                parts.append(f"repr({name}) == {text!r}")
    return " and ".join(parts)


def in_caller(site: Site, old: str, calls: Sequence[Call]) -> str:
    """Return the file with the fix beside the function, where one of several callers calls it.

    "" where the file has no other caller: then it would be as right as the fix.
    """
    last = site.name.rpartition(".")[2]
    call = re.compile(rf"(?<!def )\b{re.escape(last)}\(")
    named = {made[3] for made in calls} - {last, ""}
    before, after = _split(old, site.before)
    for name, node in _functions(old).items():
        around, text = _split(old, node), "".join(_lines(old, node))
        others = call.findall("".join(around).replace("".join(_lines(old, site.before)), ""))
        if name.rpartition(".")[2] in named and call.search(text) and others:
            fixed = copy.deepcopy(site.after)
            fixed.name = f"fixed_{last}"
            beside = textwrap.indent(ast.unparse(fixed), " " * site.before.col_offset)
            moved = call.sub(f"{fixed.name}(", text)
            whole = "".join((before, *_lines(old, site.before), f"\n{beside}\n\n", after))
            return whole.replace(text, moved, 1)
    return ""


def _lines(text: str, node: ast.stmt) -> list[str]:
    return text.splitlines(keepends=True)[node.lineno - 1 : node.end_lineno]


def _split(text: str, node: ast.stmt) -> tuple[str, str]:
    lines = text.splitlines(keepends=True)
    return "".join(lines[: node.lineno - 1]), "".join(lines[node.end_lineno :])


def _with_body(old: str, site: Site, body: str) -> str:
    lines = old.splitlines(keepends=True)
    node = site.before
    first, last = node.body[0].lineno - 1, node.end_lineno or 0
    indent = " " * node.body[0].col_offset
    return "".join([*lines[:first], textwrap.indent(body, indent), "\n", *lines[last:]])


def make_pool(bug: Bug, pool: Pool) -> Bug | None:
    """Return the bug with patches made by rule in place of its own; None where none apply."""
    root = Path(str(bug.tree["base"]))
    found = site_of(bug, root)
    tests = sorted(pool.candidates(), key=lambda judged: -judged.judgement.confidence)
    if found is None or not tests:
        return None
    site, old, _ = found
    patches = []
    for rule, text in wrong_ones(site, old, calls_of(bug, site, tests[0])):
        change = FileChange(path=site.path, content=text.encode())
        diff = canonical_diff((change,), root)
        patches.append((Patch(id=content_id(diff), name=rule, text=diff), False))
    fix = next(labelled for labelled in bug.patches if labelled[0].name == FIX)
    return Bug(instance=bug.instance, tree=bug.tree, patches=(*patches, fix))


def compared(pool: Pool) -> dict[str, str]:
    """Return, per rule, whether the right patch wins, ties or loses."""
    ranks = rank_by_weight(pool.rows, pool.candidates())
    places = {rank.result.patch.name: rank.place or 99 for rank in ranks}
    passes = {rank.result.patch.name: rank.passed for rank in ranks}
    said = {}
    for rule in RULES:
        if rule in places:
            gap = places[rule] - places[FIX]
            word = "wins" if gap > 0 else "ties" if gap == 0 else "loses"
            said[rule] = word if passes[FIX] else f"{word} (the right one passes no test)"
    return said


def remarked(bug: Bug, pool: Pool) -> Counter[tuple[bool, bool]]:
    """Return how many patches of a pool are right, and remarked for singling out the input."""
    root = Path(str(bug.tree["base"]))
    counts: Counter[tuple[bool, bool]] = Counter()
    for patch, right in bug.patches:
        try:
            changes = apply_patch(patch, root).changes
        except PatchProblem:
            continue
        counts[right, bool(singled_out(changes, root, pool.attempt.tests))] += 1
    return counts


def show(results: Mapping[str, Mapping[str, str]]) -> None:
    """Print a line per bug, and the counts per rule."""
    for bug, said in results.items():
        print(bug.ljust(28), "  ".join(f"{rule}: {word}" for rule, word in said.items()))
    for rule in RULES:
        counts = Counter(said[rule].split()[0] for said in results.values() if rule in said)
        print(rule.ljust(28), ", ".join(f"{word} {count}" for word, count in counts.items()))


def main(arguments: Sequence[str] | None = None) -> int:
    """Make the pools, run what is missing, and print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, required=True, help="folder with the data set")
    parser.add_argument("--trees", type=Path, required=True, help="where each bug's trees are")
    parser.add_argument("--cache", type=Path, required=True, help="folder of bench/ranking.py")
    parser.add_argument("--only", nargs="*", default=[], metavar="TEXT", help="bugs named so")
    parser.add_argument("--guard", type=float, help="as of bench/ranking.py")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--sandbox", default="auto", help="isolation, as --brt-sandbox")
    parser.add_argument("--score-only", action="store_true", help="run nothing")
    parser.set_defaults(own_tests=None)
    options = parser.parse_args(arguments)
    results: dict[str, dict[str, str]] = {}
    counts: Counter[tuple[bool, bool]] = Counter()
    for bug in read_bugs(options.data, options.trees, None):
        cached = options.cache / "attempts" / f"{bug.instance}.json"
        place = options.cache / "byrule" / f"{bug.instance}.json"
        wanted = not options.only or any(text in bug.instance for text in options.only)
        if not cached.exists() or not wanted:
            continue
        attempt = from_json(cached.read_bytes(), Attempt)
        pool = Pool(
            instance=bug.instance, attempt=attempt, rows=(), labels={}, making=0.0, running=0.0
        )
        if pool.candidates():
            counts += remarked(bug, pool)
        if not place.exists() and not options.score_only:
            made = make_pool(bug, pool)
            if made is not None:
                write_text(place, to_json(run_pool(made, pool.attempt, options)))
        if place.exists():
            results[bug.instance] = compared(from_json(place.read_bytes(), Pool))
    show(results)
    for right, word in ((True, "right"), (False, "wrong")):
        number = counts[right, True] + counts[right, False]
        print(f"remarked of the {number} {word} patches of the pools: {counts[right, True]}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
