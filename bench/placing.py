"""What is lost between a right reply and a test that runs: true tests, stripped, placed, judged.

INDEX is a JSON list as `bench/replay.py` reads it; DATA holds the same reports as lines of JSON
with `test_patch` and `FAIL_TO_PASS` (SWE-bench's format). Of each report up to --most true tests
are taken out of the fix's test files, without the imports, helpers and fixtures of those files, as
a model would write them that sees nothing but the report. The rules of libro place them and add
what is missing; then they run on `base` and on `fixed`.

Printed are, for each test that is lost, why, and at the end one JSON object: tests, the share that
fails on `base` and passes on `fixed` (f2p), the share that the rules hold to be a candidate
(candidate), and that go to the file the true fix has them in (host). Tests of a fix that brings
other files with it than tests are left out.
"""

from __future__ import annotations

import argparse
import ast
import json
import subprocess
import sys
import tempfile
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pytest_brt.code.index import open_index
from pytest_brt.errors import BrtError
from pytest_brt.execute.engine import Engine, Limits
from pytest_brt.execute.launch import open_sandbox
from pytest_brt.execute.local import LocalEngine
from pytest_brt.execute.subject import find_subject
from pytest_brt.issue.load import load_issue
from pytest_brt.issue.read import read_report
from pytest_brt.observe.suite_folder import SuiteFolder
from pytest_brt.oracle.facts import read_facts
from pytest_brt.oracle.judge import run_tests
from pytest_brt.render.causes import run_words
from pytest_brt.reproduce.model_tests.confidence import Signs, judge_written
from pytest_brt.reproduce.model_tests.make import Maker
from pytest_brt.types import Origin, Verdict


@dataclass(frozen=True, slots=True, kw_only=True)
class Placed:
    """What became of one true test."""

    f2p: bool
    candidate: bool
    host: bool
    why: str = ""


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print, and return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    parser.add_argument("index", type=Path)
    parser.add_argument("data", type=Path)
    parser.add_argument("names", nargs="*", help="reports to take; all when none is named")
    parser.add_argument("--most", type=int, default=2, help="true tests of each report")
    options = parser.parse_args(arguments)
    lines = options.data.read_text("utf-8").splitlines()
    data = {one["instance_id"]: one for one in map(json.loads, lines)}
    found: list[Placed] = []
    for bug in json.loads(options.index.read_text("utf-8")):
        name = bug["instance_id"]
        if name not in data or (options.names and name not in options.names):
            continue
        try:
            placed = list(try_bug(bug, data[name], options.most))
        except BrtError as error:
            print(f"{name}: {error}", flush=True)
            continue
        found += placed
        told = [one.why for one in placed if one.why] or ["nothing lost" if placed else "no test"]
        print(f"{name}: {'; '.join(told)}", flush=True)
    total = max(1, len(found))
    shares = {
        key: round(sum(getattr(one, key) for one in found) / total, 3)
        for key in ("f2p", "candidate", "host")
    }
    print(json.dumps({"tests": len(found), **shares}))
    return 0 if found else 1


def try_bug(bug: Mapping[str, Any], data: Mapping[str, Any], most: int) -> Iterator[Placed]:
    """Yield what became of the true tests of one bug."""
    tests = list(true_tests(Path(bug["base"]), data))[:most]
    if not tests:
        return
    issue = load_issue(bug["issue"], sys.stdin.buffer)
    base, fixed = (engine_of(bug, kind) for kind in ("base", "fixed"))
    try:
        with open_index(Path(bug["base"])) as index:
            maker = Maker(
                issue=issue,
                index=index,
                folder=SuiteFolder(path=base.subject.test_root),
            )
            facts = read_facts(read_report(issue))
            for path, name, code in tests:
                made = maker.make(f"```python\n{code}\n```", Origin(strategy="placing"))
                if not made:
                    yield Placed(f2p=False, candidate=False, host=False, why=f"{name}: no test")
                    continue
                test = made[0].test
                runs = run_tests([test], base, 1)[test.id]
                after = run_tests([test], fixed, 1)[test.id]
                judgement = judge_written(test, runs, facts, Signs()).judgement
                f2p = (runs[0].verdict, after[0].verdict) == (Verdict.FAIL, Verdict.PASS)
                reason = (
                    run_words(after[0]) if runs[0].verdict is Verdict.FAIL else run_words(runs[0])
                )
                why = "" if f2p and judgement.candidate else f"{name}: {judgement.reason}; {reason}"
                yield Placed(
                    f2p=f2p, candidate=judgement.candidate, host=test.host == path, why=why
                )
    finally:
        base.close()
        fixed.close()


def engine_of(bug: Mapping[str, Any], kind: str) -> Engine:
    """Return an engine on the tree of `kind`."""
    path = ":".join(str(Path(bug[kind]) / entry) for entry in bug["pythonpath"])
    env = {**bug["envvars"], "PYTHONPATH": path}
    root = Path(bug[kind])
    sandbox = open_sandbox("auto", project=root)
    subject = find_subject(root, python=bug["python"], env=env, sandbox=sandbox)
    return LocalEngine(subject, sandbox, limits=Limits(seconds=60))


def true_tests(base: Path, data: Mapping[str, Any]) -> Iterator[tuple[str, str, str]]:
    """Yield file, name and code of the tests that the true fix makes pass."""
    wanted = data["FAIL_TO_PASS"]
    nodes = json.loads(wanted) if isinstance(wanted, str) else wanted
    patch = data["test_patch"]
    touched = [line[6:].split("\t")[0] for line in patch.split("\n") if line.startswith("+++ b/")]
    if any(not path.endswith(".py") or "/roots/" in path for path in touched):
        return
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for path in touched:
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            if (base / path).is_file():
                (folder / path).write_bytes((base / path).read_bytes())
        command = ["patch", "-p1", "-s", "-f"]
        subprocess.run(command, input=patch.encode(), cwd=folder, capture_output=True, check=False)
        for node in sorted({str(node).partition("[")[0] for node in nodes}):
            path, *names = node.split("::")
            if (folder / path).is_file():
                code = code_of((folder / path).read_text("utf-8"), names)
                if code:
                    yield path, "::".join(names), code


def code_of(text: str, names: Sequence[str]) -> str:
    """Return the code of one test, with nothing but its class around it; "" when it is gone."""
    body: Sequence[ast.stmt] = ast.parse(text).body
    found: ast.stmt | None = None
    for name in names:
        found = next((node for node in body if getattr(node, "name", "") == name), None)
        body = getattr(found, "body", [])
    if not isinstance(found, ast.FunctionDef | ast.AsyncFunctionDef):
        return ""
    first = min([found.lineno, *(mark.lineno for mark in found.decorator_list)])
    code = textwrap.dedent("\n".join(text.split("\n")[first - 1 : found.end_lineno]))
    return code if len(names) == 1 else f"class {names[0]}:\n{textwrap.indent(code, '    ')}"


if __name__ == "__main__":
    sys.exit(main())
