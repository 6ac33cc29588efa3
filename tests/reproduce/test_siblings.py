"""Overrides of what is suspected, and of what that calls, are shown as code."""

from __future__ import annotations

import ast
from collections.abc import Iterator

import pytest

from pytest_brt.code.index import Index, open_index
from pytest_brt.localise.suspects import Suspect
from pytest_brt.reproduce.siblings import siblings
from tests.trees import write_tree

FILES = {
    "pkg/__init__.py": "",
    "pkg/common.py": (
        "class Shaping:\n"
        "    def stack(self, *args):\n"
        "        return [arg.join(self) for arg in args]\n\n"
        "    def join(self, other):\n"
        "        return other\n\n"
        "    def flat(self):\n"
        "        return self\n"
    ),
    "pkg/sparse.py": (
        "from pkg.common import Shaping\n\n\n"
        "class Sparse(Shaping):\n"
        "    @classmethod\n"
        "    def join(self, other):\n"
        '        """Join.\n\n        Examples\n        """\n'
        "        # Empty ones.\n"
        "        return None\n\n"
        "    def flat(self):\n"
        "        return []\n\n\n"
        "class Empty(Shaping):\n"
        "    def flat(self):\n"
        '        """Nothing."""\n'
        "        raise NotImplementedError\n"
    ),
}


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Index]:
    root = tmp_path_factory.mktemp("siblings")
    write_tree(root, FILES)
    with open_index(root) as opened:
        yield opened


def suspect(function: str) -> Suspect:
    return Suspect(
        path="pkg/common.py", function=function, line=1, end_line=0, score=1.0, reasons=()
    )


def test_what_the_suspect_calls_is_followed_and_docstrings_are_left_out(index: Index) -> None:
    text = siblings((suspect("Shaping.stack"),), index, 1000)
    assert text == (
        "# pkg/sparse.py\nclass Sparse:\n    @classmethod\n    def join(self, other):\n"
        "        # Empty ones.\n        return None"
    )
    ast.parse(text)


def test_no_more_is_shown_than_there_is_room_for(index: Index) -> None:
    both = (suspect("Shaping.join"), suspect("Shaping.flat"))
    assert siblings(both, index, 1000).count("class Sparse:") == 2
    assert "def flat" in siblings(both, index, 90)
    assert "def join" not in siblings(both, index, 90)
    assert siblings((), index, 1000) == siblings((suspect(""),), index, 1000) == ""
