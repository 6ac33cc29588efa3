"""Loops and other blocks that print: their whole output is a result like any other."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from pytest_brt.execute.engine import Engine
from pytest_brt.issue.load import read_issue
from pytest_brt.reproduce.replay.run import replay
from pytest_brt.types import Attempt, JudgedTest
from tests.reproduce.replay.project import make_project
from tests.support.projects import open_on

LOOP = "for n in (1, 2):\n    print('n', n, double(n))"
SHOWN = "n 1 3\nn 2 5"
RIGHT = "n 1 2\nn 2 4"
IMPORT = "from pkg import double\n"


@pytest.fixture(scope="module", params=["buggy", "fixed"])
def tree(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[bool, Engine]]:
    root = make_project(tmp_path_factory.mktemp("compound") / "project")
    fixed = request.param == "fixed"
    if fixed:
        core = root / "pkg" / "core.py"
        text = core.read_text(encoding="utf-8")
        core.write_text(text.replace("x + x + 1", "x + x"), encoding="utf-8")
    engine = open_on(root, seconds=20)
    yield fixed, engine
    engine.close()


def attempt(engine: Engine, text: str) -> Attempt:
    issue = read_issue(text, "issue.md")
    return replay(issue, engine=engine, repeat=1)


def candidates(made: Attempt) -> list[JudgedTest]:
    return [item for item in made.tests if item.judgement.candidate]


def code(*statements: str) -> str:
    return "It is off\n\n```python\n" + IMPORT + "\n".join(statements) + "\n```\n\n"


def block(label: str, text: str) -> str:
    return f"{label}:\n\n```text\n{text}\n```\n\n"


def both(shown: str = SHOWN, right: str = RIGHT) -> str:
    return block("This prints", shown) + block("Expected", right)


def test_a_print_among_other_calls_has_its_line(tree: tuple[bool, Engine]) -> None:
    fixed, engine = tree
    statements = ("x = []", "x.append(double(1))", "print(x)", "x.append(double(2))", "print(x)")
    made = attempt(engine, code(*statements) + block("Expected", "[2]\n[2, 4]"))
    ends = {(item.test.source or "").rpartition("assert ")[2].strip() for item in candidates(made)}
    assert ends == (set() if fixed else {'str(x) == "[2]"', 'str(x) == "[2, 4]"'})
