from __future__ import annotations

import keyword

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_brt.pysource.names import bound_names, names_of, needed, undefined_names


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("x + 1", ["x"]),
        ("x = 1\nx + len('a')", []),
        ("[a for a in range(3)]\na", ["a"]),
        ("[a for a in b if a(c)]", ["b", "c"]),
        ("def f(x, *y, k=z):\n    return x, y, k, w", ["z", "w"]),
        ("class A:\n    n = 1\n    def f(self):\n        return n", ["n"]),
        ("class A:\n    n = 1\n    m = n", []),
        ("def f():\n    global g\n    g = 1\nf()\ng", []),
        ("(y := 3)\ny", []),
        ("import a.b as c, d.e\nc, d, a", ["a"]),
        ("try:\n    1\nexcept E as e:\n    e", ["E"]),
        ("for i in range(3): i", []),
        ("with open('f') as (a, b): a, b, c", ["c"]),
        ("lambda q: q + r", ["r"]),
        ("x = x + 1", ["x"]),
        ("y += 1", ["y"]),
        ("def t(v):\n    v = v.w()", []),
        ("def t():\n    return late()\ndef late(): ...", []),
        ("late()\ndef late(): ...", ["late"]),
        ("x = [x for x in range(3)]", []),
        ("f = lambda: f()", []),
        ("a = b = c\nc = 1", ["c"]),
        ("@mark\ndef t(): ...", ["mark"]),
        ("if 1:\n    z = 1\nz", []),
        ("list = list((1, 2))", []),
        ("match p:\n    case A(b): b", ["p", "A"]),
        ("async def f():\n    async with a as b: await b", ["a"]),
        ("def f():\n    x = 1\n    def g():\n        nonlocal x\n        x += 1\n    return g", []),
        ("__name__, __file__", []),
    ],
)
def test_undefined(source: str, expected: list[str]) -> None:
    assert sorted(undefined_names(source)) == sorted(expected)


def test_bound_names() -> None:
    assert bound_names("class A: ...\nx = lambda: [i for i in range(3)]") == {"A", "x"}
    assert bound_names("import a\nfrom b import *\ndef f(): x = 1") == {"a", "f"}


def test_no_python() -> None:
    with pytest.raises(SyntaxError):
        undefined_names("def :")


NAMES = st.text("abcxyz", min_size=1, max_size=3).filter(lambda n: not keyword.iskeyword(n))


@given(st.lists(NAMES, max_size=6), st.lists(NAMES, max_size=6))
def test_straight_line_code_is_judged_as_it_runs(bound: list[str], used: list[str]) -> None:
    source = "".join(f"{name} = 1\n" for name in bound) + "".join(f"{name}\n" for name in used)
    assert set(undefined_names(source)) == set(used) - set(bound) - {"abs"}


@pytest.mark.parametrize(
    ("source", "used", "bound", "changed"),
    [
        ("a = b + len(c)", "b c", "a", ""),
        ("a, (b, *c) = d", "d", "a b c", ""),
        ("a.b = c", "a c", "", "a"),
        ("a[0] += b", "a b", "", "a"),
        ("a += 1", "a", "a", ""),
        ("a.append(b)", "a b", "", "a b"),
        ("a = b.pop(c)", "b c", "a", "b"),
        ("import a.b as c, d.e", "", "c d", ""),
        ("from a import b", "", "b", ""),
        ("def f(x, y=z):\n    w = x + v\n    return w", "z v", "f", ""),
        ("class A(B):\n    c = d", "B d", "A", ""),
        ("lambda x: x + y", "y", "", ""),
        ("[x for x in y if x > z]", "y z", "", ""),
        ("for i in a:\n    b = i", "a", "i b", ""),
        ("with a as b:\n    c(b)", "a c", "b", "b"),
        ("print(x)", "x", "", "x"),
        ("del a.b", "a", "", "a"),
    ],
)
def test_names(source: str, used: str, bound: str, changed: str) -> None:
    names = names_of(source)
    assert names.used == set(used.split())
    assert names.bound == set(bound.split())
    assert names.changed == set(changed.split())


def test_stars_are_noted() -> None:
    assert names_of("from a.b import *").stars == ("a.b",)


def test_only_what_is_needed_is_kept() -> None:
    sources = [
        "import m",  # 0
        "a = m.make()",  # 1
        "b = 2",  # 2
        "a.grow(b)",  # 3
        "m.show(b)",  # 4: changes nothing that is needed
        "c = 3",  # 5
        "f(a)",  # 6
    ]
    assert needed(sources, 6) == [0, 1, 2, 3]


def test_a_name_bound_again_hides_the_first() -> None:
    assert needed(["x = 1", "x = 2", "f(x)"], 2) == [1]
    assert needed(["x = 1", "x = x + 1", "f(x)"], 2) == [0, 1]


def test_names_that_a_pattern_binds_are_bound() -> None:
    names = names_of("match x:\n    case {'a': one, **rest}:\n        print(one, rest)")
    assert names.used == {"x"}
    assert names.bound == {"one", "rest"}
    names = names_of("match x:\n    case [one, *more] as whole:\n        f(one, more, whole)")
    assert names.used == {"x", "f"}
