from __future__ import annotations

from pathlib import Path

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
        (
            "def test_f():\n    x = 1\n    assert g(x)",
            "def test_f():\n    x = 1\n    assert h(x)",
        ),
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
def test_a_program_may_see_its_docstrings_constants_and_names(
    one: str, other: str, tmp_path: Path
) -> None:
    first = patch_key([change("a.py", one)], tmp_path)
    assert first != patch_key([change("a.py", other)], tmp_path)


def test_comments_and_layout_are_seen_by_nobody(tmp_path: Path) -> None:
    first = patch_key([change("a.py", "def f(a):\n    return a+0x10\n")], tmp_path)
    second = patch_key([change("a.py", "def f( a ):  # c\n\n    return (a + 16)\n")], tmp_path)
    assert first == second


def test_a_patch_that_only_sets_the_mode_changes_something(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("x = 1\n", "utf-8")
    runs = FileChange(path="a.py", content=b"x = 1\n", executable=True)
    assert patch_key([runs], tmp_path) != patch_key([], tmp_path)
    assert patch_key([change("a.py", "x = 1\n")], tmp_path) == patch_key([], tmp_path)


def test_text_that_is_no_python_has_a_key() -> None:
    assert test_key("def (") == test_key("def  (")
    assert test_key("def (") != test_key("def [")


def change(path: str, text: str | None) -> FileChange:
    return FileChange(path=path, content=None if text is None else text.encode())


def test_patches(tmp_path: Path) -> None:
    tree = {"a.py": "def f():\n    return 1\n", "b.py": "x = 1\n", "c.txt": "c"}
    for name, text in tree.items():
        (tmp_path / name).write_text(text, "utf-8")
    first = [change("a.py", "def f():\n    value = 2\n    return value\n")]
    second = [
        change("b.py", "# nothing new\nx = 1\n"),
        change("a.py", "def f():\n\n    value = 2  # two\n    return value\n"),
    ]
    third = [*first, change("c.txt", None)]
    assert patch_key(first, tmp_path) == patch_key(second, tmp_path)
    assert patch_key(first, tmp_path) != patch_key(third, tmp_path)
    assert patch_key([], tmp_path) == patch_key(second[:1], tmp_path)
    assert patch_key([change("new.py", "x")], tmp_path) != patch_key([], tmp_path)
