"""The nearest test file is the one whose tests use what is suspected."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from pytest_brt.localise.suspects import find_suspects, host_of, nearest_test_file
from pytest_brt.project.index import Index, open_index
from pytest_brt.report.load import read_issue
from tests.support.trees import write_tree

ENTRIES = "from pkg.entries import Entries\n\n\n"
FILES = {
    "pkg/__init__.py": "",
    "pkg/entries.py": "class Entries:\n    def create_index(self):\n        return 1\n",
    "pkg/tree.py": "def grow(x):\n    return x\n",
    "tests/test_aaa.py": "from pkg import tree\n\n\ndef test_a():\n    assert tree.grow(1)\n",
    "tests/test_environment.py": ENTRIES
    + "def test_first():\n    assert Entries().create_index() == 1\n\n\n"
    + "def test_again():\n    assert Entries().create_index()\n",
    "tests/test_once.py": ENTRIES + "def test_trees():\n    assert Entries().create_index() == 1\n",
    "tests/test_tree.py": "from pkg.tree import grow\n\n\ndef test_grow():\n    assert grow(1)\n",
    "tests/test_cli.py": 'def test_cli():\n    assert run("--dry-run")\n',
    "tests/helpers.py": "def create_index():\n    pass\n",
}


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Index]:
    root = tmp_path_factory.mktemp("nearest")
    write_tree(root, FILES)
    with open_index(root) as opened:
        yield opened


def nearest(text: str, index: Index) -> str:
    issue = read_issue(text, "-")
    return nearest_test_file(issue, index, find_suspects(issue, index))


def test_the_nearest_file(index: Index) -> None:
    """By what is called, in the title and in code, though no file is named after the suspect."""
    called = "`create_index` is wrong\n\nSee `{}`."
    assert nearest(called.format("test_first"), index) == "tests/test_environment.py"
    assert nearest(called.format("test_trees"), index) == "tests/test_once.py"
    assert nearest("`grow` is wrong\n\nIt is.", index) == "tests/test_tree.py", "by name, and use"


def test_without_any_sign_there_is_none(index: Index) -> None:
    assert nearest("zzz\n\nyyy", index) == ""


def test_the_file_in_which_a_test_fails_says_where_it_belongs(index: Index) -> None:
    source = f"{ENTRIES}def test_bug():\n    Entries().create_index()\n    grow(1)\n"
    assert host_of(source, index) != "tests/test_tree.py"
    assert host_of(source, index, "pkg/tree.py") == "tests/test_tree.py"
