"""The recipe of CONTRIBUTING.md, followed in a copy of the package: three files, no more."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

from tests.reproduce.replay.project import make_project

PACKAGE = Path(__file__).parents[2] / "pytest_brt"
ROW = """\
    RESULT_TYPE = (
        "type-of-result", "returns_the_type", 0.9, "returns another type",
    )
"""
RULE = '''\
"""Oracle about types: "should return a `str`"."""

import re

from pytest_brt.observe.display import displays
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
                score=OracleKind.RESULT_TYPE.prior,
            )
'''
RUN = """\
import sys
from pathlib import Path
from pytest_brt.execute.launch import open_engine
from pytest_brt.execute.row import Limits
from pytest_brt.execute.subject import find_subject
from pytest_brt.issue import read_issue
from pytest_brt.reproduce.replay.run import replay

subject = find_subject(Path(sys.argv[1]), python=sys.executable, env={})
engine = open_engine(subject, sandbox="process", limits=Limits())
text = "double\\n\\n`double(2)` gives 5.\\n\\nIt should return a `str`.\\n"
try:
    best = replay(read_issue(text, "issue.md"), engine=engine).tests[0]
finally:
    engine.close()
print(best.judgement.reproduces, best.judgement.reason)
print(best.test.source)
"""


def test_an_oracle_is_a_row_a_rule_and_its_name(tmp_path: Path) -> None:
    copy = tmp_path / "copy" / "pytest_brt"
    shutil.copytree(PACKAGE, copy, ignore=shutil.ignore_patterns("__pycache__"))
    kinds = copy / "types" / "oracle.py"
    text = kinds.read_text("utf-8")
    kinds.write_text(text.replace("    # fmt: on\n", f"{ROW}    # fmt: on\n"), "utf-8")
    rules = copy / "oracle" / "rules"
    (rules / "result_type.py").write_text(RULE, "utf-8")
    text = (rules / "apply.py").read_text("utf-8")
    (rules / "apply.py").write_text(
        text.replace(
            "RULES = (", "from pytest_brt.oracle.rules.result_type import result_type\n\nRULES = ("
        ).replace("    no_raise,\n", "    no_raise,\n    result_type,\n"),
        "utf-8",
    )
    done = subprocess.run(
        [sys.executable, "-c", RUN, str(make_project(tmp_path / "project"))],
        cwd=copy.parent,
        env={"PYTHONPATH": str(copy.parent), "PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
        check=False,
        encoding="utf-8",
    )
    assert done.returncode == 0, done.stderr
    assert "True returns another type" in done.stdout
    assert "def test_double_returns_the_type():" in done.stdout
    assert "assert isinstance(double(2), str)" in done.stdout
