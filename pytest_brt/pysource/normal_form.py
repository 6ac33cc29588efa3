"""Keys that are equal for tests that say the same, and for patches that make the same program.

Of a test, formatting, comments, docstrings, its own name and the order of its imports do not count.
Of a patch only formatting and comments do not: programs read their docstrings (docopt, argparse),
the names of their variables (PLY) and the modes of their files.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence
from contextlib import suppress
from itertools import chain

from pytest_brt.codec import content_id
from pytest_brt.pysource.parse import decode, is_constant, parse, tree_of
from pytest_brt.types import FileChange

_NAMED = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
_TEST = re.compile(r"[Tt]est")
_IMPORT = re.compile(r"(?:import|from) ")


def normal_test(source: str) -> str:
    """Return the normal form of a test module that stands alone.

    Raises:
        SyntaxError: it is not Python.
    """
    tree = parse(source)
    nodes = [*ast.walk(tree)]
    tests = (node for node in nodes if isinstance(node, _NAMED) and _TEST.match(node.name))
    for number, test in enumerate(tests):
        test.name = f"{test.name[:4]}_{number}"
    for node in nodes:
        body = getattr(node, "body", None)
        if isinstance(body, list):
            said = [
                one for one in body if not (isinstance(one, ast.Pass) or is_constant(one))
            ]
            body[:] = said or [ast.Pass()]
    statements = [ast.unparse(node) for node in tree.body]
    # A "from __future__" must be first: "f" comes before "i", "_" before letters.
    imports = sorted(filter(_IMPORT.match, statements))
    return "\n".join([*imports, *(one for one in statements if not _IMPORT.match(one))])


def test_key(source: str) -> str:
    """Return a short key that is equal for equal tests; text that is no Python is its own form."""
    try:
        return content_id("test", normal_test(source))
    except (SyntaxError, RecursionError, ValueError):
        return content_id("text", " ".join(source.split()))


# pytest must not take it for a test where it is imported.
test_key.__test__ = False  # type: ignore[attr-defined]  # functions take attributes


def patch_key(changes: Sequence[FileChange]) -> str:
    """Return a short key that is equal for patches that make the same program of a tree.

    Equal are the bytes of data files, the modes of all files, and of Python files the syntax trees
    with docstrings, constants and names.
    """
    ordered = sorted(changes, key=lambda change: change.path)
    return content_id(
        "patch", *chain.from_iterable((one.path, _form(one)) for one in ordered)
    )


def _form(change: FileChange) -> str:
    """Return what tells a file from others."""
    if change.content is None:
        return "absent"
    mode, program = "program" if change.executable else "file", ""
    if change.path.endswith((".py", ".pyi")):
        with suppress(SyntaxError, RecursionError, ValueError):
            program = ast.dump(tree_of(decode(change.content)))
    return content_id(mode, program or change.content)
