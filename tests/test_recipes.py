"""The recipes of CONTRIBUTING.md, each followed in a copy of the package: its files, no more."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.reproduce.project import make_project

ROOT = Path(__file__).parents[1]
ROW = """\
    RESULT_TYPE = "type-of-result"
"""
RULE = '''\
"""Oracle about types: "should return a `str`"."""

import re

from pytest_brt.observe.run_snippets import result_of
from pytest_brt.oracle.draft import Draft
from pytest_brt.types import OracleKind

_TYPE = re.compile(r"should return an? `(?P<type>str|int|float|list)`")


def result_type(observed, one):
    """The result must be of the type that the report names."""
    named = _TYPE.search(observed.reading.issue.text)
    if named and (shown := result_of(one)):
        yield Draft(
            kind=OracleKind.RESULT_TYPE,
            body=(f"assert isinstance({shown.expression}, {named['type']})",),
            sentence=f"`{shown.expression}` should return a {named['type']}.",
        )
'''
ASK_REPLAY = """\
import sys
from pathlib import Path
from pytest_brt.sandbox.sandbox import open_sandbox
from pytest_brt.sandbox.run_tests import Runner
from pytest_brt.sandbox.process import Limits
from pytest_brt.subject import find_subject
from pytest_brt.report.load import read_issue
from pytest_brt.reproduce.replay import attempt
from pytest_brt.reproduce.strategy import Workbench

sandbox = open_sandbox("auto")
subject = find_subject(Path(sys.argv[1]), python=sys.executable, env={}, sandbox=sandbox)
engine = Runner(subject, sandbox, limits=Limits())
text = "double\\n\\n`double(2)` gives 5.\\n\\nIt should return a `str`.\\n"
try:
    bench = Workbench(engine=engine, model=None, say=lambda _: None)
    tests = attempt(read_issue(text, "issue.md"), 0, bench).tests
finally:
    engine.close()
best = next(item for item in tests if item.test.oracle.kind == "type-of-result")
print("candidate:", best.judgement.candidate)
print(best.test.source)
"""
STRATEGY = '''\
"""The report's own assertions, as they stand in its code."""

import textwrap

from pytest_brt.oracle.judge import judge, run_tests
from pytest_brt.types import Attempt, BlockKind, CandidateTest, Oracle, OracleKind, Origin


def attempt(issue, index, bench):
    """Make a test of each block of code that asserts something."""
    asserting = [b for b in issue.blocks if b.kind is BlockKind.PYTHON and "assert " in b.text]
    tests = [
        CandidateTest(
            id=f"own-{block.line}",
            name=f"test_line_{block.line}",
            issue=issue.id,
            origin=Origin(strategy="own"),
            oracle=Oracle(kind=OracleKind.WRITTEN, sentence="The report asserts it."),
            path=f"tests/test_line_{block.line}.py",
            source=f"def test_line_{block.line}():\\n{textwrap.indent(block.text, '    ')}\\n",
        )
        for block in asserting
    ]
    runs, facts = run_tests(tests, bench.engine, bench.repeat), bench.facts(issue)
    judged = [judge(test, runs[test.id], facts, confidence=0.7) for test in tests]
    return Attempt(issue=issue.id, strategy="own", index=index, tests=tuple(judged))
'''
REPORT = """\
double

```python
from pkg.core import double

assert double(2) == 4
```
"""


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """Return a copy of the package."""
    skip = shutil.ignore_patterns("__pycache__")
    return Path(shutil.copytree(ROOT / "pytest_brt", tmp_path / "copy/pytest_brt", ignore=skip))


def put(file: Path, before: str, line: str) -> None:
    """Add a line above another one of a file."""
    text = file.read_text("utf-8")
    assert text.count(before) == 1, f"{before!r} in {file.name}"
    file.write_text(text.replace(before, f"{line}{before}"), "utf-8")


def run(copy: Path, *command: str) -> str:
    """Return what Python prints with the copy in place of the package."""
    done = subprocess.run(
        [sys.executable, *command],
        cwd=copy.parent,
        env={"PYTHONPATH": f"{copy.parent}:{ROOT}", "PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
        check=False,
        encoding="utf-8",
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_an_oracle_is_a_row_a_rule_and_its_name(copy: Path, tmp_path: Path) -> None:
    put(copy / "types/test.py", "    NO_RAISE = ", ROW)
    oracles = copy / "oracle"
    (oracles / "result_type.py").write_text(RULE, "utf-8")
    put(oracles / "oracles.py", "ORACLES = (", "from .result_type import result_type\n")
    put(oracles / "oracles.py", "does_not_raise, gives_stated_value, must", "result_type, ")
    out = run(copy, "-c", ASK_REPLAY, str(make_project(tmp_path / "project")))
    assert "candidate: True" in out
    assert "def test_double_2():" in out, "another was right more often"
    assert "assert isinstance(double(2), str)" in out


def test_a_strategy_is_a_function_and_its_row(copy: Path, tmp_path: Path) -> None:
    (copy / "reproduce/own.py").write_text(STRATEGY, "utf-8")
    known = copy / "reproduce/registry.py"
    put(known, '    "auto": Strategy(', '    "own": Strategy(attempt=attempt),\n')
    put(known, "#: By name. Replay", "from pytest_brt.reproduce.own import attempt\n\n")
    project = make_project(tmp_path / "project")
    (project / "issue.md").write_text(REPORT, "utf-8")
    options = ("--rootdir", str(project), "--brt-sandbox=auto", "--brt-python", sys.executable)
    asked = ("--brt-issue", str(project / "issue.md"), "--brt-strategy=own", "-v")
    out = run(copy, "-m", "pytest", *options, *asked)
    assert "Possibly reproduced: " in out
    assert "+    assert double(2) == 4" in out
