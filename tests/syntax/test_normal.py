from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_brt.syntax import normal
from pytest_brt.syntax.normal import normal_test, patch_key
from pytest_brt.types import FileChange

FIRST = '''\
"""Doc."""
import os, json
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
    result = area( 2 )

    with open('f') as f: assert (result == [x for x in f])
    pass
"""


def test_equal_tests_have_equal_keys() -> None:
    assert normal_test(FIRST) == normal_test(SECOND)
    assert normal.test_key(FIRST) == normal.test_key(SECOND)
    assert normal_test(FIRST) == (
        "from pkg import area\nimport json\nimport os\n\n"
        "def test_0():\n    v0 = area(2)\n    with open('f') as v1:\n"
        "        assert v0 == [v2 for v2 in v1]"
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
        ("def test_f():\n    v0 = v1", "def test_f():\n    x = v0"),
        ("def test_f():\n    x = 1\n    locals()", "def test_f():\n    y = 1\n    locals()"),
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
    assert normal.test_key("def (") == normal.test_key("def  (")
    assert normal.test_key("def (") != normal.test_key("def [")


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


NAMES = ["a", "b", "c", "n"]
EXPRESSIONS = st.recursive(
    st.sampled_from([*NAMES, "1", "'s'", "free"]),
    lambda inner: st.one_of(
        st.builds("({} + {})".format, inner, inner),
        st.builds("f({}, k={})".format, inner, inner),
        st.builds("[{} for a in {}]".format, inner, inner),
        st.builds("(lambda b: {})({})".format, inner, inner),
    ),
    max_leaves=4,
)
SIMPLE = st.one_of(
    st.builds("{} = {}".format, st.sampled_from(NAMES), EXPRESSIONS),
    st.builds("assert {}".format, EXPRESSIONS),
    st.builds("for {} in {}: g({})".format, st.sampled_from(NAMES), EXPRESSIONS, EXPRESSIONS),
)
BODIES = st.lists(SIMPLE, min_size=1, max_size=5)
RENAMED = {"a": "b", "b": "zeta", "c": "v0", "n": "v7"}


def function(body: list[str], name: str = "test_x") -> str:
    return f"def {name}():\n" + "".join(f"    {line}\n" for line in body)


def renamed(source: str) -> str:
    """Rename all variables at once; every scope binds all that it uses of them."""
    return re.sub(r"\b[abcn]\b", lambda match: RENAMED[match[0]], source)


@given(BODIES)
def test_invariant_under_renaming_locals(body: list[str]) -> None:
    bind = [f"{name} = 0" for name in NAMES]
    source = function([*bind, *body])
    assert normal_test(source) == normal_test(renamed(source))


@given(BODIES, st.booleans())
def test_invariant_under_layout_and_comments(body: list[str], doc: bool) -> None:
    source = function(body)
    noisy = "\n\n# above\n" + source.replace("\n", "  # c\n\n").replace(" + ", "+")
    if doc:
        noisy = noisy.replace("    ", "    '''Doc.'''\n    ", 1)
    assert normal_test(source) == normal_test(noisy)


@given(BODIES)
def test_idempotent_and_valid(body: list[str]) -> None:
    source = function(body)
    once = normal_test(source)
    ast.parse(once)
    assert normal_test(once) == once
