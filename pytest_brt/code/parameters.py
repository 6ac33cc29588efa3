"""The cases of a parametrised test, where they are written out at it."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from itertools import product

from pytest_brt.syntax.parse import Function, called_name

#: Cases of one test that are looked at.
_MOST = 500
_Values = ast.List | ast.Tuple


def cases_of(function: Function) -> Mapping[str, Mapping[str, ast.expr]]:
    """Return the parameters of each case of a test, by the case's id; empty for none.

    Ids are made as pytest makes them of texts, numbers and the like; a parameter of another kind
    has its name and its number in them. Where the values are not written out, or are handed to
    fixtures, the parameters are left out, and the ids with them.
    """
    sets: list[list[tuple[str, dict[str, ast.expr]]]] = []
    for decorator in reversed(function.decorator_list):
        if isinstance(decorator, ast.Call) and called_name(decorator) == "parametrize":
            sets.append(_set_of(decorator))
    if not sets or not all(sets):
        return {}
    found: dict[str, dict[str, ast.expr]] = {}
    for chosen in product(*sets):
        values = {name: value for _, case in chosen for name, value in case.items()}
        found["-".join(key for key, _ in chosen)] = values
        if len(found) >= _MOST:
            break
    return found


def _set_of(decorator: ast.Call) -> list[tuple[str, dict[str, ast.expr]]]:
    """Return the cases of one decorator, each with its part of the id."""
    plain = len(decorator.args) == 2 and not decorator.keywords
    if not plain or not isinstance(decorator.args[1], _Values):
        return []
    names = _names(decorator.args[0])
    cases = []
    for number, row in enumerate(decorator.args[1].elts):
        key, values = _values(row, len(names))
        if len(values) != len(names):
            return []
        parts = [_part(name, value, number) for name, value in zip(names, values, strict=True)]
        cases.append((key or "-".join(parts), dict(zip(names, values, strict=True))))
    return cases


def _names(node: ast.expr) -> list[str]:
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return [name.strip() for name in node.value.split(",") if name.strip()]
    parts = node.elts if isinstance(node, _Values) else []
    return [str(part.value) for part in parts if isinstance(part, ast.Constant)]


def _values(row: ast.expr, count: int) -> tuple[str, list[ast.expr]]:
    """Return the id that a case is given, or "", and its values."""
    if isinstance(row, ast.Call) and called_name(row) == "param":
        ids = [word.value for word in row.keywords if word.arg == "id"]
        given = ids[0].value if ids and isinstance(ids[0], ast.Constant) else ""
        return str(given), list(row.args)
    if count == 1:
        return "", [row]
    return "", list(row.elts) if isinstance(row, _Values) else []


def _part(name: str, value: ast.expr, number: int) -> str:
    if isinstance(value, ast.UnaryOp) and isinstance(value.op, ast.USub):
        return ast.unparse(value)
    if isinstance(value, ast.Constant) and isinstance(value.value, str | int | float | type(None)):
        return _escaped(value.value) if isinstance(value.value, str) else str(value.value)
    return f"{name}{number}"


def _escaped(text: str) -> str:
    """Return a text as pytest has it in ids: on one line, and of ASCII."""
    return text.encode("unicode_escape").decode("ascii")
