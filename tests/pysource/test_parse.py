from __future__ import annotations

import ast

import pytest

from pytest_brt.pysource.parse import called_name, parse_expression


@pytest.mark.parametrize(
    ("text", "expected"),
    [("f(1)", "f"), ("a.b.c()", "c"), ("f()()", ""), ("(lambda: 1)()", ""), ("f().g()", "g")],
)
def test_called_name(text: str, expected: str) -> None:
    call = parse_expression(text)
    assert isinstance(call, ast.Call)
    assert called_name(call) == expected
