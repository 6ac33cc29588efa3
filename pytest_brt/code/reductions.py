"""Ways to make a syntax tree smaller: statements to drop, and blocks to take out of their heads.

Each finder yields changes of one kind, which must not take away what is marked as kept. Nothing
changes inside of a statement: with another input the same failure may be right.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator

from pytest_brt.code.kept import DEFINITIONS, is_needed

#: Changes a copy of the tree that it was found in.
Change = Callable[[ast.Module], None]
#: Path to a node: names of fields and positions in lists.
_Path = tuple[str | int, ...]
Finder = Callable[[ast.Module], Iterator[Change]]


def _at(tree: ast.AST, path: _Path) -> object:
    value: object = tree
    for step in path:
        value = (
            value[step]
            if isinstance(step, int) and isinstance(value, list)
            else getattr(value, str(step))
        )
    return value


def _blocks(node: ast.AST, path: _Path = ()) -> Iterator[tuple[_Path, list[ast.stmt]]]:
    """Yield each list of statements with the path to it, outer ones first."""
    for name, value in ast.iter_fields(node):
        here = (*path, name)
        if isinstance(value, ast.AST):
            yield from _blocks(value, here)
        elif isinstance(value, list):
            if value and isinstance(value[0], ast.stmt):
                yield here, value
            for number, item in enumerate(value):
                if isinstance(item, ast.AST):
                    yield from _blocks(item, (*here, number))


def statement_runs(tree: ast.Module) -> Iterator[Change]:
    """Offer to drop whole halves, quarters and so on of each block."""
    for path, block in _blocks(tree):
        size = len(block) // 2
        while size > 1:
            for start in range(0, len(block), size):
                run = block[start : start + size]
                if not any(is_needed(node) for node in run):
                    yield _cut(path, start, start + size)
            size //= 2


def single_statements(tree: ast.Module) -> Iterator[Change]:
    """Offer to drop each statement, the last of a block first."""
    for path, block in _blocks(tree):
        for start in range(len(block) - 1, -1, -1):
            if not is_needed(block[start]):
                yield _cut(path, start, start + 1)


def _cut(path: _Path, start: int, end: int) -> Change:
    def change(tree: ast.Module) -> None:
        block = _at(tree, path)
        assert isinstance(block, list)
        del block[start:end]
        if not block and path[-1] == "body" and len(path) > 1:
            block.append(ast.Pass())

    return change


def unwrapped(tree: ast.Module) -> Iterator[Change]:
    """Offer to put the body of a compound statement in its place, and to drop clauses."""
    for path, block in _blocks(tree):
        for number, node in enumerate(block):
            if isinstance(node, DEFINITIONS):
                continue
            for name in ("body", "orelse", "finalbody"):
                if isinstance(getattr(node, name, None), list) and getattr(node, name):
                    yield _lift(path, number, name)


def _lift(path: _Path, number: int, name: str) -> Change:
    def change(tree: ast.Module) -> None:
        block = _at(tree, path)
        assert isinstance(block, list)
        block[number : number + 1] = getattr(block[number], name)

    return change
