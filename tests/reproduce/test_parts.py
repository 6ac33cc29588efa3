"""Of a long file, what has to do with the report is shown, and what is not there is said."""

from __future__ import annotations

import ast
import re

from hypothesis import given
from hypothesis import strategies as st

from pytest_brt.reproduce.outline import one_gap
from pytest_brt.reproduce.parts import parts_of

MODULE = '''\
"""About slugs."""
import re

TABLE = {
    1: 1,
    2: 2,
    3: 3,
    4: 4,
}
LIMIT = 3


def slugify(
    title,
    dash="-",
):
    # What is no letter becomes a dash.
    """Make a slug."""
    return re.sub(r"\\W+", dash, title)


class Reader:
    """Reads."""

    kind = "x"

    @property
    def umlauts(self):
        return "äöü"

    def read(self, path):
        # Read it.
        return open(path)
'''
TESTS = """\
import pytest
from slugs import slugify


def helper(title):
    return slugify(title)


def other_helper():
    return 1


@pytest.mark.parametrize("dash", ["-"])
def test_slugify_dash(dash):
    assert helper("a b") == "a-b"


class TestReader:
    def test_umlauts(self):
        assert other_helper()

    def test_path(self):
        assert 2
"""


def test_suspects_are_shown_in_full_and_others_by_their_head() -> None:
    text = parts_of(MODULE, wanted={"Reader.read"}, about="", most=400, tests=False)
    assert "        # Read it.\n        return open(path)" in text
    assert 'def slugify(\n    title,\n    dash="-",\n):\n    ...' in text
    assert "    def umlauts(self):\n        ..." in text
    assert "TABLE = " not in text
    assert "import re\n# … TABLE\nLIMIT = 3" in text
    ast.parse(text)


def test_what_shares_words_with_the_report_is_shown() -> None:
    text = parts_of(MODULE, wanted=(), about="dash is missing", most=400, tests=False)
    assert 'return re.sub(r"\\W+", dash, title)' in text
    assert "open(path)" not in text


def test_of_tests_only_those_are_shown_and_their_helpers() -> None:
    text = parts_of(TESTS, wanted=(), about="the dash of slugify", most=260, tests=True)
    assert '@pytest.mark.parametrize("dash", ["-"])\ndef test_slugify_dash' in text
    assert "def helper(title):\n    return slugify(title)" in text
    assert "class TestReader" not in text
    assert text.endswith("\n\n# … and 3 more functions: TestReader.test_path, …")
    inside = parts_of(TESTS, wanted=(), about="umlauts", most=200, tests=True)
    assert "class TestReader:\n\n    def test_umlauts(self):" in inside
    assert "test_path" not in inside


@given(
    st.sampled_from([MODULE, TESTS]),
    st.sets(st.sampled_from(["slugify", "Reader.read", "helper", "TestReader.test_path"])),
    st.sampled_from(["", "dash", "umlauts read path title"]),
    st.integers(0, 800),
    st.booleans(),
)
def test_whatever_is_shown_is_python(
    module: str, wanted: set[str], about: str, most: int, tests: bool
) -> None:
    ast.parse(parts_of(module, wanted=wanted, about=about, most=most, tests=tests))


BIG = "import os\n\n" + "\n\n".join(
    f"class C{c}:\n"
    + "\n\n".join(f"    def method_{c}_{m}(self):\n        return {c * m}" for m in range(20))
    for c in range(20)
)


def test_what_the_report_names_is_never_what_is_left_out() -> None:
    text = parts_of(BIG, wanted=(), about="method_13_7 is wrong", most=900, tests=False)
    assert len(text) <= 900
    assert "def method_13_7(self):\n        return 91" in text
    (left,) = re.findall(r"^# … and (\d+) more functions: (.*), …$", text, re.MULTILINE)
    assert int(left[0]) + text.count("def ") == 400
    assert all(name.rpartition("_")[0] == "C13.method_13" for name in left[1].split(", "))
    ast.parse(text)


def test_a_class_that_the_report_names_keeps_its_methods() -> None:
    text = parts_of(BIG, wanted=("C11",), about="it is wrong", most=3000, tests=False)
    assert len(text) <= 3000
    assert "def method_11_19(self):" in text
    assert "def method_10_19(self):" not in text
    assert "class C10:" in text


def test_of_several_suspects_the_likeliest_is_shown_when_there_is_room_for_one() -> None:
    wanted = ("C3.method_3_3", "C9.method_9_9")
    for names in (wanted, wanted[::-1]):
        text = parts_of(BIG, wanted=names, about="", most=80, tests=False)
        assert f"{names[0].split('.')[1]}(self):\n        return" in text
        assert f"{names[1].split('.')[1]}(self):\n        return" not in text


