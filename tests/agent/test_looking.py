"""What an agent sees of files and of the project."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_brt.agent.excerpt import Room
from pytest_brt.agent.lines import show_file
from pytest_brt.agent.search import search_code
from pytest_brt.agent.tree import Tree
from pytest_brt.code.index import Index, open_index
from pytest_brt.types import FileChange

LONG = "\n\n".join(f"def function_{n}(a):\n    return a + {n}" for n in range(200)) + "\n"


def words(text: str) -> int:
    return len(text.split())


def show(place: str, text: str, most: int) -> str:
    change = FileChange(path="a.py", content=text.encode())
    tree = Tree(root=Path(), files=frozenset(), changed={"a.py": change})
    return show_file(tree, place, Room(most=most, count=words))


def search(text: str, index: Index, root: Path) -> str:
    return search_code(Tree(root=root, files=index.layout.files), index, text)


def test_a_short_file_is_shown_as_it_is() -> None:
    assert show("a.py", "x = 1\n", 100) == "    1| x = 1"
    assert show("a.py", "", 100) == "[the file is empty]"


def test_a_long_file_is_shown_in_part_with_where_the_rest_is() -> None:
    shown = show("a.py", LONG, 200)
    assert shown.startswith("a.py, lines 1 to ")
    assert "\n4: def function_1\n" in shown
    assert "more; find them with code_search …]" in shown
    assert words(shown) <= 200
    assert 'look at one with "a.py:LINE"' in shown


def test_the_part_around_a_line_is_shown() -> None:
    shown = show("a.py:301", LONG, 400)
    assert "def function_100(a):" in shown
    assert "go on with" not in show("a.py:1", "x = 1\n", 100)
    assert "def function_90(a):" not in shown.partition("Definitions")[0]


def test_a_line_behind_the_end_is_no_error() -> None:
    assert "x = 1" in show("a.py:99", "x = 1\n", 100)


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
        lines = search("walk()", index, project).split("\n")
    assert lines[0] == "pkg/core.py:2: def walk(tree):"
    assert lines[-1].startswith("tests/test_core.py:2:")
    assert "pkg/core.py:1: # walk is here" in lines


def test_a_decorated_definition_is_shown_by_its_name(project: Path) -> None:
    (project / "pkg/more.py").write_text("@deco(\n    1\n)\ndef run(x):\n    pass\n", "utf-8")
    with open_index(project) as index:
        assert search("run", index, project).split("\n")[0] == "pkg/more.py:4: def run(x):"


def test_code_is_found_as_it_stands(project: Path) -> None:
    with open_index(project) as index:
        assert search("return tree.walk()", index, project) == "pkg/core.py:3: return tree.walk()"


def test_a_part_of_a_word_is_found_where_the_word_is_not(project: Path) -> None:
    with open_index(project) as index:
        assert search("is he", index, project) == "pkg/core.py:1: # walk is here"
        assert search("tree.wal", index, project) == "pkg/core.py:3: return tree.walk()"


def test_a_file_with_many_hits_leaves_room_for_others(project: Path) -> None:
    (project / "pkg/a.py").write_text("walk = 1\n" * 30, "utf-8")
    with open_index(project) as index:
        lines = search("walk", index, project).split("\n")
    assert "pkg/a.py: 26 more lines" in lines
    assert any(line.startswith("tests/test_core.py:2:") for line in lines)


def test_nothing_found_is_said_with_names_like_it(project: Path) -> None:
    with open_index(project) as index:
        told = search("walkk", index, project)
        odd = search('"" (', index, project)
    assert "Nothing in the project has 'walkk'" in told
    assert "walk" in told.split("\n")[1]
    assert "Nothing in the project" in odd


CLASSES = "".join(
    f"class C{c}:\n" + "".join(f"    def m{m}(self):\n        return {m}\n\n" for m in range(40))
    for c in range(3)
)


def test_a_window_says_what_it_is_in_and_has_no_gap() -> None:
    shown = show("a.py:125", CLASSES, 90)
    head, *rest, more = shown.split("\n")
    assert head.startswith("a.py, lines 12")
    assert more == f"[… go on with a.py:{int(head.split()[4]) + 1} …]"
    assert "class C1, lines 122 to " in head
    first = int(head.split()[2])
    assert [line[7:] for line in rest] == CLASSES.split("\n")[first - 1 : first - 1 + len(rest)]
    assert "Definitions" not in shown
    assert words(shown) <= 90


def test_a_definition_says_its_class_and_stands_once(project: Path) -> None:
    (project / "pkg/a.py").write_text("class A:\n    def go_on(self):\n        pass\n", "utf-8")
    with open_index(project) as index:
        assert search("go_on", index, project) == "pkg/a.py:2: def go_on(self):  [in A]"


def test_a_few_hits_in_tests_stand_below_those_in_the_product(project: Path) -> None:
    for number in range(9):
        (project / f"tests/test_{number}.py").write_text("walk = 1\n" * 3, "utf-8")
    with open_index(project) as index:
        lines = search("walk", index, project).split("\n")
    tests = [line for line in lines if line.startswith("tests/")]
    assert len(tests) == 6
    assert lines[0].startswith("pkg/core.py:2:")
    assert "more lines; search for something more exact" in lines[-1]


def test_of_a_sentence_the_identifiers_are_looked_for(project: Path) -> None:
    (project / "pkg/more.py").write_text("def go_on(x):\n    pass\n", "utf-8")
    with open_index(project) as index:
        found = search("where does the walker call go_on for a tree", index, project)
    assert found == "pkg/more.py:1: def go_on(x):"


def test_what_a_step_changed_is_searched_as_it_is_now(project: Path) -> None:
    with open_index(project) as index:
        change = FileChange(path="pkg/core.py", content=b"def stroll(tree):\n    pass\n")
        tree = Tree(root=project, files=index.layout.files, changed={change.path: change})
        assert search_code(tree, index, "stroll") == "pkg/core.py:1: def stroll(tree):"
        assert "core.py:" not in search_code(tree, index, "walk(tree)")
