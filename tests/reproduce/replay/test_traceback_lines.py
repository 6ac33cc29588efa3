"""Reports that show a traceback and no code: its lines are what is run."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from pytest_brt.execute.engine import Engine
from pytest_brt.issue import read_issue
from pytest_brt.observe.project import is_project_path
from pytest_brt.reading.entry import entry_lines
from pytest_brt.reading.mend import mended_line
from pytest_brt.reproduce.replay.run import ReplaySettings, replay
from pytest_brt.types import JudgedTest, OracleKind
from tests.reproduce.replay.project import open_project

_INSIDE = (
    '  File "/home/me/venv/lib/python3.11/site-packages/pkg/core.py", line 6, in first\n'
    "    return _take(items, 0)\n"
    '  File "/home/me/venv/lib/python3.11/site-packages/pkg/core.py", line 10, in _take\n'
    "    return items[place]\n"
    "           ~~~~~^^^^^^^\n"
    "IndexError: list index out of range\n"
)


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    opened = open_project(tmp_path_factory.mktemp("lines") / "project")
    yield opened
    opened.close()


def report(*frames: tuple[str, str], inside: str = _INSIDE) -> str:
    """Return a report of nothing but a traceback with `frames` of the user, outermost first."""
    shown = "".join(
        f'  File "/home/me/pkg/run.py", line 7, in {function}\n    {code}\n'
        for function, code in frames
    )
    return (
        f"Crash on nothing\n\n```\nTraceback (most recent call last):\n{shown}{inside}```\n"
        "It worked in 0.9.\n"
    )


def found(engine: Engine, text: str) -> list[JudgedTest]:
    issue = read_issue(text, "issue.md")
    made = replay(issue, engine=engine, settings=ReplaySettings(repeat=1))
    return [item for item in made.tests if item.judgement.candidate]


@pytest.mark.parametrize(
    "frames",
    [
        [("<module>", "print first([])")],
        [("<module>", "n = first([])")],
        [("<module>", "a, b = first([])[:2]")],
        [("<module>", "main()"), ("main", "first([])")],
        [("<module>", "main()"), ("main", "print(first([]))")],
        [("<module>", "go(3)"), ("go", "return first([])")],
        [("go", "n = first([])")],
    ],
    ids=lambda frames: frames[-1][1],
)
def test_the_line_that_calls_the_project_is_run(
    engine: Engine, frames: list[tuple[str, str]]
) -> None:
    best = found(engine, report(*frames))[0]
    assert best.test.oracle.kind is OracleKind.NO_RAISE
    assert "first([])" in (best.test.source or "").split('"""')[-1]
    assert best.judgement.confidence > 0.6  # exception and message are those shown


@pytest.mark.parametrize(
    "frames",
    [
        [("main", "n = first(rows)")],  # a variable that nobody knows
        [("<module>", "first([]"), ("main", "first(")],  # parts of statements
        [("main", "for row in rows:")],
        [],  # nothing but the project's own lines
        [("<module>", "n = 3")],
    ],
    ids=["unknown name", "part", "header", "project alone", "no call"],
)
def test_other_lines_make_no_test(engine: Engine, frames: list[tuple[str, str]]) -> None:
    assert found(engine, report(*frames)) == []


def test_another_exception_than_the_one_shown_makes_no_test(engine: Engine) -> None:
    inside = _INSIDE.replace("IndexError: list index out of range", "OSError: no such device")
    made = found(engine, report(("main", "print first([])"), inside=inside))
    assert all(item.judgement.confidence < 0.2 for item in made)


def test_a_function_s_line_is_not_run_beside_code_of_the_report() -> None:
    text = report(("main", "n = first([])"))
    assert entry_lines(text, lambda path: "site-packages" in path, alone=False) == ()


def test_the_last_stack_of_a_chain_is_the_callers() -> None:
    text = report(("main", "n = first(1)")) + report(("main", "n = first(2)"))
    lines = entry_lines(text, lambda path: "site-packages" in path, alone=True)
    assert [line.source for line in lines] == ["n = first(2)"]


def test_the_folder_of_a_clone_is_not_the_package(engine: Engine) -> None:
    assert is_project_path("/usr/lib/site-packages/pkg/core.py", engine.subject)
    assert is_project_path("C:\\Lib\\site-packages\\pkg\\core.py", engine.subject)
    assert not is_project_path("/home/me/pkg/run.py", engine.subject)
    assert not is_project_path("/home/me/core.py", engine.subject)


@pytest.mark.parametrize(
    ("line", "source"),
    [
        ("print f(1), 2", "print(f(1), 2)"),
        ("x = f(“a”)", 'x = f("a")'),
        ("f(", ""),
        ("f(1))", ""),
        ("else:", ""),
        ("a(); b()", ""),
        ("", ""),
    ],
)
def test_a_line_is_mended_but_never_made_up(line: str, source: str) -> None:
    assert mended_line(line) == source
