"""Keys that are equal for tests that say the same, and for patches that make the same program.

Of a test, formatting, comments, docstrings, its own name and the order of its imports do not count.
Of a patch only formatting and comments do not: programs read their docstrings (docopt, argparse),
the names of their variables (PLY) and the modes of their files.
"""

from __future__ import annotations

import ast
import stat
from collections.abc import Iterator, Sequence
from functools import lru_cache
from pathlib import Path

from pytest_brt.codec import content_id
from pytest_brt.pysource.parse import Function, decode, is_constant, parse
from pytest_brt.types import FileChange


def normal_test(source: str) -> str:
    """Return the normal form of a test module that stands alone.

    Raises:
        SyntaxError: it is not Python.
    """
    tree = parse(source)
    imports = {line for node in tree.body for line in _imports_in(node)}
    _drop_idle(tree)
    _number_tests(tree)
    body = [node for node in tree.body if not isinstance(node, ast.Import | ast.ImportFrom)]
    # A "from __future__" must be first: "f" comes before "i", "_" before letters.
    return "\n".join([*sorted(imports), *map(ast.unparse, body)])


def _imports_in(node: ast.stmt) -> Iterator[str]:
    """Yield a statement for each name that an import binds."""
    if isinstance(node, ast.Import):
        for alias in node.names:
            yield ast.unparse(ast.Import(names=[alias]))
    elif isinstance(node, ast.ImportFrom):
        for alias in node.names:
            yield ast.unparse(ast.ImportFrom(module=node.module, names=[alias], level=node.level))


def _drop_idle(tree: ast.Module) -> None:
    """Take out docstrings and other bare constants, and spare ``pass``."""
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        if isinstance(body, list):
            kept = [one for one in body if not (isinstance(one, ast.Pass) or is_constant(one))]
            is_empty = not kept and not isinstance(node, ast.Module)
            node.body = [ast.Pass()] if is_empty else kept  # type: ignore[attr-defined]


def _number_tests(tree: ast.Module) -> None:
    """Give test functions and test classes numbers for names, wherever they are named."""
    given: dict[str, str] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef) and node.name.startswith("Test"):
            given.setdefault(node.name, f"Test{len(given)}")
        elif isinstance(node, Function) and node.name.startswith("test"):
            given.setdefault(node.name, f"test_{len(given)}")
    for node in ast.walk(tree):
        if isinstance(node, Function | ast.ClassDef):
            node.name = given.get(node.name, node.name)
        elif isinstance(node, ast.Name):
            node.id = given.get(node.id, node.id)


def test_key(source: str) -> str:
    """Return a short key that is equal for equal tests; text that is no Python is its own form."""
    try:
        return content_id("test", normal_test(source))
    except (SyntaxError, RecursionError):
        return content_id("text", " ".join(source.split()))


# pytest must not take it for a test where it is imported.
test_key.__test__ = False  # type: ignore[attr-defined]  # functions take attributes


def patch_key(changes: Sequence[FileChange], root: Path) -> str:
    """Return a short key that is equal for patches that make the same program of that at `root`.

    Equal are the bytes of data files, the modes of all files, and of Python files the syntax trees
    with docstrings, constants and names; a file that only changed in comments or formatting does
    not count.
    """
    parts: list[str] = []
    for change in sorted(changes, key=lambda change: change.path):
        place = root / change.path
        before = after = "absent"
        if place.is_file():
            executable = bool(place.stat().st_mode & stat.S_IXUSR)  # as patches are applied
            before = _form(change.path, place.read_bytes(), executable)
        if change.content is not None:
            after = _form(change.path, change.content, change.executable)
        if after != before:
            parts += [change.path, after]
    return content_id("patch", *parts)


def _form(path: str, content: bytes, executable: bool) -> str:
    is_python = path.endswith((".py", ".pyi"))
    form = _program(content) if is_python else content_id(content)
    return f"{'program' if executable else 'file'} {form}"


@lru_cache(maxsize=64)
def _program(content: bytes) -> str:
    """Return what a Python file says; patches change the same ones again and again."""
    try:
        return content_id(ast.dump(parse(decode(content))))
    except (SyntaxError, RecursionError):
        return content_id(content)
