"""The text of a Python file → what it defines and imports."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from importlib.util import resolve_name
from typing import NamedTuple

from pytest_brt.pysource.parse import Function, code_of, first_line, parse_or_empty
from pytest_brt.types.note import value

#: Characters; what is longer is generated data.
_LONGEST = 600_000
_ASSIGNMENT = ast.Assign | ast.AnnAssign
#: A statement that imports something, and no sentence that begins with such a word.
_IMPORTS = re.compile(
    r"""^[ \t]*((?:from[ \t]+[\w.]+[ \t]+)?import(?:[ \t]|\\\n)*
    (?:\([^)]{0,9999}\)
    |[\w.*]+(?:(?:[ \t]|\\\n)+as[ \t]+\w+)?
     (?:[ \t]*,(?:[ \t]|\\\n)*[\w.]+(?:(?:[ \t]|\\\n)+as[ \t]+\w+)?)*
    ))[ \t]*(?=[;\#\n]|\Z)""",
    re.MULTILINE | re.VERBOSE,
)


class Definition(NamedTuple):
    """Where a module or a class defines a name; what functions define is theirs."""

    #: With the classes around it, as in "Thing.walk".
    qualname: str
    #: 1-based, from the first decorator to the last line.
    line: int
    end_line: int
    #: On one line: "(self, x=1) -> int", "(Base)" or "".
    signature: str = ""
    #: The file, "" where only a text was read.
    path: str = ""
    #: Whether it is no function and no class.
    is_variable: bool = False

    @property
    def name(self) -> str:
        """The name without the classes around it."""
        return self.qualname.rpartition(".")[2]

    @property
    def top(self) -> bool:
        """Whether the module itself has the name."""
        return "." not in self.qualname


class Import(NamedTuple):
    """One name bound by an import statement."""

    #: As written, where relative ones start with dots; absolute in what an index answers.
    module: str
    #: What is taken from the module: "" for the module itself, "*" for all.
    name: str
    #: The name it gets in the file; "*" for all.
    bound: str

    @property
    def statement(self) -> str:
        """The import as a statement of its own."""
        plain = self.name or self.module.partition(".")[0]
        start = (
            f"from {self.module} import {self.name}"
            if self.name
            else f"import {self.module}"
        )
        return start if self.bound == plain else f"{start} as {self.bound}"


@value
class FileFacts:
    """What is known about one file; nothing of one that cannot be parsed."""

    #: By their lines, outer ones first.
    definitions: Sequence[Definition] = ()
    imports: Sequence[Import] = ()


def read_facts(text: str, path: str = "", package: str = "") -> FileFacts:
    """Return the facts of the file `path` with this `text`; never raises.

    Imports in functions are left out: they bind names nowhere else.

    Relative imports become absolute as far as the `package` of the file has what they name.

    >>> read_facts("from ..b import c", "p/q/a.py", "p.q").imports[0].statement
    'from p.b import c'
    """
    definitions: list[Definition] = []
    imports: list[Import] = []
    for node, around in statements_in(parse_or_empty(text if len(text) < _LONGEST else "")):
        names, signature = [], ""
        imports += _imports(node, package)
        if isinstance(node, Function):
            arrow = f" -> {code_of(node.returns)}" if node.returns else ""
            names, signature = [node.name], f"({code_of(node.args)}){arrow}"
        elif isinstance(node, ast.ClassDef):
            bases = ", ".join(map(code_of, [*node.bases, *node.keywords]))
            names, signature = [node.name], f"({bases})" if bases else ""
        elif isinstance(node, _ASSIGNMENT) and not around:
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            names = [target.id for target in targets if isinstance(target, ast.Name)]
        span = first_line(node), node.end_lineno or 0
        is_variable = isinstance(node, _ASSIGNMENT)
        definitions += (
            Definition(around + name, *span, signature, path, is_variable) for name in names
        )
    return FileFacts(definitions=definitions, imports=imports)


def read_imports(text: str, package: str = "") -> Sequence[Import]:
    """Return all imports of a file, those in functions too, at a tenth of the cost of parsing it.

    A line of a docstring that could be one may be among them.
    """
    alone = read_facts("\n".join(_IMPORTS.findall(text)), package=package)
    return (alone if alone.imports else read_facts(text, package=package)).imports


def _imports(node: ast.AST, package: str) -> Iterator[Import]:
    """Yield what an import statement binds, nothing for any other node."""
    if isinstance(node, ast.ImportFrom):
        module = "." * node.level + (node.module or "")
        with suppress(ImportError):  # above the topmost package
            module = resolve_name(module, package)
        yield from (Import(module, one.name, one.asname or one.name) for one in node.names)
    elif isinstance(node, ast.Import):
        for one in node.names:
            bound = one.asname or one.name.partition(".")[0]
            yield Import(one.name, "", bound)


def statements_in(tree: ast.AST, around: str = "") -> Iterator[tuple[ast.stmt, str]]:
    """Yield the statements outside of functions, with the classes around them, as in "Thing."."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.stmt):
            yield node, around
        if not isinstance(node, Function | ast.expr):
            name = f"{node.name}." if isinstance(node, ast.ClassDef) else ""
            yield from statements_in(node, around + name)
