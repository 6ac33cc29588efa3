"""The nearest test file is the one whose tests use what is suspected."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from pytest_brt.localise.suspects import find_suspects, host_of, nearest_test_file
from pytest_brt.project.index import Index, open_index
from pytest_brt.report.load import read_issue
from tests.support.trees import write_tree

FILES = {
    "pkg/__init__.py": "",
    "pkg/entries.py": "class Entries:\n    def create_index(self):\n        return 1\n",
    "pkg/tree.py": "def grow(x):\n    return x\n",
    "tests/test_aaa.py": "from pkg import tree\n\n\ndef test_a():\n    assert tree.grow(1)\n",
    "tests/test_environment.py": (
        "from pkg.entries import Entries\n\n\n"
        "def test_first():\n    assert Entries().create_index() == 1\n\n\n"
        "def test_again():\n    assert Entries().create_index()\n"
    ),
    "tests/test_once.py": (
        "from pkg.entries import Entries\n\n\n"
        "def test_trees():\n    assert Entries().create_index() == 1\n"
    ),
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


@pytest.mark.parametrize(
    ("text", "path"),
    [
        # By what is called, in the title and in code, though no file is named after the suspect.
        ("`create_index` is wrong\n\nSee `test_first`.", "tests/test_environment.py"),
        ("`create_index` is wrong\n\nSee `test_trees`.", "tests/test_once.py"),
        # By name, and by use.
        ("`grow` is wrong\n\nIt is.", "tests/test_tree.py"),
    ],
)
def test_the_nearest_file(text: str, path: str, index: Index) -> None:
    assert nearest(text, index) == path


def test_without_any_sign_there_is_none(index: Index) -> None:
    assert nearest("zzz\n\nyyy", index) == ""


def test_the_file_in_which_a_test_fails_says_where_it_belongs(index: Index) -> None:
    source = "from pkg.entries import Entries\n\n\ndef test_bug():\n    Entries().create_index()\n"
    source += "    grow(1)\n"
    assert host_of(source, index) != "tests/test_tree.py"
    assert host_of(source, index, "pkg/tree.py") == "tests/test_tree.py"
