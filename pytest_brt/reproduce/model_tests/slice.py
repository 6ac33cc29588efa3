"""Which statements of a test its failing one depends on, by the names that they share."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence

from pytest_brt.syntax import parse

_Function = ast.FunctionDef | ast.AsyncFunctionDef
_CLAIM = re.compile(r"(?:^|\.)(?:assert\w+|fail)$")


def needed(source: str, line: int) -> frozenset[str]:
    """Return the statements that the one at `line` depends on, as `ast.dump` writes them.

    These are the inputs of what failed. That a failure stays the same without one of them does
    not mean that the test does not need it: only a fixed project would tell. A statement counts
    when it speaks of a variable that the failing one speaks of, or that such a statement does.
    """
    test = next(
        (
            node
            for node in ast.walk(parse(source))
            if isinstance(node, _Function) and _has(node, line) and node.name.startswith("test")
        ),
        None,
    )
    if test is None:
        return frozenset()
    own = _bound(test)
    used = {name for part in _around(test.body, line) for name in _names(part)} & own
    open_ones = list(_others(test.body, line))
    found: list[ast.stmt] = []
    while True:
        more = [node for node in open_ones if used & _names(node)]
        if not more:
            return frozenset(ast.dump(node) for node in found)
        found += more
        open_ones = [node for node in open_ones if node not in more]
        used |= {name for node in more for name in _names(node)} & own


def still_has(source: str, statements: frozenset[str]) -> bool:
    """Say whether all of `statements` stand in `source` as they were."""
    there = {ast.dump(node) for node in ast.walk(parse(source)) if isinstance(node, ast.stmt)}
    return statements <= there


def _has(node: ast.stmt, line: int) -> bool:
    return node.lineno <= line <= (node.end_lineno or node.lineno)


def _bound(test: _Function) -> set[str]:
    """Return the names that belong to the test: its arguments, variables and inner functions."""
    found = {node.arg for node in ast.walk(test) if isinstance(node, ast.arg)}
    for node in ast.walk(test):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            found.add(node.id)
        elif isinstance(node, _Function | ast.ClassDef) and node is not test:
            found.add(node.name)
    return found


def _names(node: ast.AST) -> set[str]:
    found = {inner.id for inner in ast.walk(node) if isinstance(inner, ast.Name)}
    return found | {
        inner.name for inner in ast.walk(node) if isinstance(inner, _Function | ast.ClassDef)
    }


def _blocks(node: ast.stmt) -> list[Sequence[ast.stmt]]:
    blocks: list[Sequence[ast.stmt]] = [
        getattr(node, field, []) for field in ("body", "orelse", "finalbody")
    ]
    return [*blocks, *(handler.body for handler in getattr(node, "handlers", []))]


def _around(body: Sequence[ast.stmt], line: int) -> Iterator[ast.AST]:
    """Yield the failing statement, and the heads of what it stands in."""
    for node in body:
        if not _has(node, line):
            continue
        inner = [block for block in _blocks(node) if any(_has(part, line) for part in block)]
        if not inner:
            yield node
            continue
        for field, value in ast.iter_fields(node):
            if field not in ("body", "orelse", "finalbody", "handlers"):
                values = value if isinstance(value, list) else [value]
                yield from (part for part in values if isinstance(part, ast.AST))
        for block in inner:
            yield from _around(block, line)


def _others(body: Sequence[ast.stmt], line: int) -> Iterator[ast.stmt]:
    """Yield the statements that the failing one does not stand in, claims left out."""
    for node in body:
        if not _has(node, line):
            if not _is_claim(node):
                yield node
            continue
        for block in _blocks(node):
            yield from _others(block, line)


def _is_claim(node: ast.stmt) -> bool:
    if isinstance(node, ast.Assert):
        return True
    call = node.value if isinstance(node, ast.Expr) else None
    return isinstance(call, ast.Call) and bool(_CLAIM.search(ast.unparse(call.func)))
