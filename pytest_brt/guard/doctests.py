"""The examples in docstrings, as tests."""

from __future__ import annotations

import ast
import doctest
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

from pytest_brt.guard.suite import ExistingTest
from pytest_brt.syntax.parse import parse_or_empty

_Documented = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef


def read_doctests(path: str, text: str, root: Path) -> tuple[ExistingTest, ...]:
    """Return the examples of the module at `path` below `root`, a test for each docstring.

    Their names are those of pytest, which imports a module from above its outermost package.
    The source of each has what is expected as an assert.
    """
    found = []
    for name, node in _documented(parse_or_empty(text), _module(path, root)):
        docstring = ast.get_docstring(node) or ""
        if ">>>" in docstring and (source := _source(docstring)):
            found.append(ExistingTest(path=path, node=name, source=source, is_doctest=True))
    return tuple(found)


def _documented(node: _Documented, name: str) -> Iterator[tuple[str, _Documented]]:
    yield name, node
    if isinstance(node, ast.Module | ast.ClassDef):
        for inner in node.body:
            if isinstance(inner, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
                yield from _documented(inner, f"{name}.{inner.name}")


def _module(path: str, root: Path) -> str:
    file = PurePosixPath(path).with_suffix("")
    parts = [] if file.name == "__init__" else [file.name]
    for folder in file.parents:
        if not folder.name or not (root / folder / "__init__.py").is_file():
            break
        parts.append(folder.name)
    return ".".join(reversed(parts))


def _source(docstring: str) -> str:
    r"""Return examples as a test's source; "" where they are not written as doctest wants them.

    >>> _source(">>> double(2)\n4\n>>> x = 1")
    'assert double(2) == 4\nx = 1'
    """
    try:
        examples = doctest.DocTestParser().get_examples(docstring)
    except ValueError:
        return ""
    lines = []
    for example in examples:
        said, wanted = example.source.strip(), " ".join(example.want.split())
        lines.append(f"assert {said} == {wanted}" if wanted else said)
    return "\n".join(lines)
