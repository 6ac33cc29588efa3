"""The statements of a tree that must stay while it is made small."""

from __future__ import annotations

import ast
from collections.abc import Collection

#: Attribute of a statement that must stay: whether it must stay as it is.
_MARK = "pytest_brt_frozen"
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
#: Statements that are judged by what is in them.
DEFINITIONS = (*_FUNCTIONS, ast.ClassDef)


def mark(tree: ast.Module, keep: Collection[int], *, frozen: bool) -> int:
    """Mark the statements that must stay, on the nodes themselves; return how many they are.

    Copies of a tree keep the marks. With `frozen`, nothing inside may change either.
    """
    chosen: list[ast.stmt] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.stmt) and not isinstance(node, DEFINITIONS):
            # Of a compound statement its head counts, what is in it speaks for itself.
            block: list[ast.stmt] = getattr(node, "body", [])
            last = block[0].lineno - 1 if block else node.end_lineno or node.lineno
            if any(line in keep for line in range(node.lineno, max(last, node.lineno) + 1)):
                chosen.append(node)
        if not keep and isinstance(node, _FUNCTIONS) and node.name.startswith("test"):
            chosen.append(node.body[-1])
    marked = {id(node): node for node in chosen}
    if frozen:
        inside = [i for n in chosen for i in ast.walk(n) if isinstance(i, ast.stmt)]
        marked |= {id(node): node for node in inside}
    for node in marked.values():
        setattr(node, _MARK, frozen)
    return len(marked)


def is_needed(node: ast.stmt) -> bool:
    """Return whether `node` is, or holds, something that must stay."""
    return any(hasattr(inner, _MARK) for inner in ast.walk(node))


def is_frozen(node: ast.AST) -> bool:
    """Return whether nothing inside `node` may change."""
    return bool(getattr(node, _MARK, False))


def keeps(tree: ast.Module, marked: int) -> bool:
    """Return whether all `marked` statements are still in `tree`."""
    return sum(1 for node in ast.walk(tree) if hasattr(node, _MARK)) == marked
