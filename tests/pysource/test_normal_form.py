from __future__ import annotations

import pytest

from pytest_brt.pysource.normal_form import normal_test, patch_key, test_key
from pytest_brt.types import FileChange

FIRST = '''\
"""Doc."""
import os
import json
from pkg import area


def test_bug():
    """It should."""
    value = area(2)  # two
    with open("f") as handle:
        assert value == [n for n in handle]
'''
SECOND = """\
from pkg import area
import json
import os
def test_other_name():
    value = area( 2 )

    with open('f') as handle: assert (value == [n for n in handle])
    pass
"""


def test_equal_tests_have_equal_keys() -> None:
    assert normal_test(FIRST) == normal_test(SECOND)
    assert test_key(FIRST) == test_key(SECOND)
    assert normal_test(FIRST) == (
        "from pkg import area\nimport json\nimport os\n"
        "def test_0():\n    value = area(2)\n    with open('f') as handle:\n"
        "        assert value == [n for n in handle]"
    )


#: Tests that look alike, and do not say the same.
@pytest.mark.parametrize(
    ("one", "other"),
    [
        (
            "def test_f():\n    a = 1\n    b = 2\n    assert a",
            "def test_f():\n    a = 1\n    b = 2\n    assert b",
        ),
        ("def f(a, b): return a - b", "def f(b, a): return a - b"),
        ("def test_f():\n    x = 1\n    assert g(x)", "def test_f():\n    x = 1\n    assert h(x)"),
        ("import a", "import b"),
    ],
)
def test_tests_of_different_meaning_stay_different(one: str, other: str) -> None:
    assert normal_test(one) != normal_test(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("def f(a):\n    x = a\n    return x", "def f(a):\n    y = a\n    return y"),
        ("def f():\n    return 1", "def f():\n    'It is 1.'\n    return 1"),
        ("'Usage: a'\nx = 1", "'Usage: b'\nx = 1"),
        ("x = 1", "x = 1\n'of x'"),
        ("def f(): ...", "def f():\n    pass"),
        ("x = 1", "x = 1.0"),
        ("x = 1", "x = 2"),
    ],
)
def test_a_program_may_see_its_docstrings_constants_and_names(one: str, other: str) -> None:
    assert patch_key([change("a.py", one)]) != patch_key([change("a.py", other)])


def test_comments_and_layout_are_seen_by_nobody() -> None:
    first = patch_key([change("a.py", "def f(a):\n    return a+0x10\n")])
    second = patch_key([change("a.py", "def f( a ):  # c\n\n    return (a + 16)\n")])
    assert first == second


def test_a_patch_that_only_sets_the_mode_changes_something() -> None:
    runs = FileChange(path="a.py", content=b"x = 1\n", executable=True)
    assert patch_key([runs]) != patch_key([change("a.py", "x = 1\n")])


def test_text_that_is_no_python_has_a_key() -> None:
    assert test_key("def (") == test_key("def  (")
    assert test_key("def (") != test_key("def [")


def change(path: str, text: str | None) -> FileChange:
    return FileChange(path=path, content=None if text is None else text.encode())


def test_patches() -> None:
    first = [change("a.py", "def f():\n    value = 2\n    return value\n"), change("c.txt", "c")]
    second = [
        change("c.txt", "c"),
        change("a.py", "def f():\n\n    value = 2  # two\n    return value\n"),
    ]
    assert patch_key(first) == patch_key(second)
    assert patch_key(first) != patch_key([first[0], change("c.txt", None)])
    assert patch_key(first) != patch_key([first[0], change("c.txt", "c\n")])
