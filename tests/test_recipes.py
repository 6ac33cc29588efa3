"""The recipes of CONTRIBUTING.md, each followed in a copy of the package: its files, no more."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.reproduce.replay.project import make_project

ROOT = Path(__file__).parents[1]
ROW = """\
    RESULT_TYPE = ("type-of-result",)
"""
WORDS = """\
    OracleKind.RESULT_TYPE: "returns another type",
"""
RULE = '''\
"""Oracle about types: "should return a `str`"."""

import re

from pytest_brt.observe.forms import displays
from pytest_brt.oracle.write import Draft
from pytest_brt.types import OracleKind

_TYPE = re.compile(r"should return an? `(?P<type>str|int|float|list)`")


def result_type(view):
    """The result must be of the type that the report names."""
    named = _TYPE.search(view.issue.text)
    for index, seen in enumerate(view.seen):
        for shown in displays(seen)[:1] if named else ():
            yield Draft(
                kind=OracleKind.RESULT_TYPE,
                index=index,
                body=(f"assert isinstance({shown.expression}, {named['type']})",),
                sentence=f"`{shown.expression}` should return a {named['type']}.",
            )
'''
ASK_REPLAY = """\
import sys
from pathlib import Path
from pytest_brt.sandbox.available import open_sandbox
from pytest_brt.execute.engine import LocalEngine
from pytest_brt.execute.engine import Limits
from pytest_brt.execute.subject import find_subject
from pytest_brt.issue.load import read_issue
from pytest_brt.reproduce.replay.run import replay

sandbox = open_sandbox("auto")
subject = find_subject(Path(sys.argv[1]), python=sys.executable, env={}, sandbox=sandbox)
engine = LocalEngine(subject, sandbox, limits=Limits())
text = "double\\n\\n`double(2)` gives 5.\\n\\nIt should return a `str`.\\n"
try:
    tests = replay(read_issue(text, "issue.md"), engine=engine).tests
finally:
    engine.close()
best = next(item for item in tests if item.test.oracle.kind == "type-of-result")
print(best.judgement.candidate, best.judgement.reason)
print(best.test.source)
"""
STRATEGY = '''\
"""The report's own assertions, as they stand in its code."""

import textwrap

from pytest_brt.oracle.facts import read_facts
from pytest_brt.oracle.judge import Rating, judge, run_tests
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
    runs, facts = run_tests(tests, bench.engine, bench.repeat), read_facts(bench.reading(issue))
    likely = Rating(confidence=0.7)
    judged = [judge(test, runs[test.id], facts, lambda _run: likely) for test in tests]
    return Attempt(issue=issue.id, strategy="own", index=index, tests=tuple(judged))
'''
REPORT = """\
double

```python
from pkg.core import double

assert double(2) == 4
```
"""
TOOL = '''\
    @action()
    def list_comments(self, turn: Turn, path: A[File, "a file"]) -> Outcome:
        """List what the authors of a file wrote beside its code."""
        found = [line.strip() for line in turn.tree.lines(path) if "#" in line]
        return Outcome(observation="\\n".join(found) or "There is none.")

'''
USE_TOOL = """\
import sys
from pathlib import Path
from pytest_brt.repair.repairagent import run_repairagent
from tests.repair.scenes import MODULE, open_scene, scripted

replies = (
    '=== reply\\n{"thought": "a", "action": "express_hypothesis", "hypothesis": "low"}\\n'
    '=== reply\\n{"thought": "b", "action": "list_comments", "path": "%s"}\\n' % MODULE
)
folder = Path(sys.argv[1])
with open_scene(folder / "project") as scene:
    with (scene.root / MODULE).open("a") as file:
        file.write("# nobody tests this\\n")
    done = run_repairagent(0, scene.bench(scripted(folder, replies), steps=2))
    print(done.trajectory.steps[-1].observation)
"""
AGENT = '''\
"""An agent that guesses: it sees the report and a place, and writes fixes until one stands."""

from typing import Annotated as A

