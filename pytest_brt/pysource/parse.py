"""Python text → `ast`, safely from several threads.

CPython 3.11 and 3.12 count the depth of the tree they build in one place for the whole process:
two threads that parse at the same time can end in ``SystemError: AST constructor recursion depth
mismatch``. `warnings.catch_warnings` swaps the filters of the whole process as well. So there is
one lock, and everything that parses takes it.
"""

from __future__ import annotations

import ast
import importlib.util
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from threading import RLock
from types import CodeType

#: Held while anything is parsed; also by those who have pytest show a traceback.
PARSING = RLock()
#: How a statement begins that imports something.
IMPORTS = ("import ", "from ")
#: A function, whether it is to be awaited or not.
Function = ast.FunctionDef | ast.AsyncFunctionDef


@contextmanager
def _parsing() -> Iterator[None]:
    """Hold the lock, without warnings; what cannot be parsed ends in a SyntaxError."""
    with PARSING, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            yield
        except (ValueError, RecursionError, MemoryError) as error:
            raise SyntaxError(str(error)) from error


def decode(data: bytes) -> str:
    """Return the text of a Python file: PEP 263 encoding, newlines normalised.

    Bytes that are not in the declared encoding are read as Latin-1, so that any file is text.
    """
    try:
        return importlib.util.decode_source(data)
    except (SyntaxError, UnicodeDecodeError, LookupError):
        return data.decode("latin-1").replace("\r\n", "\n").replace("\r", "\n")


def parse(text: str | bytes) -> ast.Module:
    """Return the syntax tree of `text`, without the warnings that old code causes.

    Raises:
        SyntaxError: it is not Python of this interpreter's version; also for null bytes and
            for nesting too deep to be parsed.
    """
    with _parsing():
        return ast.parse(text)


@lru_cache(maxsize=8)
def tree_of(text: str | bytes) -> ast.Module:
    """Return what `parse` does, kept for the next who asks: it is not to be changed.

    A patch is looked at from many sides, each of which reads its file before and after.
    """
    return parse(text)


def code_of(node: ast.AST) -> str:
    """Return the code of a syntax tree, "" of one that cannot be written as text.

    Such a one is nested more deeply than Python can go, or has a number of thousands of digits.
    """
    try:
        return ast.unparse(node)
    except (RecursionError, ValueError):
        return ""


def parse_or_empty(text: str | bytes) -> ast.Module:
    """Return what `tree_of` does, or the tree of an empty text where it is not Python."""
    try:
        return tree_of(text)
    except SyntaxError:
        return ast.Module(body=[], type_ignores=[])


def parses(source: str) -> bool:
    """Say whether `source` is a module in Python of this version."""
    try:
        compiled(source)
    except SyntaxError:
        return False
    return True


def is_literal(text: str) -> bool:
    """Say whether `text` is a value that needs no name: a number, a string, a list of them."""
    try:
        ast.literal_eval(text)
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        return False
    return True


def compiled(text: str) -> CodeType:
    """Return the code of the module `text`, which may await; raises as `parse` does."""
    flags = ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
    with _parsing():
        code: CodeType = compile(text, "<source>", "exec", flags, dont_inherit=True)
        return code


def first_line(node: ast.stmt | ast.expr) -> int:
    """Return the 1-based line in which `node` begins, decorators included."""
    decorators: list[ast.expr] = getattr(node, "decorator_list", [])
    return min([node.lineno, *(decorator.lineno for decorator in decorators)])


def covers(node: ast.stmt, line: int) -> bool:
    """Say whether `node` has a 1-based line, its decorators' left out."""
    return node.lineno <= line <= (node.end_lineno or node.lineno)


def is_constant(node: ast.stmt) -> bool:
    """Return whether `node` is nothing but a constant: a docstring, or an ellipsis."""
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def is_test_class(node: ast.ClassDef) -> bool:
    """Say whether pytest takes a class for one of tests: by its name, or as a ``TestCase``."""
    bases = [code_of(base) for base in node.bases]
    return node.name.startswith("Test") or any(base.endswith("TestCase") for base in bases)


def find_tests(
    body: Sequence[ast.stmt], holder: str = ""
) -> Iterator[tuple[str, Function]]:
    """Yield the tests among statements with their names, as in "test_a" and "TestX::test_a"."""
    for node in body:
        if isinstance(node, Function) and node.name.startswith("test"):
            yield f"{holder}{node.name}", node
        elif isinstance(node, ast.ClassDef) and not holder and is_test_class(node):
            yield from find_tests(node.body, f"{node.name}::")
