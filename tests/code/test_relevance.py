"""Rare terms, names and short passages say more than usual terms, bodies and long ones."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from pytest_brt.code.index import Index, open_index
from pytest_brt.code.relevance import files_about, relevance
from pytest_brt.code.words import terms_of
from tests.support.trees import write_tree

FILES = {
    "pkg/__init__.py": "",
    "pkg/checks.py": (
        "def check_for_b026(node):\n    return node.args\n\n\n"
        "def check_for_b907(node):\n    return node.values\n\n\n"
        "def long_one(node):\n    node.args\n" + "".join(f"    a{n} = b{n}\n" for n in range(60))
    ),
    "pkg/other.py": "def run(node):\n    return check(node)\n",
    "tests/test_checks.py": "def test_b026():\n    assert check('b026')\n",
    "docs/conf.py": "def check_for_b026(): ...\n",
}


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Index]:
    root = tmp_path_factory.mktemp("relevance")
    write_tree(root, FILES)
    with open_index(root) as opened:
        yield opened


def ranked(text: str, index: Index) -> list[str]:
    found = relevance(dict.fromkeys(terms_of(text), 1.0), index).passages
    order = sorted(found, key=lambda number: -found[number])
    return [index.passages[number].function for number in order]


def test_a_rare_term_comes_first(index: Index) -> None:
    assert ranked("check the node of B026", index)[0] == "check_for_b026"


def test_a_short_passage_comes_before_a_long_one(index: Index) -> None:
    order = ranked("args", index)
    assert order == ["check_for_b026", "long_one"]


def test_product_and_tests_are_apart(index: Index) -> None:
    assert files_about(["b026"], index, tests=False) == ["pkg/checks.py"]
    assert files_about(["b026"], index, tests=True) == ["tests/test_checks.py"]
    assert files_about(["zzz", '"', ""], index, tests=True) == []


def test_reasons_are_the_terms_that_say_most(index: Index) -> None:
    found = relevance({"node": 1.0, "b026": 1.0, "zzz": 9.0}, index)
    best = max(found.passages, key=lambda number: found.passages[number])
    assert found.reasons(best) == ("b026", "node")
    assert found.worths["b026"] > found.worths["node"] > 0