from pytest_brt.agent.action import Outcome, action, actions_of, describe
from pytest_brt.agent.loop import Turn, run_agent
from pytest_brt.agent.memory import conversation
from pytest_brt.model.base import Message, Role, Sampling
from pytest_brt.repair.bug import tell_places
from pytest_brt.repair.result import repair_of
from pytest_brt.repair.write_fix import BLOCKS, fix_outcome, try_fix
from pytest_brt.types import Finished


class Guesser:
    """Writes fixes."""

    def __init__(self, bench):
        self.bug = bench.bug
        self.actions = actions_of(self)

    def allowed(self, steps):
        return tuple(self.actions)

    def messages(self, steps, room, count):
        told = [self.bug.issue.text, tell_places(self.bug), describe(self.actions.values())]
        opening = (Message(role=Role.USER, text="\\n\\n".join(told)),)
        return conversation(opening, steps, room, count)

    @action(code=BLOCKS)
    def write_fix(self, turn: Turn, changes: A[str, "path replace 10-12"], code: tuple[str, ...]):
        """Change lines, and run the tests."""
        tried = fix_outcome(self.bug, try_fix(self.bug, changes, code))
        end = (Finished(),) if any(fix.stands for fix in tried.effects) else ()
        return Outcome(observation=tried.observation, effects=(*tried.effects, *end))


def run_guesser(index, bench):
    session = bench.session("guesser", index, steps=5, sampling=Sampling(seed=bench.seed))
    return repair_of(bench, "guesser", index, run_agent(Guesser(bench), session))
'''
USE_AGENT = """\
import sys
from pathlib import Path
from pytest_brt.repair.strategy import BUILT_IN
from tests.repair.scenes import LINE, MODULE, open_scene, scripted

fix = '{"thought": "b", "action": "write_fix", "changes": "%s replace %d"}' % (MODULE, LINE)
code = "    return max(low, min(value, high))"
replies = "=== reply\\n%s\\n```python\\n%s\\n```\\n" % (fix, code)
folder = Path(sys.argv[1])
with open_scene(folder / "project") as scene:
    done = BUILT_IN["guesser"].attempt(0, scene.bench(scripted(folder, replies)))
    print(done.trajectory.ending, [fix.plausible for fix in done.fixes])
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
    put(copy / "types/candidate.py", "    NO_RAISE = (", ROW)
    put(copy / "render/causes.py", '    OracleKind.NO_RAISE: "",\n', WORDS)
    rules = copy / "oracle/rules"
    (rules / "result_type.py").write_text(RULE, "utf-8")
    put(rules / "apply.py", "RULES = (\n", "from .result_type import result_type\n")
    put(rules / "apply.py", "    no_raise,\n", "    result_type,\n")
    out = run(copy, "-c", ASK_REPLAY, str(make_project(tmp_path / "project")))
    assert "True returns another type" in out
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
    assert "1 possibly reproduced" in out
    assert "+    assert double(2) == 4" in out


def test_an_action_is_a_method_and_its_state(copy: Path, tmp_path: Path) -> None:
    agent = copy / "repair/repairagent.py"
    put(agent, "    # -- testing --\n", TOOL)
    put(
        agent,
        '        "write_fix": State.TRY,\n        "read',
        '        "list_comments": State.TRY,\n',
    )
    put(
        agent,
        '        "write_fix": State.TRY,\n        "discard',
        '        "list_comments": State.COLLECT,\n',
    )
    assert run(copy, "-c", USE_TOOL, str(tmp_path)) == "# nobody tests this\n"


def test_an_agent_is_one_file_and_its_row(copy: Path, tmp_path: Path) -> None:
    (copy / "repair/guesser.py").write_text(AGENT, "utf-8")
    known = copy / "repair/strategy.py"
    put(known, '    "repairagent": Rep', '    "guesser": RepairStrategy(attempt=run_guesser),\n')
    put(
        known,
        "from pytest_brt.repair.passerine",
        "from pytest_brt.repair.guesser import run_guesser\n",
    )
    assert run(copy, "-c", USE_AGENT, str(tmp_path)) == "finish [True]\n"
