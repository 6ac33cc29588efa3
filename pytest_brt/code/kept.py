"""The statements of a tree that must stay while it is made small."""

from __future__ import annotations

import ast
from collections.abc import Collection

#: Attribute of a statement that must stay.
_MARK = "pytest_brt_kept"
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
#: Statements that are judged by what is in them.
DEFINITIONS = (*_FUNCTIONS, ast.ClassDef)
#: Calls whose block is a claim.
_CLAIMING = ("raises", "warns", "deprecated_call", "assertRaises", "assertWarns")


def mark(tree: ast.Module, keep: Collection[int]) -> int:
    """Mark the statements that must stay, on the nodes themselves; return how many they are.

    These are the ones on the lines `keep`, or without any the last statement of each test, with
    all that is in them, and blocks that wait for an exception or a warning. Copies of a tree keep
    the marks.
    """
    chosen: list[ast.stmt] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.stmt) and not isinstance(node, DEFINITIONS):
            # Of a compound statement its head counts, what is in it speaks for itself.
            block: list[ast.stmt] = getattr(node, "body", [])
            last = block[0].lineno - 1 if block else node.end_lineno or node.lineno
            lines = range(node.lineno, max(last, node.lineno) + 1)
            if any(line in keep for line in lines) or _claims(node):
                chosen.append(node)
        if not keep and isinstance(node, _FUNCTIONS) and node.name.startswith("test"):
            chosen.append(node.body[-1])
    inside = [i for n in chosen for i in ast.walk(n) if isinstance(i, ast.stmt)]
    for node in inside:
        setattr(node, _MARK, True)
    return sum(1 for node in ast.walk(tree) if hasattr(node, _MARK))


def _claims(node: ast.stmt) -> bool:
    """Return whether a statement waits for an exception or a warning in its block."""
    if not isinstance(node, ast.With | ast.AsyncWith):
        return False
    calls = (item.context_expr for item in node.items)
    names = (ast.unparse(call.func) for call in calls if isinstance(call, ast.Call))
    return any(name.rpartition(".")[2] in _CLAIMING for name in names)


def is_needed(node: ast.stmt) -> bool:
    """Return whether `node` is, or holds, something that must stay."""
    return any(hasattr(inner, _MARK) for inner in ast.walk(node))


def keeps(tree: ast.Module, marked: int) -> bool:
    """Return whether all `marked` statements are still in `tree`."""
    return sum(1 for node in ast.walk(tree) if hasattr(node, _MARK)) == marked
