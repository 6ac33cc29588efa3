from __future__ import annotations

import pytest

from pytest_brt.code.scope import names_of, needed


@pytest.mark.parametrize(
    ("source", "used", "bound", "changed"),
    [
        ("a = b + len(c)", "b c", "a", ""),
        ("a, (b, *c) = d", "d", "a b c", ""),
        ("a.b = c", "a c", "", "a"),
        ("a[0] += b", "a b", "", "a"),
        ("a += 1", "a", "a", "a"),
        ("a.append(b)", "a b", "", "a b"),
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
    assert names_of(
        "match x:\n    case [one, *more] as whole:\n        f(one, more, whole)"
    ).used == {
        "x",
        "f",
    }
