"""Ways to make a syntax tree smaller: statements to drop, arguments to leave out, simpler values.

Each finder yields changes of one kind, which must not take away what is marked as kept.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable, Iterator

from pytest_brt.code.kept import DEFINITIONS, is_frozen, is_needed

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


# -- statements -------------------------------------------------------------------------------


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


# -- expressions ------------------------------------------------------------------------------


def _expressions(node: ast.AST, path: _Path = ()) -> Iterator[tuple[_Path, ast.expr]]:
    """Yield the expressions that may change, with their paths, outer ones first."""
    if is_frozen(node):
        return
    if isinstance(node, ast.expr):
        yield path, node
    for name, value in ast.iter_fields(node):
        here = (*path, name)
        if isinstance(value, ast.AST):
            yield from _expressions(value, here)
        elif isinstance(value, list):
            for number, item in enumerate(value):
                if isinstance(item, ast.AST):
                    yield from _expressions(item, (*here, number))


def arguments(tree: ast.Module) -> Iterator[Change]:
    """Offer to drop arguments and elements, and to take an operand for its operation."""
    for path, node in _expressions(tree):
        if isinstance(node, ast.Call):
            for number in range(len(node.keywords) - 1, -1, -1):
                yield _remove((*path, "keywords"), number)
            for number in range(len(node.args) - 1, -1, -1):
                yield _remove((*path, "args"), number)
        elif isinstance(node, ast.List | ast.Tuple | ast.Set) and isinstance(
            getattr(node, "ctx", ast.Load()), ast.Load
        ):
            for number in range(len(node.elts) - 1, -1, -1):
                if len(node.elts) > 1 or isinstance(node, ast.List):
                    yield _remove((*path, "elts"), number)
        elif isinstance(node, ast.Dict):
            for number in range(len(node.keys) - 1, -1, -1):
                yield _remove_item(path, number)
        elif isinstance(node, ast.BinOp):
            yield _replace(path, node.left)
            yield _replace(path, node.right)
        elif isinstance(node, ast.UnaryOp):
            yield _replace(path, node.operand)


def _remove(path: _Path, number: int) -> Change:
    def change(tree: ast.Module) -> None:
        items = _at(tree, path)
        assert isinstance(items, list)
        del items[number]

    return change


def _remove_item(path: _Path, number: int) -> Change:
    def change(tree: ast.Module) -> None:
        node = _at(tree, path)
        assert isinstance(node, ast.Dict)
        del node.keys[number]
        del node.values[number]

    return change


def _replace(path: _Path, new: ast.expr) -> Change:
    def change(tree: ast.Module) -> None:
        holder = _at(tree, path[:-1])
        step = path[-1]
        if isinstance(step, int):
            assert isinstance(holder, list)
            holder[step] = copy.deepcopy(new)
        else:
            setattr(holder, step, copy.deepcopy(new))

    return change


def literals(tree: ast.Module) -> Iterator[Change]:
    """Offer simpler values for the literals."""
    for path, node in _expressions(tree):
        if isinstance(node, ast.Constant) and "values" not in path:
            for value in _simpler(node.value):
                yield _replace(path, ast.Constant(value=value))


def _simpler(value: object) -> Iterator[str | bytes | int | float]:
    """Yield simpler values of the same type, the simplest first."""
    if isinstance(value, bool):
        return
    if isinstance(value, int):
        simpler: list[int] = [0, 1, 2, value // 10, value // 2, value - 1]
        yield from (v for v in dict.fromkeys(simpler) if 0 <= v < value)
    elif isinstance(value, float):
        yield from (
            v for v in (0.0, 1.0, 0.5, float(int(value) if abs(value) < 1e9 else 0)) if v < value
        )
    elif isinstance(value, str | bytes):
        yield from (
            v
            for v in (value[:0], value[:1], value[: len(value) // 2], value[len(value) // 2 :])
            if len(v) < len(value)
        )
