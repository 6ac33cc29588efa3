"""What the agent sees of files, of the project, and of runs."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from pytest_brt.code.index import open_index
from pytest_brt.reproduce.agent.show import search, show
from pytest_brt.reproduce.agent.tools import log_of, overall, printed
from pytest_brt.types import Frame, Raised, TestRun, Verdict
from tests.support.outcomes import caused

LONG = "\n\n".join(f"def function_{n}(a):\n    return a + {n}" for n in range(200)) + "\n"


def words(text: str) -> int:
    return len(text.split())


def test_a_short_file_is_shown_as_it_is() -> None:
    assert show("a.py", "x = 1\n", 0, 100, words) == "x = 1"
    assert show("a.py", "", 0, 100, words) == "[the file is empty]"


def test_a_long_file_is_shown_in_part_with_where_the_rest_is() -> None:
    shown = show("a.py", LONG, 0, 200, words)
    assert shown.startswith("a.py, lines 1 to ")
    assert "\n4: def function_1\n" in shown
    assert "more; find them with code_search …]" in shown
    assert words(shown) <= 200
    assert 'look at one with "a.py:LINE"' in shown


def test_the_part_around_a_line_is_shown() -> None:
    shown = show("a.py", LONG, 301, 400, words)
    assert "def function_100(a):" in shown
    assert "go on with" not in show("a.py", "x = 1\n\n", 1, 100, words)
    assert "def function_90(a):" not in shown.partition("Definitions")[0]


def test_a_line_behind_the_end_is_no_error() -> None:
    assert "x = 1" in show("a.py", "x = 1\n", 99, 100, words)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "pkg").mkdir()
    (tmp_path / "pkg/__init__.py").write_text("from pkg.core import walk\n", "utf-8")
    (tmp_path / "pkg/core.py").write_text(
        "# walk is here\ndef walk(tree):\n    return tree.walk()\n", "utf-8"
    )
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests/test_core.py").write_text("def test_walk():\n    walk(1)\n", "utf-8")
    return tmp_path


def test_definitions_come_first_and_tests_last(project: Path) -> None:
    with open_index(project) as index:
        lines = search("walk()", index).split("\n")
    assert lines[0] == "pkg/core.py:2: def walk(tree):"
    assert lines[-1].startswith("tests/test_core.py:2:")
    assert "pkg/core.py:1: # walk is here" in lines


def test_a_decorated_definition_is_shown_by_its_name(project: Path) -> None:
    (project / "pkg/more.py").write_text("@deco(\n    1\n)\ndef run(x):\n    pass\n", "utf-8")
    with open_index(project) as index:
        assert search("run", index).split("\n")[0] == "pkg/more.py:4: def run(x):"


def test_code_is_found_as_it_stands(project: Path) -> None:
    with open_index(project) as index:
        assert search("return tree.walk()", index) == "pkg/core.py:3: return tree.walk()"


def test_a_part_of_a_word_is_found_where_the_word_is_not(project: Path) -> None:
    with open_index(project) as index:
        assert search("is he", index) == "pkg/core.py:1: # walk is here"
        assert search("tree.wal", index) == "pkg/core.py:3: return tree.walk()"


def test_a_file_with_many_hits_leaves_room_for_others(project: Path) -> None:
    (project / "pkg/a.py").write_text("walk = 1\n" * 30, "utf-8")
    with open_index(project) as index:
        lines = search("walk", index).split("\n")
    assert "pkg/a.py: 26 more lines" in lines
    assert any(line.startswith("tests/test_core.py:2:") for line in lines)


def test_nothing_found_is_said_with_names_like_it(project: Path) -> None:
    with open_index(project) as index:
        told = search("walkk", index)
        odd = search('"" (', index)
    assert "Nothing in the project has 'walkk'" in told
    assert "walk" in told.split("\n")[1]
    assert "Nothing in the project" in odd


def run(verdict: Verdict, node: str = "test_a", raised: Raised | None = None) -> TestRun:
    return TestRun(test="t", node=node, verdict=verdict, cause=caused(verdict), raised=raised)


def test_a_failure_says_what_and_where() -> None:
    frames = (Frame(path="tests/test_a.py", line=3, function="test_a"),)
    raised = Raised(type="builtins.ValueError", message="bad\nreally", frames=frames)
    told = log_of([run(Verdict.FAIL, raised=raised)])
    assert told == ("test_a: FAIL\nValueError: bad\nreally\n  at tests/test_a.py:3 in test_a")


def test_of_many_tests_those_that_fail_are_told() -> None:
    runs = [run(Verdict.PASS, f"test_{n}") for n in range(9)] + [run(Verdict.FAIL, "test_x")]
    told = log_of(runs)
    assert told.startswith("test_x: FAIL")
    assert "10 tests in the file, 9 pass." in told
    assert overall(runs) is Verdict.FAIL


def test_what_pytest_itself_prints_is_not_what_the_test_printed() -> None:
    report = (
        "F  [100%]\n===== FAILURES =====\n____ test_a ____\n    assert 1 == 2\n"
        "------ Captured stdout call ------\nseen 1\nseen x\n"
        "------ Captured stderr call ------\noops\n===== short test summary info =====\nFAILED"
    )
    assert printed(report) == "seen 1\nseen x\noops"
    assert printed("just words\n") == "just words"


CLASSES = "".join(
    f"class C{c}:\n" + "".join(f"    def m{m}(self):\n        return {m}\n\n" for m in range(40))
    for c in range(3)
)


def test_a_window_says_what_it_is_in_and_has_no_gap() -> None:
    shown = show("a.py", CLASSES, 125, 90, words)
    head, *rest, more = shown.split("\n")
    assert head.startswith("a.py, lines 12")
    assert more == f"[… go on with a.py:{int(head.split()[4]) + 1} …]"
    assert "class C1, lines 122 to " in head
    first = int(head.split()[2])
    assert rest == CLASSES.split("\n")[first - 1 : first - 1 + len(rest)]
    assert "Definitions" not in shown
    assert words(shown) <= 90


def test_a_definition_says_its_class_and_stands_once(project: Path) -> None:
    (project / "pkg/a.py").write_text("class A:\n    def go_on(self):\n        pass\n", "utf-8")
    with open_index(project) as index:
        assert search("go_on", index) == "pkg/a.py:2: def go_on(self):  [in A]"


def test_a_log_is_told_without_colours_warnings_and_names_that_are_not_known() -> None:
    frames = (Frame(path="tests/test_x_12ab.py", line=3, function="test_a"),)
    raised = Raised(type="AssertionError", message="\x1b[31massert 1\x1b[0m")
    seen = replace(
        run(Verdict.FAIL, raised=replace(raised, frames=frames)),
        output="\x1b[01mbuilding\x1b[39;49;00m /root/of/it/docs\n"
        "=== warnings summary ===\npkg/a.py:1\n  Deprecated\n-- Docs: x\n=== 1 failed in 1s ===",
    )
    told = log_of([seen], {"/root/of/it/": "", "tests/test_x_12ab.py": "tests/test_mine.py"})
    assert "\x1b" not in told
    assert "building docs" in told
    assert "Deprecated" not in told
    assert "at tests/test_mine.py:3" in told
