from __future__ import annotations

import ast

import pytest

from pytest_brt.pysource.parse import (
    bodies,
    bound_targets,
    called_name,
    parse,
    parse_expression,
)


@pytest.mark.parametrize(
    ("text", "expected"),
    [("f(1)", "f"), ("a.b.c()", "c"), ("f()()", ""), ("(lambda: 1)()", ""), ("f().g()", "g")],
)
def test_called_name(text: str, expected: str) -> None:
    call = parse_expression(text)
    assert isinstance(call, ast.Call)
    assert called_name(call) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a = b, (c, *d) = 1, (2, 3)", ["a", "b", "c", "d"]),
        ("a.x = b[i] = 1", []),
        ("a: int = 1", ["a"]),
        ("a += 1", ["a"]),
        ("for i, j in x:\n    k = 1", ["i", "j"]),
        ("with a as b, c, d() as (e, f):\n    g = 1", ["b", "e", "f"]),
        ("a == 1", []),
    ],
)
def test_bound_targets(text: str, expected: list[str]) -> None:
    assert list(bound_targets(parse(text).body[0])) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("if a:\n    b\nelif c:\n    d", ["b", "if c:\n    d"]),
        ("try:\n    a\nexcept E:\n    b\nelse:\n    c\nfinally:\n    d", ["a", "c", "d", "b"]),
        ("match a:\n    case 1:\n        b\n    case _:\n        c", ["b", "c"]),
        ("a = 1", []),
    ],
)
def test_bodies(text: str, expected: list[str]) -> None:
    found = ["\n".join(map(ast.unparse, body)) for body in bodies(parse(text).body[0])]
    assert found == expected
