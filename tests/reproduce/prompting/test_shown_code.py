"""The likeliest code is shown whole, and what is not there is said."""

from __future__ import annotations

import ast
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_brt.code.index import Index, open_index
from pytest_brt.reproduce.prompting.shown_code import (
    Page,
    show,
    show_file,
    show_suspects,
    show_tests,
)
from pytest_brt.types import Place
from tests.support.trees import write_tree

MODULE = '''\
"""About slugs."""
import re

TABLE = {
    "one": 1,
    "two": 2,
    "three": 3,
    "four": 4,
    "five": 5,
    "six": 6,
    "seven": 7,
}
LIMIT = 3


def first():
    return LIMIT


def slugify(
    title,
    dash="-",
):
    # What is no letter becomes a dash.
    """Make a slug."""
    return re.sub(r"\\W+", dash, title)


class Reader:
    """Reads."""

    kind = "plain"

    @property
    def umlauts(self):
        return "äöü"

    def read(self, path):
        # Read it.
        return open(path)

    def close(self):
        pass
'''
TESTS = """\
import json
import pytest
from slugs import slugify

CASES = ["a b"]


def helper(title):
    return slugify(title)


def other_helper():
    return json.dumps(1)


@pytest.fixture
def dashed():
    return "-"


@pytest.mark.parametrize("dash", CASES)
def test_slugify_dash(dash, dashed):
    assert helper("a b") == "a-b"


class TestReader:
    def test_umlauts(self):
        assert other_helper()

    def test_path(self):
        assert 2
"""
LONG = "def far(parser):\n" + "".join(
    f'    parser.add("option_{n}", help="{n}")\n' for n in range(200)
)
FILES = {
    "slugs.py": MODULE,
    "far.py": f"{LONG}\n\ndef near(x):\n    return x\n",
    "odd.py": "print 'x'\n",
    "table.py": "TABLE = {\n"
    + "".join(f'    "option_{n}": {n},\n' for n in range(99))
    + "}\nsize = 9\n",
    "tests/test_slugs.py": TESTS
    + "".join(f"\n\ndef test_{n}():\n    assert {n}\n" for n in range(200)),
}


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Index]:
    root = tmp_path_factory.mktemp("shown")
    write_tree(root, FILES)
    with open_index(root) as opened:
        yield opened


def suspect(path: str, function: str) -> Place:
    return Place(path=path, function=function, line=1, end_line=0, score=1.0)


def test_a_suspect_is_whole_and_its_neighbours_are_heads(index: Index) -> None:
    ((path, text),) = show_suspects([suspect("slugs.py", "Reader.read")], index, 3000, {})
    assert path == "slugs.py"
    assert "        # Read it.\n        return open(path)" in text
    assert "    @property\n    def umlauts(self):\n        ..." in text
    assert "    def close(self):\n        ..." in text
    assert "slugify" not in text
    assert "class Reader:" in text
    ast.parse(text)


def test_a_class_is_its_own_lines_and_the_heads_of_its_methods(index: Index) -> None:
    ((_, text),) = show_suspects([suspect("slugs.py", "Reader")], index, 3000, {"kind": 1.0})
    assert '    kind = "plain"' in text
    assert "    def read(self, path):\n        ..." in text
    assert "# Read it." not in text
    ast.parse(text)


def test_a_small_rest_of_a_module_is_shown_whole(index: Index) -> None:
    ((_, text),) = show_suspects([suspect("slugs.py", "")], index, 3000, {})
    assert '    "three": 3,\n' in text
    assert text.endswith("LIMIT = 3\n# …")


def test_of_a_long_table_the_lines_that_count_are_told(index: Index) -> None:
    worths = {"option_41": 1.0, "size": 0.1}
    ((_, text),) = show_suspects([suspect("table.py", "")], index, 3000, worths)
    assert text == '# TABLE = {\n# "option_41": 41,\nsize = 9'


def test_of_a_function_that_is_too_long_the_statements_that_count_are_shown(index: Index) -> None:
    ((_, text),) = show_suspects(
        [suspect("far.py", "far")], index, 2000, {"41": 1.0, "option": 0.1}
    )
    assert 'parser.add("option_41", help="41")' in text
    assert "    # …" in text
    assert len(text) <= 2000
    ast.parse(text)


def test_the_likeliest_files_come_first(index: Index) -> None:
    places = [suspect("slugs.py", "first"), suspect("far.py", "near"), suspect("odd.py", "")]
    shown = show_suspects(places, index, 3000, {})
    assert [path for path, _ in shown] == ["slugs.py", "far.py"]
    only = show_suspects(places, index, 300, {})
    assert [path for path, _ in only] == ["slugs.py"]


def test_tests_come_with_what_they_use(index: Index) -> None:
    text = show_tests("tests/test_slugs.py", index, 700, {"dash": 2.0, "umlaut": 0.1})
    assert text.startswith('import pytest\nfrom slugs import slugify\nCASES = ["a b"]\n')
    assert "def helper(title):\n    return slugify(title)" in text
    assert '@pytest.fixture\ndef dashed():\n    return "-"' in text
    assert "def test_slugify_dash" in text
    assert "other_helper" not in text
    assert "def test_199" not in text
    ast.parse(text)
    more = show_tests("tests/test_slugs.py", index, 1500, {"dash": 2.0, "umlaut": 0.1})
    assert "import json\n" in more
    assert "def other_helper():\n    return json.dumps(1)" in more
    assert "class TestReader:\n\n    def test_umlauts(self):" in more


def test_a_short_file_is_whole(index: Index) -> None:
    assert show_file("slugs.py", index, 5000, {}) == MODULE
    assert show_file("none.py", index, 5000, {}) == ""
    part = show_file("slugs.py", index, 400, {"dash": 1.0})
    assert 'return re.sub(r"\\W+", dash, title)' in part
    assert "open(path)" not in part


@given(
    st.sampled_from([MODULE, TESTS, FILES["far.py"]]),
    st.lists(st.sampled_from(["slugify", "Reader.read", "helper", "far", "Reader", "", "none.x"])),
    st.sampled_from([{}, {"dash": 1.0}, {"option": 1.0, "41": 3.0}]),
    st.integers(0, 3000),
    st.booleans(),
)
def test_whatever_is_shown_is_python(
    module: str, names: list[str], worths: dict[str, float], room: int, tests: bool
) -> None:
    page = Page.of(module)
    show(names, page, room, worths, tests=tests)
    ast.parse(page.text())
