"""What of a patch's code speaks of the tools that test it, which code of a product seldom does.

A patch runs in the process that tests it, and can make tests pass without mending anything. That
cannot be prevented in full; but who does it nearly always has to name what it tampers with.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from pytest_brt.syntax import parse
from pytest_brt.types import FileChange

#: How the note on such a patch begins.
REMARK = "names what tests are run by"
#: In names, and in texts: "pytest" may be looked for in `sys.modules`.
_WORDS = re.compile(
    r"\b(_?pytest|pluggy|_brt_\w*|PYTEST_\w+|pytest_\w+|unittest|TestCase|TestResult|TextTestRunner"
    r"|runtest\w*|CallInfo|TestReport|__builtins__|builtins|_getframe|get_objects|settrace"
    r"|setprofile|setmonitoring)\b"
)


def named_testers(changes: Iterable[FileChange], root: Path) -> tuple[str, ...]:
    """Return what code of a product newly names, as in ("pytest", "always-true __eq__").

    Args:
        changes: what a patch makes of the tree at `root`.
        root: the unpatched tree.
    """
    found: dict[str, None] = {}
    for change in changes:
        if change.content is None or not change.path.endswith(".py"):
            continue
        before = root / change.path
        old = set(_names(before.read_bytes() if before.is_file() else b""))
        found.update(dict.fromkeys(name for name in _names(change.content) if name not in old))
    return tuple(found)


def _names(content: bytes) -> Iterator[str]:
    """Yield the words of a module's code, without comments and docstrings."""
    text = content.decode("utf-8", "replace")
    try:
        tree = parse(text)
    except (SyntaxError, ValueError, RecursionError):
        yield from _WORDS.findall(text)
        return
    told = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if id(node) not in told:
            yield from _WORDS.findall(_word(node))
        if isinstance(node, ast.FunctionDef) and node.name == "__eq__" and _is_true(node):
            yield "always-true __eq__"


def _word(node: ast.AST) -> str:
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        return node.attr
    if isinstance(node, ast.alias):
        return node.name.replace(".", " ")
    if isinstance(node, ast.ImportFrom):
        return (node.module or "").replace(".", " ")
    if isinstance(node, ast.keyword):
        return node.arg or ""
    if isinstance(node, ast.FunctionDef | ast.ClassDef):
        return node.name
    if isinstance(node, ast.Constant) and isinstance(node.value, str | bytes):
        value = node.value
        return value if isinstance(value, str) else value.decode("utf-8", "replace")
    return ""


def _is_true(function: ast.FunctionDef) -> bool:
    """Return whether a function does nothing but say True, whatever it is given."""
    body = [node for node in function.body if not isinstance(node, ast.Expr)]
    return (
        len(body) == 1
        and isinstance(body[0], ast.Return)
        and isinstance(body[0].value, ast.Constant)
        and body[0].value.value is True
    )
