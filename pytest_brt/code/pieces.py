"""A test module that stands alone, taken apart into what is placed separately."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import libcst as cst
from libcst import matchers

from pytest_brt.code.file_facts import read_facts
from pytest_brt.code.rewrite import NeededImport, Statement
from pytest_brt.code.scope import undefined_names
from pytest_brt.code.source import SourceText, read_module, read_test
from pytest_brt.errors import EditProblem
from pytest_brt.syntax import parse

_FUNCTIONS = ast.FunctionDef | ast.AsyncFunctionDef
#: A statement that is nothing but a text: at the top of a module, its docstring.
_TEXT = matchers.SimpleStatementLine(
    body=[matchers.Expr(value=matchers.SimpleString() | matchers.ConcatenatedString())]
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """One top-level statement of the module, imports left out."""

    #: With the comments right above.
    node: Statement
    #: What it defines as a function or class, else "".
    name: str
    #: A test function or a class of tests.
    test: bool
    #: Every name that is read or bound in it.
    names: frozenset[str]

    @property
    def text(self) -> str:
        """Its code, ending with a line end."""
        return cst.Module([]).code_for_node(self.node)


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


def take_apart(source: str, newline: str = "\n") -> Pieces:
    """Return the parts of the test module `source`, with the line ends of the file to be.

    Raises:
        EditProblem: it is not Python, has no test, or marks the module as a whole.
    """
    module, tests = read_test(source)
    text = module.text.replace("\r\n", "\n").replace("\n", newline)
    whole = replace(module, text=text)
    pieces = tuple(_pieces(statements_of(whole), tests))
    if any("pytestmark" in piece.names for piece in pieces):
        raise EditProblem("the new test sets pytestmark, which would mark its neighbours as well")
    used = frozenset().union(*(piece.names for piece in pieces))
    wanted = [item for item in _imports(text) if item[2] in used]
    return Pieces(imports=tuple(dict.fromkeys(wanted)), pieces=pieces)


def statements_of(source: SourceText) -> list[Statement]:
    """Return the top-level statements of `source`, each with the comments right above it."""
    module = read_module(source)
    above = {0: module.header}
    return [
        node.with_changes(leading_lines=_comments([*above.get(at, ()), *node.leading_lines]))
        for at, node in enumerate(module.body)
    ]


def _comments(lines: Sequence[cst.EmptyLine]) -> list[cst.EmptyLine]:
    """Return the comments at the end of `lines`, but for one on the encoding."""
    kept: list[cst.EmptyLine] = []
    for line in reversed(lines):
        if line.comment is None or "coding" in line.comment.value:
            break
        kept.insert(0, line)
    return kept


def _pieces(body: Sequence[Statement], tests: Sequence[str]) -> Iterator[Piece]:
    for at, statement in enumerate(body):
        node = _without_imports(statement)
        if node is None or (at == 0 and matchers.matches(node, _TEXT)):
            continue
        name = node.name.value if isinstance(node, cst.FunctionDef | cst.ClassDef) else ""
        code = cst.Module([]).code_for_node(node)
        yield Piece(
            node=node,
            name=name,
            test=name in tests,
            names=frozenset(_names(parse(code))),
        )


def _without_imports(node: Statement) -> Statement | None:
    """Return the statements of a line without the imports among them, None when no other is."""
    if not isinstance(node, cst.SimpleStatementLine):
        return node
    kept = [part for part in node.body if not isinstance(part, cst.Import | cst.ImportFrom)]
    if len(kept) == len(node.body):
        return node
    if not kept:
        return None
    last = kept[-1].with_changes(semicolon=cst.MaybeSentinel.DEFAULT)
    return node.with_changes(body=[*kept[:-1], last])


def _names(node: ast.AST) -> Iterator[str]:
    for inner in ast.walk(node):
        if isinstance(inner, ast.Name):
            yield inner.id
        elif isinstance(inner, _FUNCTIONS | ast.ClassDef):
            yield inner.name


def _imports(text: str) -> Iterator[NeededImport]:
    for item in read_facts(text).imports:
        if item.top and item.name == "*":
            yield from ((item.module, name.name, name.name) for name in undefined_names(text))
        elif item.top and item.module != "__future__":
            yield (item.module, item.name, item.bound)
