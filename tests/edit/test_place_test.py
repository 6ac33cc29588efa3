from __future__ import annotations

import textwrap

import pytest

from pytest_brt.edit.add_tests import place
from pytest_brt.errors import EditProblem

BUG = 'def test_bug():\n    """It should be one."""\n    assert area(2) == 1\n'
TEST = f"from pkg import area\n\n\n{BUG}"


def placed(host: str, source: str = TEST) -> str:
    placement = place(dedent(source), "tests/test_x.py", dedent(host).encode())
    text = placement.after.decode()
    compile(text, "x", "exec")
    return text


def dedent(text: str) -> str:
    return textwrap.dedent(text)


def assert_edit(host: str, after: str, source: str = TEST) -> None:
    text = placed(host, source)
    assert text == dedent(after)
    assert placed(text, source) == text, "twice is once"


def test_function_at_the_end() -> None:
    host = dedent(
        '''\
        """Doc."""
        from __future__ import annotations

        import os
        from pkg import render


        def test_old(): ...


        '''
    )
    main = 'if __name__ == "__main__":\n    main()\n'
    after = host.replace("import render", "import area, render")
    assert_edit(host + main, f"{after}{BUG}\n\n{main}")


def test_no_final_newline_and_taken_names() -> None:
    taken = "def test_bug(): pass"
    after = f"import pkg\nfrom pkg import area\n\n{taken}\n\n\n"
    assert_edit(f"import pkg\n{taken}", after + BUG.replace("test_bug", "test_bug_2"))


@pytest.mark.parametrize(
    ("host", "source", "name"),
    [
        ("from other import area\n", TEST, "'area'"),
        ("def helper(): ...\n", "def helper(): return 1\ndef test_a(): helper()\n", "'helper'"),
        ("x = 1\n", "x = 2\ndef test_a(): assert x\n", "'x'"),
        ("import os\n", "print(1)\ndef test_a(): ...\n", "runs code outside"),
        ("import os\n", "pytestmark = 1\ndef test_a(): ...\n", "pytestmark"),
    ],
)
def test_what_means_something_else_there_goes_elsewhere(host: str, source: str, name: str) -> None:
    with pytest.raises(EditProblem, match=name):
        placed(host, source)


def test_helpers_and_values_stand_above_the_test() -> None:
    helper, value = "def helper(): ...\n", "x = pkg.Thing()\n"
    fresh = "def fresh():\n    return 1\n"
    test = "def test_a():\n    assert helper() == fresh()\n"
    assert_edit(
        helper,
        "import pkg\n\n" + "\n\n".join((helper, value, fresh, test)),
        "import pkg\n\n" + "\n".join((value, helper, fresh, test)),
    )


def test_no_class_takes_a_test_that_has_nothing_to_do_with_any() -> None:
    host = (
        b"class TestCircle:\n    def test_round(self): ...\n\n"
        b"class TestOther:\n    def test_render(self): ...\n"
    )
    placement = place("from pkg import area\n\ndef test_bug():\n    assert area(2)\n", "t.py", host)
    assert placement.nodes == ("test_bug",)


UNITTEST = """\
import unittest
from pkg import area

class AreaTests(unittest.TestCase):
    def testSmall(self):
        self.assertEqual(area(1), 1)
        self.assertTrue(area(2))

if __name__ == "__main__":
    unittest.main()
"""


def test_unittest() -> None:
    body = 'with pytest.raises(ValueError):\n    area("x")\nassert area(2) == (1, 2)\n'
    last = "        self.assertTrue(area(2))\n"
    method = f"\n    def test_bug_one(self):\n{textwrap.indent(body, ' ' * 8)}"
    after = UNITTEST.replace("import area\n", "import area\nimport pytest\n")
    assert_edit(
        UNITTEST,
        after.replace(last, last + method),
        "import pytest\nfrom pkg import area\n\ndef test_bug_one():\n"
        + textwrap.indent(body, " " * 4),
    )


def test_unittest_cannot_give_fixtures() -> None:
    text = placed(UNITTEST, "def test_a(tmp_path):\n    assert tmp_path\n")
    assert "\n\ndef test_a(tmp_path):\n" in text


def test_class_of_tests_is_placed_whole() -> None:
    source = (
        "from pkg import area\n\nclass TestNew:\n    def test_a(self):\n        assert area(1)\n"
    )
    placement = place(source, "t.py", b"class TestNew: ...\n")
    assert placement.nodes == ("TestNew_2",)
    assert b"class TestNew_2:" in placement.after
    with pytest.raises(EditProblem, match="means something else"):
        place(source, "t.py", b"area = 1\n")


def test_strings_keep_their_lines() -> None:
    source = 'def test_a():\n    text = """a\n  b\n"""\n    assert text == "a\\n  b\\n"\n'
    text = placed("class TestX:\n    def test_b(self): ...\n", source)
    space: dict[str, type] = {}
    exec(text, space)
    space["TestX"]().test_a()


def test_line_ends_and_encoding() -> None:
    host = "# -*- coding: latin-1 -*-\r\nimport os\r\n\r\ndef test_é(): 'ü'\r\n".encode("latin-1")
    after = place(TEST, "t.py", host).after
    assert after.count(b"\n") == after.count(b"\r\n")
    assert "def test_é(): 'ü'" in after.decode("latin-1")
    with pytest.raises(EditProblem, match="iso-8859-1, which has no '✓'"):
        place("def test_a(): assert '✓'\n", "t.py", host)
    marked = b"\xef\xbb\xbfimport os\n"
    assert place(TEST, "t.py", marked).after.startswith(marked)


def test_host_that_is_no_python() -> None:
    with pytest.raises(EditProblem, match=r"'t.py' is not Python"):
        place(TEST, "t.py", b"print 'x'\n")


def test_a_fixture_and_parameters_come_along() -> None:
    imports = "import pytest\nfrom pkg import area\n\n\n"
    host = (
        f"{imports}def test_old():\n    assert area(1)\n    # The end of the old one.\n\n\n"
        "# A note on the file.\n"
    )
    test = """\
        @pytest.fixture
        def wide():
            return 2


        # Two of them.
        @pytest.mark.parametrize(
            ("given", "found"),
            [(1, 1), (2, 4)],
        )
        def test_bug(wide, given, found):
            assert area(given) == found
        """
    assert_edit(host, f"{host}\n\n{dedent(test)}", imports + dedent(test))


def test_a_method_is_written_with_the_indentation_of_its_class() -> None:
    host = "class TestX:\n\tdef test_a(self):\n\t\tassert 1\n"
    source = 'def test_b(a, *, b):\n    """One\n    two.\n    """\n    for x in a:\n        b(x)\n'
    assert placed(host, source) == (
        host + "\n\tdef test_b(self, a, *, b):\n"
        '\t    """One\n\t    two.\n\t    """\n\t    for x in a:\n\t        b(x)\n'
    )
