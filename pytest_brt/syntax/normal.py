"""Keys that are equal for tests that say the same, and for patches that make the same program.

Of a test, formatting, comments, docstrings, the names of local variables, its own name and the
order of its imports do not count (LIBRO's syntactic cluster key, paper 001). Of a patch only
formatting and comments do not: programs read their docstrings (docopt, argparse), the names of
their variables (PLY) and the modes of their files, and what two patches have in common is run once.
"""

from __future__ import annotations

import ast
import io
import itertools
import stat
import symtable
from collections.abc import Collection, Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

from pytest_brt.codec import content_id
from pytest_brt.syntax.parse import (
    Function,
    called_names,
    decode,
    first_line,
    is_constant,
    parse,
    symbols,
    tree_of,
)
from pytest_brt.types import FileChange

_LOOKS_AT_NAMES = frozenset({"locals", "vars", "eval", "exec", "dir", "globals"})


def normal_test(source: str) -> str:
    """Return the normal form of a test module that stands alone.

    Raises:
        SyntaxError: it is not Python.
    """
    tree = parse(source)
    imports = [node for node in tree.body if isinstance(node, ast.Import | ast.ImportFrom)]
    # A "from __future__" must be first: "f" comes before "i", "_" before letters.
    lines = sorted({line for node in imports for line in _one_by_one(node)})
    body = [node for node in tree.body if node not in imports]
    tree.body = [*parse("\n".join(lines)).body, *body]
    _drop_idle(tree)
    _number_tests(tree)
    _rename(tree)
    return ast.unparse(tree)


def _one_by_one(node: ast.Import | ast.ImportFrom) -> Iterator[str]:
    """Yield a statement for each name that an import binds."""
    for alias in node.names:
        if isinstance(node, ast.Import):
            yield ast.unparse(ast.Import(names=[alias]))
        else:
            single = ast.ImportFrom(module=node.module, names=[alias], level=node.level)
            yield ast.unparse(single)


def test_key(source: str) -> str:
    """Return a short key that is equal for equal tests; text that is no Python is its own form."""
    try:
        return content_id("test", normal_test(source))
    except (SyntaxError, RecursionError):
        return content_id("text", " ".join(source.split()))


# pytest must not take it for a test where it is imported.
test_key.__test__ = False  # type: ignore[attr-defined]  # functions take attributes


def _parts(source: str) -> Iterator[str]:
    """Yield the statements of a module as text, those together that share a line."""
    lines = list(io.StringIO(source, newline=None))
    begin = end = 0
    for node in tree_of(source).body:
        if first_line(node) > end:
            yield "".join(lines[begin:end])
            begin = first_line(node) - 1
        end = node.end_lineno or node.lineno
    yield "".join(lines[begin:end])


@lru_cache(maxsize=1 << 10)
def _syntax(source: str) -> str:
    """Return the syntax tree of statements as text: most are alike in all patches of a file."""
    return ast.dump(parse(source))


def patch_key(changes: Sequence[FileChange], root: Path) -> str:
    """Return a short key that is equal for patches that make the same program of that at `root`.

    Equal are the bytes of data files, the modes of all files, and of Python files the syntax trees
    with docstrings, constants and names; a file that only changed in comments or formatting does
    not count.
    """
    parts: list[str] = []
    for change in sorted(changes, key=lambda change: change.path):
        place = root / change.path
        before = "absent"
        if place.is_file():
            executable = bool(place.stat().st_mode & stat.S_IXUSR)  # as patches are applied
            before = _form(change.path, place.read_bytes(), executable)
        after = "absent"
        if change.content is not None:
            after = _form(change.path, change.content, change.executable)
        if after != before:
            parts += [change.path, after]
    return content_id("patch", *parts)


def _form(path: str, content: bytes, executable: bool) -> str:
    mode = "program" if executable else "file"
    if not path.endswith((".py", ".pyi")):
        return f"{mode} {content_id(content)}"
    try:
        trees = [_syntax(part) for part in _parts(decode(content))]
    except (SyntaxError, RecursionError):
        return f"{mode} {content_id(content)}"
    return f"{mode} {content_id(*trees)}"


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
        elif isinstance(node, Function) and node.name.startswith("test"):
            given.setdefault(node.name, f"test_{len(given)}")
    for inner in ast.walk(tree):
        if isinstance(inner, Function | ast.ClassDef):
            inner.name = given.get(inner.name, inner.name)
        elif isinstance(inner, ast.Name):
            inner.id = given.get(inner.id, inner.id)


def _in_order(body: Sequence[ast.stmt]) -> Iterator[ast.stmt]:
    for node in body:
        yield node
        if isinstance(node, ast.ClassDef):
            yield from _in_order(node.body)


def _rename(tree: ast.Module) -> None:
    """Give the variables of a test module and its functions numbers for names.

    Two that differ only in those names become equal. A name that means something else anywhere
    in it is left as it is, and so is all of it where it looks at its own names.
    """
    if called_names(tree) & _LOOKS_AT_NAMES:
        return
    table = symbols(ast.unparse(tree))
    shared = set(_own(table))
    own = shared | {name for inner in _functions(table) for name in _own(inner)}
    kept = set(_kept(table, shared))
    fresh = (new for new in map("v{}".format, itertools.count()) if new not in kept)
    given: dict[str, str] = {}
    for node, field in sorted(_named(tree), key=lambda one: (one[0].lineno, one[0].col_offset)):
        name = getattr(node, field)
        if name in own - kept:
            if name not in given:
                given[name] = next(fresh)
            setattr(node, field, given[name])
    for node in ast.walk(tree):
        if isinstance(node, ast.Global | ast.Nonlocal):
            node.names = [given.get(name, name) for name in node.names]


def _own(table: symtable.SymbolTable) -> Iterator[str]:
    """Yield the variables of one scope; a parameter can be named elsewhere, but for a lambda's."""
    for symbol in table.get_symbols():
        local = symbol.is_local() and not symbol.is_namespace() and not symbol.is_imported()
        named = symbol.is_parameter() and table.get_name() != "lambda"
        if local and not named and not symbol.get_name().startswith(("__", "pytest")):
            yield symbol.get_name()


def _functions(table: symtable.SymbolTable) -> Iterator[symtable.SymbolTable]:
    for inner in table.get_children():
        if inner.get_type() == "function":
            yield inner
        yield from _functions(inner)


def _kept(table: symtable.SymbolTable, shared: Collection[str]) -> Iterator[str]:
    """Yield the names that are no variables: of what is elsewhere, or can be seen from there."""
    own = set(shared) if table.get_type() == "module" else set[str]()
    own |= set(_own(table)) if table.get_type() == "function" else set()
    for symbol in table.get_symbols():
        outer = symbol.is_free() or (symbol.is_global() and symbol.get_name() in shared)
        if not outer and symbol.get_name() not in own:
            yield symbol.get_name()
    for inner in table.get_children():
        yield from _kept(inner, shared)


#: Where a node has a name.
_FIELDS: dict[type[ast.AST], str] = {
    ast.Name: "id",
    ast.arg: "arg",
    ast.ExceptHandler: "name",
    ast.MatchAs: "name",
    ast.MatchStar: "name",
    ast.MatchMapping: "rest",
}


def _named(tree: ast.AST) -> Iterator[tuple[Any, str]]:
    return ((node, _FIELDS[type(node)]) for node in ast.walk(tree) if type(node) in _FIELDS)
