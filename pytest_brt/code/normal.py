"""Normal forms: equal for tests, and for patches, that mean the same.

Formatting, comments, docstrings and the names of local variables do not count; of a test, its
name and the order of its imports do not either (LIBRO's syntactic cluster key, paper 001,
requirement 24 of its code; patch groups as Agentless and others vote on them).
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Sequence

from pytest_brt.code.locals import rename_locals
from pytest_brt.code.source import decode
from pytest_brt.codec import content_id
from pytest_brt.syntax import is_constant, parse
from pytest_brt.types import FileChange

_Function = ast.FunctionDef | ast.AsyncFunctionDef


def normal_test(source: str) -> str:
    """Return the normal form of a test module that stands alone.

    Raises:
        SyntaxError: it is not Python.
    """
    tree = parse(source)
    imports = sorted(set(_split_imports(tree.body)))
    body = [n for n in tree.body if not isinstance(n, ast.Import | ast.ImportFrom)]
    tree.body = [*parse("\n".join(imports)).body, *body]
    _drop_idle(tree)
    _number_tests(tree)
    rename_locals(tree, module_too=True)
    return ast.unparse(tree)


def test_key(source: str) -> str:
    """Return a short key that is equal for equal tests; text that is no Python is its own form."""
    try:
        return content_id("test", normal_test(source))
    except (SyntaxError, RecursionError):
        return content_id("text", " ".join(source.split()))


# pytest must not take it for a test where it is imported.
test_key.__test__ = False  # type: ignore[attr-defined]  # functions take attributes


def normal_file(source: str) -> str:
    """Return the normal form of a module of the product.

    Raises:
        SyntaxError: it is not Python.
    """
    tree = parse(source)
    _drop_idle(tree)
    rename_locals(tree)
    return ast.unparse(tree)


def patch_key(changes: Sequence[FileChange], original: Callable[[str], bytes | None]) -> str:
    """Return a short key that is equal for patches that make equal trees.

    Args:
        changes: what the patch makes of the files it touches.
        original: gives a file's content before it, None when there was none. A file that
            only changed in comments or formatting does not count.
    """
    parts: list[str] = []
    for change in sorted(changes, key=lambda change: change.path):
        after = _form(change.path, change.content)
        if after != _form(change.path, original(change.path)):
            parts += [change.path, after]
    return content_id("patch", *parts)


def _form(path: str, content: bytes | None) -> str:
    if content is None:
        return "absent"
    if not path.endswith((".py", ".pyi")):
        return "bytes " + content_id(content)
    text = decode(content)
    try:
        return "python " + normal_file(text)
    except (SyntaxError, RecursionError):
        return "text " + "\n".join(line.rstrip() for line in text.splitlines() if line.strip())


def _split_imports(body: Sequence[ast.stmt]) -> Iterator[str]:
    """Yield each imported name as a statement of its own."""
    for node in body:
        if isinstance(node, ast.Import | ast.ImportFrom):
            for alias in node.names:
                single = (
                    ast.Import(names=[alias])
                    if isinstance(node, ast.Import)
                    else ast.ImportFrom(module=node.module, names=[alias], level=node.level)
                )
                # A "from __future__" must be first: "f" comes before "i", "_" before letters.
                yield ast.unparse(single)


def _drop_idle(tree: ast.Module) -> None:
    """Take out statements that do nothing: docstrings and other bare constants, spare ``pass``."""
    for node in ast.walk(tree):
        for field in ("body", "orelse", "finalbody"):
            block = getattr(node, field, None)
            if not isinstance(block, list) or not block:
                continue
            kept = [statement for statement in block if not _is_idle(statement)]
            if not kept and field == "body" and not isinstance(node, ast.Module):
                kept = [ast.Pass()]
            setattr(node, field, kept)


def _is_idle(node: ast.stmt) -> bool:
    return isinstance(node, ast.Pass) or is_constant(node)


def _number_tests(tree: ast.Module) -> None:
    """Give test functions and test classes numbers for names."""
    given: dict[str, str] = {}
    for node in _in_order(tree.body):
        if isinstance(node, ast.ClassDef) and node.name.startswith("Test"):
            given[node.name] = f"Test{len(given)}"
        elif isinstance(node, _Function) and node.name.startswith("test"):
            given.setdefault(node.name, f"test_{len(given)}")
    for inner in ast.walk(tree):
        if isinstance(inner, _Function | ast.ClassDef):
            inner.name = given.get(inner.name, inner.name)
        elif isinstance(inner, ast.Name):
            inner.id = given.get(inner.id, inner.id)


def _in_order(body: Sequence[ast.stmt]) -> Iterator[ast.stmt]:
    for node in body:
        yield node
        if isinstance(node, ast.ClassDef):
            yield from _in_order(node.body)
