"""The text of a Python file → its facts: what it defines, imports and offers to others."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from pytest_brt.pysource.parse import Function, bodies, bound_targets, first_line, parse


class DefinitionKind(StrEnum):
    """What a name is bound to by its definition."""

    FUNCTION = "function"
    METHOD = "method"
    CLASS = "class"
    VARIABLE = "variable"


@dataclass(frozen=True, slots=True, kw_only=True)
class Definition:
    """Where a name is defined."""

    name: str
    #: With the names around it, as in "Thing.walk" or "outer.inner".
    qualname: str
    kind: DefinitionKind
    #: 1-based, from the first decorator to the last line.
    line: int
    end_line: int
    #: As written, on one line: "(self, x=1) -> int", "(Base)" or "".
    signature: str = ""
    #: The file, "" where only a text was read.
    path: str = ""

    @property
    def top(self) -> bool:
        """Whether the module itself has the name."""
        return "." not in self.qualname


@dataclass(frozen=True, slots=True, kw_only=True)
class Import:
    """One name bound by an import statement."""

    #: As written, where relative ones start with dots; absolute in what an index answers.
    module: str
    #: What is taken from the module: "" for the module itself, "*" for all.
    name: str
    #: The name it gets in the file; "*" for all.
    bound: str
    line: int
    #: Whether it stands outside of functions and classes.
    top: bool
    path: str = ""

    @property
    def statement(self) -> str:
        """The import as a statement of its own."""
        return import_statement(self.module, self.name, self.bound)


def import_statement(module: str, name: str, bound: str) -> str:
    """Return the statement that binds `bound`.

    >>> import_statement("a.b", "", "a"), import_statement("a", "b", "c")
    ('import a.b', 'from a import b as c')
    """
    if not name:
        plain = bound == module.partition(".")[0]
        return f"import {module}" if plain else f"import {module} as {bound}"
    return f"from {module} import {name}" + ("" if bound == name else f" as {bound}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Passage:
    """A stretch of code that is found by its terms: a function, or what is outside of them."""

    path: str
    #: Qualified name of the function, or of the class that it is the rest of; "" for what is
    #: left of the module.
    function: str
    #: 1-based, inclusive; (1, 0) for what is left of the module.
    line: int
    end_line: int


@dataclass(frozen=True, slots=True, kw_only=True)
class FileFacts:
    """All that is known about one file."""

    definitions: tuple[Definition, ...]
    imports: tuple[Import, ...]
    #: The names in ``__all__``; None when there is none, or it is not written out.
    public: frozenset[str] | None
    #: Names may appear in the module that are written nowhere in it.
    dynamic: bool
    #: What it is divided into for a search, in an index only.
    passages: tuple[Passage, ...] = ()


#: What is known of a file that cannot be parsed, or is not there: it may define anything.
NO_FACTS = FileFacts(definitions=(), imports=(), public=None, dynamic=True)
#: Characters; what is longer is generated data, and is read as text.
LONGEST_PARSED = 600_000
_DYNAMIC = re.compile(r"\bglobals\(\)|^def __getattr__\b|\bexec\(|sys\.modules\[|\bsetattr\(", re.M)
#: Found much sooner than the above, and in few files.
_MAYBE_DYNAMIC = re.compile(r"globals\(\)|__getattr__|exec\(|sys\.modules|setattr\(")


def read_facts(text: str, path: str = "") -> FileFacts:
    """Return the facts of the file `path` with this `text`; never raises.

    Of a file that this interpreter cannot parse (other syntax, or generated data) nothing is known
    but that it may define anything.
    """
    try:
        tree = parse(text) if len(text) <= LONGEST_PARSED else None
    except SyntaxError:
        tree = None
    if tree is None:
        return NO_FACTS
    definitions, imports = _walk(tree, text.split("\n"))
    return FileFacts(
        definitions=tuple(replace(one, path=path) for one in definitions),
        imports=tuple(imports),
        public=_public(tree),
        dynamic=bool(_MAYBE_DYNAMIC.search(text)) and bool(_DYNAMIC.search(text)),
    )


def _walk(tree: ast.Module, lines: Sequence[str]) -> tuple[list[Definition], list[Import]]:
    definitions: list[Definition] = []
    imports: list[Import] = []
    # (statements, prefix of qualified names, directly inside a class)
    todo: list[tuple[Sequence[ast.stmt], str, bool]] = [(tree.body, "", False)]
    while todo:
        statements, prefix, in_class = todo.pop()
        for node in statements:
            if isinstance(node, Function | ast.ClassDef):
                definition = _definition(node, prefix, in_class, lines)
                definitions.append(definition)
                is_class = isinstance(node, ast.ClassDef)
                todo.append((node.body, f"{definition.qualname}.", is_class))
            elif isinstance(node, ast.Import | ast.ImportFrom):
                imports.extend(imported(node, top=not prefix))
            elif isinstance(node, ast.Expr | ast.Return | ast.Raise | ast.Pass | ast.Assert):
                continue
            else:
                if not prefix:
                    definitions.extend(_variables(node))
                todo.extend((inner, prefix, in_class) for inner in bodies(node))
    definitions.sort(key=lambda item: (item.line, -item.end_line))
    imports.sort(key=lambda item: item.line)
    return definitions, imports


def _definition(
    node: Function | ast.ClassDef, prefix: str, in_class: bool, lines: Sequence[str]
) -> Definition:
    kind = DefinitionKind.METHOD if in_class else DefinitionKind.FUNCTION
    if isinstance(node, ast.ClassDef):
        kind = DefinitionKind.CLASS
    return Definition(
        name=node.name,
        qualname=prefix + node.name,
        kind=kind,
        line=first_line(node),
        end_line=node.end_lineno or node.lineno,
        signature=_signature(node, lines),
    )


def _signature(node: Function | ast.ClassDef, lines: Sequence[str]) -> str:
    """Return the head of `node` from its bracket on: the text is cheaper than unparsing."""
    body = node.body[0]
    if body.lineno == node.lineno:
        head = lines[node.lineno - 1][: body.col_offset]
    else:
        head = " ".join(line.strip() for line in lines[node.lineno - 1 : body.lineno - 1])
    _, bracket, rest = head.partition("(")
    end = max(rest.rfind("):"), rest.rfind(") :"), rest.rfind(") ->"))
    if not bracket or end < 0:
        return ""
    arrow = rest[end + 1 :].strip().partition(":")[0]
    return f"({rest[:end].strip()})" + (f" {arrow.strip()}" if arrow.startswith("->") else "")


def imported(node: ast.Import | ast.ImportFrom, *, top: bool = True) -> Iterator[Import]:
    """Yield what an import statement binds, name by name."""
    for alias in node.names:
        if isinstance(node, ast.Import):
            bound = alias.asname or alias.name.partition(".")[0]
            module, name = alias.name, ""
        else:
            bound = alias.asname or alias.name
            module, name = "." * node.level + (node.module or ""), alias.name
        yield Import(module=module, name=name, bound=bound, line=node.lineno, top=top)


def _variables(node: ast.stmt) -> Iterator[Definition]:
    for name in bound_targets(node):
        yield Definition(
            name=name,
            qualname=name,
            kind=DefinitionKind.VARIABLE,
            line=node.lineno,
            end_line=node.end_lineno or node.lineno,
        )


def _public(tree: ast.Module) -> frozenset[str] | None:
    """Return what ``__all__`` lists, None when that cannot be read off."""
    names: list[str] | None = None
    for node in tree.body:
        is_call = isinstance(node, ast.Expr) and isinstance(node.value, ast.Call)
        if is_call and ast.unparse(node).startswith("__all__."):
            return None
        if not isinstance(node, ast.Assign | ast.AugAssign | ast.AnnAssign):
            continue
        if "__all__" not in bound_targets(node):
            continue
        try:
            listed = ast.literal_eval(node.value) if node.value else None
        except ValueError:
            return None
        if not isinstance(listed, list | tuple) or not all(isinstance(n, str) for n in listed):
            return None
        added = isinstance(node, ast.AugAssign)
        names = [*(names or ()), *listed] if added else list(listed)
    return None if names is None else frozenset(names)
