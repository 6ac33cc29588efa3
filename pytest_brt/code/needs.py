"""What a test needs around it, and where that can go in a file without touching what is there."""

from __future__ import annotations

import ast
from dataclasses import dataclass

from pytest_brt.code.entries import import_statement
from pytest_brt.code.header import NeededImport
from pytest_brt.code.pieces import Piece, Pieces
from pytest_brt.code.scope import bound_names
from pytest_brt.syntax import parse


@dataclass(frozen=True, slots=True, kw_only=True)
class Needs:
    """The surroundings of a test, divided up."""

    #: Imports for the top of the file.
    imports: tuple[NeededImport, ...]
    #: Helpers for the top level of the file.
    top: tuple[Piece, ...]
    #: For the body of each test, in order: the names in it, and the code.
    local: tuple[tuple[frozenset[str], str], ...]

    def local_for(self, piece: Piece) -> tuple[str, ...]:
        """Return the statements that the test `piece` has to start with."""
        return tuple(
            code
            for names, code in self.local
            # An import is needed where its name is used, a statement everywhere.
            if not names or names & self._reach(piece)
        )

    def _reach(self, piece: Piece) -> frozenset[str]:
        """Return the names used by `piece` and by the local code that comes with it."""
        reach = set(piece.names)
        for names, code in self.local:
            if not names or names & reach:
                reach.update(n.id for n in ast.walk(parse(code)) if isinstance(n, ast.Name))
        return frozenset(reach)


def plan_needs(pieces: Pieces, text: str, tree: ast.Module) -> Needs:
    """Return where imports, helpers and statements of a test module go in the file `text`.

    To the top what is free there, or there already with the same meaning; into the test what
    is not, what depends on that, and all plain statements.
    """
    taken = bound_names(text)
    present = set(_imports_of(tree))
    clashing = [i for i in pieces.imports if i[2] in taken and i not in present]
    moved = {item[2] for item in clashing}
    local: list[tuple[frozenset[str], str]] = [
        (frozenset({item[2]}), import_statement(*item) + "\n") for item in clashing
    ]
    top: list[Piece] = []
    for piece in pieces.pieces:
        if piece.test:
            continue
        if not piece.name:
            local.append((frozenset(), piece.text))
            moved |= piece.names
            continue
        known = [n for n in tree.body if getattr(n, "name", "") == piece.name]
        if any(ast.dump(n) == ast.dump(parse(piece.text).body[0]) for n in known):
            continue
        if piece.name in taken or piece.names & moved:
            local.append((frozenset({piece.name}), piece.text))
            moved.add(piece.name)
        else:
            top.append(piece)
    imports = tuple(i for i in pieces.imports if i not in clashing and i not in present)
    return Needs(imports=imports, top=tuple(top), local=tuple(local))


def _imports_of(tree: ast.Module) -> list[NeededImport]:
    found: list[NeededImport] = []
    for node in tree.body:
        if isinstance(node, ast.Import):
            found += [(a.name, "", a.asname or a.name.partition(".")[0]) for a in node.names]
        elif isinstance(node, ast.ImportFrom) and not node.level:
            found += [(node.module or "", a.name, a.asname or a.name) for a in node.names]
    return found


def is_same(known: str, code: str) -> bool:
    """Return whether `known` is the test `code`, its name and marks of waiting aside."""
    return _bare(known) == _bare(code)


def _bare(code: str) -> tuple[str, ...]:
    (node,) = parse(code).body
    assert isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
    decorators = [d for d in node.decorator_list if "mark.xfail" not in ast.unparse(d)]
    parts: list[ast.AST] = [*decorators, *node.body]
    if not isinstance(node, ast.ClassDef):
        parts.append(node.args)
    return (type(node).__name__, *map(ast.dump, parts))
