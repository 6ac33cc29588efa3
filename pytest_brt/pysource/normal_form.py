"""Keys that are equal for tests that say the same, and for patches that make the same program.

Of a test, formatting, comments, docstrings, its own name and the order of its imports do not count.
Of a patch only formatting and comments do not: programs read their docstrings (docopt, argparse),
the names of their variables (PLY) and the modes of their files.
"""

from __future__ import annotations

import ast
import re
import stat
from collections.abc import Iterator, Sequence
from copy import copy
from functools import lru_cache
from pathlib import Path

from pytest_brt.codec import content_id
from pytest_brt.pysource.parse import decode, is_constant, parse
from pytest_brt.types import FileChange

_NAMED = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
_IMPORT = (ast.Import, ast.ImportFrom)
_TEST = re.compile(r"[Tt]est")


def normal_test(source: str) -> str:
    """Return the normal form of a test module that stands alone.

    Raises:
        SyntaxError: it is not Python.
    """
    tree = parse(source)
    nodes = [*ast.walk(tree)]
    tests = [node.name for node in nodes if isinstance(node, _NAMED) and _TEST.match(node.name)]
    numbers = {name: f"{name[:4]}_{n}" for n, name in enumerate(dict.fromkeys(tests))}
    for node in nodes:
        if isinstance(node, _NAMED):
            node.name = numbers.get(node.name, node.name)
        elif isinstance(node, ast.Name):
            node.id = numbers.get(node.id, node.id)
        body = getattr(node, "body", None)
        if isinstance(body, list):
            said = [one for one in body if not (isinstance(one, ast.Pass) or is_constant(one))]
            body[:] = said or [ast.Pass()]
    imports = {line for node in tree.body if isinstance(node, _IMPORT) for line in _bindings(node)}
    rest = [ast.unparse(node) for node in tree.body if not isinstance(node, _IMPORT)]
    # A "from __future__" must be first: "f" comes before "i", "_" before letters.
    return "\n".join([*sorted(imports), *rest])


def _bindings(node: ast.Import | ast.ImportFrom) -> Iterator[str]:
    """Yield a statement for each name that an import binds."""
    for alias in node.names:
        one = copy(node)
        one.names = [alias]
        yield ast.unparse(one)


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
        before = None
        if place.is_file():
            is_executable = bool(place.stat().st_mode & stat.S_IXUSR)  # as patches are applied
            before = _form(change.path, place.read_bytes(), is_executable)
        after = _form(change.path, change.content, change.executable)
        parts += [change.path, after or "absent"] if after != before else []
    return content_id("patch", *parts)


def _form(path: str, content: bytes | None, is_executable: bool) -> str | None:
    """Return what tells a file from others, None where there is none."""
    if content is None:
        return None
    form = _program(content) if path.endswith((".py", ".pyi")) else content_id(content)
    return f"{'program' if is_executable else 'file'} {form}"


@lru_cache(maxsize=64)
def _program(content: bytes) -> str:
    """Return what a Python file says; patches change the same ones again and again."""
    try:
        return content_id(ast.dump(parse(decode(content))))
    except (SyntaxError, RecursionError):
        return content_id(content)
