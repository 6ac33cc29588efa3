"""A test module that stands alone, taken apart into what is placed separately."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from pytest_brt.code.entries import import_statement
from pytest_brt.code.header import NeededImport
from pytest_brt.code.scope import undefined_names
from pytest_brt.code.splice import SourceText, parse_source, read_source, split_lines
from pytest_brt.errors import EditProblem

FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """One top-level statement of the module, imports left out."""

    #: Its lines with the comments right above, ending with a line end.
    text: str
    #: What it defines as a function or class, else "".
    name: str
    #: A test function or a class of tests.
    test: bool
    is_class: bool
    #: Every name that is read or bound in it.
    names: frozenset[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Pieces:
    """A whole module."""

    #: The imports that something in it uses; star imports as the names that they must bring.
    imports: tuple[NeededImport, ...]
    #: Everything else, in order.
    pieces: tuple[Piece, ...]

    @property
    def tests(self) -> tuple[Piece, ...]:
        """The tests among the pieces."""
        return tuple(piece for piece in self.pieces if piece.test)


def take_apart(source: str) -> Pieces:
    """Return the parts of the test module `source`.

    Raises:
        EditProblem: it is not Python, has no test, or marks the module as a whole.
    """
    text = read_source("the new test", source.encode("utf-8", "surrogatepass")).text
    text = text.replace("\r\n", "\n")
    tree = parse_source(SourceText(path="the new test", text=text, encoding="utf-8"))
    body = tree.body
    if body and isinstance(body[0], ast.Expr) and isinstance(body[0].value, ast.Constant):
        body = body[1:]
    pieces = tuple(_pieces(body, text))
    if not any(piece.test for piece in pieces):
        raise EditProblem("the new test has no function called test_… (give it one)")
    if any("pytestmark" in piece.names for piece in pieces):
        raise EditProblem("the new test sets pytestmark, which would mark its neighbours as well")
    used = frozenset().union(*(piece.names for piece in pieces))
    wanted = [item for item in _imports(body, text) if item[2] in used]
    return Pieces(imports=tuple(dict.fromkeys(wanted)), pieces=pieces)


def _pieces(body: list[ast.stmt], text: str) -> Iterator[Piece]:
    lines = split_lines(text)
    for node in body:
        if isinstance(node, ast.Import | ast.ImportFrom):
            continue
        first = node.lineno
        name = ""
        if isinstance(node, FunctionNode | ast.ClassDef):
            name = node.name
            first = min([first, *(decorator.lineno for decorator in node.decorator_list)])
        while first > 1 and lines[first - 2].startswith("#") and "coding" not in lines[first - 2]:
            first -= 1
        chunk = "".join(lines[first - 1 : node.end_lineno])
        yield Piece(
            text=chunk if chunk.endswith("\n") else f"{chunk}\n",
            name=name,
            test=name.startswith("Test" if isinstance(node, ast.ClassDef) else "test"),
            is_class=isinstance(node, ast.ClassDef),
            names=frozenset(_names(node)),
        )


def _names(node: ast.AST) -> Iterator[str]:
    for inner in ast.walk(node):
        if isinstance(inner, ast.Name):
            yield inner.id
        elif isinstance(inner, FunctionNode | ast.ClassDef):
            yield inner.name


def _imports(body: list[ast.stmt], text: str) -> Iterator[NeededImport]:
    for node in body:
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield (alias.name, "", alias.asname or alias.name.partition(".")[0])
        elif isinstance(node, ast.ImportFrom):
            if node.level:
                raise EditProblem(
                    f"the new test imports from {'.' * node.level + (node.module or '')!r}"
                    " (a test that stands alone needs the whole name)"
                )
            module = node.module or ""
            for alias in node.names if module != "__future__" else ():
                if alias.name == "*":
                    yield from ((module, name.name, name.name) for name in undefined_names(text))
                else:
                    yield (module, alias.name, alias.asname or alias.name)


def statement_of(item: NeededImport) -> str:
    """Return the import as a statement."""
    return import_statement(*item)
