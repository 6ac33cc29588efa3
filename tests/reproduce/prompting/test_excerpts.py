"""The likeliest code is shown whole, of long code what counts, and what is not there is said."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_brt.code.index import Index, open_index
from pytest_brt.reproduce.prompting.excerpts import GAP, show_file, show_suspects, show_tests
from pytest_brt.types import Place
from tests.support.trees import write_tree

MODULE = '''\
"""About slugs."""
import re

LIMIT = 3


def first():
    return LIMIT


# What is no letter becomes a dash.
@lru_cache
def slugify(
    title,
    dash="-",
):
    """Make a slug."""
    return re.sub(r"\\W+", dash, title)


class Reader:
    """Reads."""

    kind = "plain"

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
    def test_dash_of_self(self):
        assert self.dash == self.slugify("dash")

    def test_umlauts(self):
        assert other_helper()
"""
LONG = "def far(parser):\n" + "".join(
    f"    # Option {n}.\n    parser.add('option_{n}')\n" for n in range(200)
)
FILES = {
    "slugs.py": MODULE,
    "far.py": f"{LONG}\n\ndef near(x):\n    return x\n",
    "told.py": 'def told(parser):\n    """Tell.\n\n'
    + "    All about the option.\n" * 60
    + '    """\n'
    + "".join(f"    if parser == {n}:\n        return option_{n}(parser)\n" for n in range(40)),
    "odd.py": "print 'x'\n",
    "table.py": "TABLE = {\n" + "".join(f'    "option_{n}": {n},\n' for n in range(99)) + "}\n",
    "tests/test_slugs.py": TESTS
    + "".join(f"\n\ndef test_{n}():\n    assert {n}\n" for n in range(200)),
    "tests/test_methods.py": "import unittest\n\n\nclass SlugTest(unittest.TestCase):\n"
    + "".join(
        f"    def test_{n}(self):\n        self.assertEqual({n}, self.n)\n" for n in range(99)
    ),
}


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Index]:
    root = tmp_path_factory.mktemp("shown")
    write_tree(root, FILES)
    with open_index(root) as opened:
        yield opened


def suspect(path: str, function: str) -> Place:
    return Place(path=path, function=function, line=1, end_line=0, score=1.0)


def test_a_definition_that_fits_is_shown_whole(index: Index) -> None:
    ((path, text),) = show_suspects([suspect("slugs.py", "slugify")], index, 3000, {})
    assert path == "slugs.py"
    assert text == MODULE[MODULE.index("# What") : MODULE.index("\n\n\nclass")] + f"\n{GAP}"


def test_a_method_stands_below_the_head_of_its_class(index: Index) -> None:
    ((_, text),) = show_suspects([suspect("slugs.py", "Reader.read")], index, 3000, {})
    assert text.split("\n") == [
        "class Reader:",
        f"    {GAP}",
        "    def read(self, path):",
        "        # Read it.",
        "        return open(path)",
        GAP,
    ]


def test_of_a_long_function_the_lines_around_the_report_s_words_are_shown(index: Index) -> None:
    places = [suspect("far.py", "far")]
    ((_, text),) = show_suspects(places, index, 2000, {"41": 1.0, "option": 0.1})
    assert text.startswith("def far(parser):\n")
    # With its comments, as they stand there.
    assert "    # Option 41.\n    parser.add('option_41')\n    # Option 42.\n" in text
    assert f"    {GAP}\n" in text
    assert len(text) <= 2000


def test_of_a_long_function_the_docstring_does_not_take_the_room(index: Index) -> None:
    ((_, text),) = show_suspects([suspect("told.py", "told")], index, 1000, {"option": 1.0})
    assert "All about the option" not in text
    assert "return option_7(parser)" in text


def test_of_a_long_table_the_rows_that_count_are_shown(index: Index) -> None:
    ((_, text),) = show_suspects([suspect("table.py", "")], index, 3000, {"option_41": 1.0})
    assert '    "option_41": 41,\n' in text
    assert "option_80" not in text


def test_the_likeliest_files_come_first(index: Index) -> None:
    places = [suspect("slugs.py", "first"), suspect("far.py", "near"), suspect("odd.py", "f")]
    assert [path for path, _ in show_suspects(places, index, 3000, {})] == ["slugs.py", "far.py"]
    assert [path for path, _ in show_suspects(places, index, 280, {})] == ["slugs.py"]
    assert show_suspects([suspect("gone.py", "f")], index, 3000, {}) == ()


WORTHS = {"dash": 2.0, "umlaut": 0.1}


def test_tests_come_with_what_they_use(index: Index) -> None:
    text = show_tests("tests/test_slugs.py", index, 420, WORTHS)
    assert text.startswith('CASES = ["a b"]\n')
    assert "def helper(title):\n    return slugify(title)" in text
    assert '@pytest.fixture\ndef dashed():\n    return "-"' in text
    assert "def test_slugify_dash" in text
    for other in ("other_helper", "import", "def test_199"):
        assert other not in text
    more = show_tests("tests/test_slugs.py", index, 1500, WORTHS, imports=True)
    assert more.startswith("import json\nimport pytest\nfrom slugs import slugify\n\n")
    assert "def other_helper():\n    return json.dumps(1)" in more
    assert "class TestReader:" in more


def test_methods_that_live_on_self_are_no_example(index: Index) -> None:
    assert "test_dash_of_self" not in show_tests("tests/test_slugs.py", index, 3000, WORTHS)
    assert show_tests("tests/test_methods.py", index, 3000, WORTHS) == ""


def test_a_file_that_fits_is_whole(index: Index) -> None:
    assert show_file("slugs.py", index, 5000, {}) == MODULE
    assert show_file("tests/test_slugs.py", index, 50_000, {}) == FILES["tests/test_slugs.py"]
    assert show_file("none.py", index, 5000, {}) == ""
    part = show_file("slugs.py", index, 300, {"dash": 1.0})
    assert 'return re.sub(r"\\W+", dash, title)' in part
    assert "open(path)" not in part


@given(
    st.sampled_from(["slugs.py", "far.py", "table.py", "tests/test_slugs.py"]),
    st.lists(st.sampled_from(["slugify", "Reader.read", "helper", "far", "Reader", "", "none.x"])),
    st.sampled_from([{}, {"dash": 1.0}, {"option": 1.0, "41": 3.0}]),
    st.integers(0, 3000),
)
def test_what_is_shown_are_lines_of_the_file_in_their_order(
    index: Index, path: str, names: list[str], worths: dict[str, float], room: int
) -> None:
    theirs = FILES[path].split("\n")
    for _, text in show_suspects([suspect(path, name) for name in names], index, room, worths):
        at = 0
        for line in text.split("\n"):
            if line and line.strip() != GAP:
                at = theirs.index(line, at) + 1
        assert len(text) <= room + 200
