"""What is lost between a model's right reply and a test that runs: true tests as its replies.

    python bench/placing.py INDEX --bugs FILE --out FOLDER [--brt COMMAND]

INDEX is as in `bugs.py`; FILE holds the same reports as lines of JSON with `test_patch` and
`FAIL_TO_PASS` (SWE-bench's format). Of each report up to --most true tests are taken out of the
fix's test files, without the imports, helpers and fixtures of those files, as a model would write
them that sees nothing but the report. A server on loopback gives them as the replies of a model to
the strategy `libro`, and the true fix is the only patch.

Printed are, for each report, what became of its tests, and at the end one JSON object: tests, and
the shares of them that are held to be a bug test (candidate), of which the tool says so and which
pass with the fix (f2p), and that go to the file the true fix has them in (host). Tests of a fix
that brings other files with it than tests are left out.
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

from bugs import FIX, Bug, add_options, each, read_bugs, run

from tests.scenarios.server import Model, serving


@dataclass(frozen=True, slots=True, kw_only=True)
class TrueTest:
    """A test of the true fix, as a model would write it."""

    path: str
    name: str
    code: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Placed:
    """What became of one true test."""

    f2p: bool
    candidate: bool
    host: bool


def main() -> int:
    """Place the tests of every report of the indexes, and print the shares."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add_options(parser)
    parser.add_argument("--bugs", type=Path, required=True, help="the true tests")
    parser.add_argument("--most", type=int, default=2, help="true tests of each report")
    arguments = parser.parse_args()
    lines = map(json.loads, arguments.bugs.read_text("utf-8").splitlines())
    data = {one["instance_id"]: one for one in lines}
    bugs = [bug for bug in read_bugs(arguments) if bug.name in data]
    placed: list[Placed] = []
    for bug, found in each(
        bugs, arguments.jobs, lambda bug: list(_place(bug, data[bug.name], arguments))
    ):
        placed += found
        counts = (f"{key} {sum(getattr(one, key) for one in found)}" for key in _KEYS)
        print(f"{bug.name:40} of {len(found)}: {', '.join(counts)}", flush=True)
    total = max(1, len(placed))
    shares = {
        key: round(sum(getattr(one, key) for one in placed) / total, 3) for key in _KEYS
    }
    print(json.dumps({"tests": len(placed), **shares}))
    return 0 if placed else 1


_KEYS = ("f2p", "candidate", "host")


def _place(
    bug: Bug, data: Mapping[str, object], arguments: argparse.Namespace
) -> Iterator[Placed]:
    """Yield what becomes of each true test of a bug, given as a model's only reply."""
    fix = arguments.out / "fixes" / bug.name / FIX
    if not fix.exists():
        fix.parent.mkdir(parents=True, exist_ok=True)
        fix.write_text(bug.fix(), "utf-8")
    for number, test in enumerate(list(true_tests(bug.base, data))[: arguments.most]):
        with serving(Model([f"```python\n{test.code}\n```"], judge={})) as model:
            words = ["issue", str(bug.issue), "--rank", str(fix.resolve()), "--guard", "no"]
            words += ["--strategy", "libro", "--samples", "1"]
            words += [f"--model=server:http://127.0.0.1:{model.port}"]
            report = run(bug, arguments, *words, kind=f"placing-{number}").report
        tests = report.tests if report else ()
        if not report or not tests:
            yield Placed(f2p=False, candidate=False, host=False)
            continue
        results = report.rankings[0].patches[0].results if report.rankings else {}
        made = tests[0]
        yield Placed(
            f2p=made.result == "FAIL" and results.get(made.name) == "PASS",
            candidate=made.fails,
            host=test.path in (made.host, made.path),
        )


def true_tests(base: Path, data: Mapping[str, object]) -> Iterator[TrueTest]:
    """Yield the tests that the true fix makes pass."""
    wanted = data["FAIL_TO_PASS"]
    nodes = json.loads(wanted) if isinstance(wanted, str) else list(wanted)  # type: ignore[call-overload]
    patch = str(data["test_patch"])
    touched = [
        line[6:].split("\t")[0] for line in patch.split("\n") if line.startswith("+++ b/")
    ]
    if any(not path.endswith(".py") or "/roots/" in path for path in touched):
        return
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for path in touched:
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            if (base / path).is_file():
                (folder / path).write_bytes((base / path).read_bytes())
        command = ["patch", "-p1", "-s", "-f"]
        subprocess.run(
            command, input=patch.encode(), cwd=folder, capture_output=True, check=False
        )
        for node in sorted({str(node).partition("[")[0] for node in nodes}):
            path, *names = node.split("::")
            if (folder / path).is_file():
                code = code_of((folder / path).read_text("utf-8"), names)
                if code:
                    yield TrueTest(path=path, name="::".join(names), code=code)


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
    return (
        code if len(names) == 1 else f"class {names[0]}:\n{textwrap.indent(code, '    ')}"
    )


if __name__ == "__main__":
    sys.exit(main())