def test_where_what_is_named_has_no_room_nothing_else_takes_its_place() -> None:
    big = "def go_far(x):\n" + "    x += 1\n" * 60
    text = parts_of(
        f"{big}\n\ndef small(x):\n    return x\n",
        wanted=(),
        about="go_far small",
        most=250,
        tests=False,
    )
    assert "return x" not in text
    assert "def go_far(x):\n    ..." in text


def test_of_a_test_file_the_imports_that_are_used_stay_longest() -> None:
    many = "".join(f"from lib_{n} import thing_{n}\n" for n in range(40))
    text = parts_of(many + TESTS, wanted=(), about="the dash of slugify", most=330, tests=True)
    assert text.startswith("import pytest\nfrom slugs import slugify\n")
    assert "thing_" not in text
    assert "def test_slugify_dash" in text


def test_a_test_that_uses_what_the_report_names_is_nearer_than_one_with_its_words() -> None:
    words = "\n\ndef test_words():\n    assert grid_of(pair, 2) == wide\n"
    names = "\n\ndef test_names():\n    assert PairGrid(1).map(2) is None\n"
    for text in (names + words, words + names):
        shown = parts_of(text, wanted=(), about="PairGrid of a pair", most=140, tests=True)
        assert "test_names" in shown
        assert "def test_words" not in shown


LONG = "def far(parser):\n" + "".join(
    f'    parser.add("--option-{n}", help="{n}")\n' for n in range(60)
)


def test_of_a_function_that_is_too_long_what_the_report_spells_is_shown() -> None:
    text = f"{LONG}\n\ndef near(x):\n    return x\n"
    option = re.compile("--option-41")
    shown = parts_of(text, wanted=(), about="", most=900, tests=False, literals=(option,))
    assert '    # …\n    parser.add("--option-' in shown
    assert 'parser.add("--option-41", help="41")' in shown
    assert '--option-3"' not in shown
    assert len(shown) <= 900
    ast.parse(shown)


def test_what_has_a_rare_literal_comes_before_what_shares_words() -> None:
    text = (
        "def words():\n    return read_the_table_of_the_report()\n\n\n"
        'def spelled():\n    return {"skip-names": 1}\n'
    )
    literal = re.compile("skip[-_]names")
    about = "read the table of the report"
    for literals, name in (((), "words"), ((literal,), "spelled")):
        shown = parts_of(text, wanted=(), about=about, most=130, tests=False, literals=literals)
        assert f"def {name}():\n    return" in shown


def test_a_long_statement_is_told_by_the_line_that_the_report_spells() -> None:
    text = "TABLE = {\n" + "".join(f'    "key-{n}": {n},\n' for n in range(30)) + "}\nA = 1\n"
    literals = (re.compile("key-17"),)
    shown = parts_of(text, wanted=(), about="", most=300, tests=False, literals=literals)
    assert shown == '# …\n# TABLE = {\n# "key-17": 17,\n# …\nA = 1'


def test_a_run_of_assignments_says_what_it_lacks() -> None:
    text = "a = [1]\nb = [\n    2,\n    3,\n    4,\n    5,\n]\nc = a + b\n" + "# x\n" * 100
    shown = parts_of(text, wanted=(), about="", most=100, tests=False)
    assert shown.rstrip() == "a = [1]\n# … b\nc = a + b"


def test_a_class_that_lacks_methods_says_so() -> None:
    text = parts_of(BIG, wanted=("C3.method_3_3",), about="", most=300, tests=False)
    assert "class C3:\n    # …\n\n    def method_3_3(self):" in text
    assert "        return 9\n\n    # …" in text


def test_a_suspect_inside_of_a_function_is_shown_with_it() -> None:
    text = f"{LONG}\n\ndef outer(x):\n    def inner():\n        return x\n    return inner()\n"
    shown = parts_of(text, wanted=("outer.inner",), about="", most=300, tests=False)
    assert "    def inner():\n        return x\n    return inner()" in shown


def test_gaps_that_meet_are_one() -> None:
    assert one_gap("    # …\n\n    # … A\n    # …\nx") == "    # … A\nx"
    assert one_gap("x\n# …\n\n# … and 1 more function: f") == "x\n# … and 1 more function: f"
    kept = "    # … A\n    x\n    # …\n# … B"
    assert one_gap(kept) == kept
