"""The text of a Python file → what it defines and imports."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum

from pytest_brt.pysource.parse import Function, bodies, bound_targets, first_line, parse


class DefinitionKind(StrEnum):
    """What a name is bound to by its definition."""

    FUNCTION = "function"
    METHOD = "method"
    CLASS = "class"
    VARIABLE = "variable"


@dataclass(frozen=True, slots=True)
class Definition:
    """Where a module or a class defines a name; what functions define is theirs."""

    name: str
    #: With the classes around it, as in "Thing.walk".
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


@dataclass(frozen=True, slots=True)
class Import:
    """One name bound by an import statement outside of functions."""

    #: As written, where relative ones start with dots; absolute in what an index answers.
    module: str
    #: What is taken from the module: "" for the module itself, "*" for all.
    name: str
    #: The name it gets in the file; "*" for all.
    bound: str
    path: str = ""

    @property
    def statement(self) -> str:
        """The import as a statement of its own."""
        plain = self.name or self.module.partition(".")[0]
        start = f"from {self.module} import {self.name}" if self.name else f"import {self.module}"
        return start if self.bound == plain else f"{start} as {self.bound}"


@dataclass(frozen=True, slots=True, kw_only=True)
class FileFacts:
    """What is known about one file; nothing of one that cannot be parsed."""

    definitions: tuple[Definition, ...] = ()
    imports: tuple[Import, ...] = ()


#: Characters; what is longer is generated data.
_LONGEST = 600_000


def read_facts(text: str, path: str = "") -> FileFacts:
    """Return the facts of the file `path` with this `text`; never raises."""
    if len(text) > _LONGEST:
        return FileFacts()
    try:
        tree = parse(text)
    except SyntaxError:
        return FileFacts()
    lines = text.split("\n")
    definitions: list[Definition] = []
    imports: list[Import] = []
    todo: list[tuple[Sequence[ast.stmt], str]] = [(tree.body, "")]
    for body, around in todo:
        for node in body:
            if isinstance(node, Function | ast.ClassDef):
                definitions.append(_definition(node, around, lines, path))
                if isinstance(node, ast.ClassDef):
                    todo.append((node.body, f"{around}{node.name}."))
            elif isinstance(node, ast.Import | ast.ImportFrom):
                imports.extend(_imported(node, path))
            elif not isinstance(node, ast.Expr):
                if not around:
                    definitions.extend(_variables(node, path))
                todo.extend((inner, around) for inner in bodies(node))
    definitions.sort(key=lambda one: (one.line, -one.end_line))
    return FileFacts(definitions=tuple(definitions), imports=tuple(imports))


def _definition(
    node: Function | ast.ClassDef, around: str, lines: Sequence[str], path: str
) -> Definition:
    kind = DefinitionKind.METHOD if around else DefinitionKind.FUNCTION
    return Definition(
        name=node.name,
        qualname=around + node.name,
        kind=DefinitionKind.CLASS if isinstance(node, ast.ClassDef) else kind,
        line=first_line(node),
        end_line=node.end_lineno or node.lineno,
        signature=_signature(node, lines),
        path=path,
    )


def _signature(node: Function | ast.ClassDef, lines: Sequence[str]) -> str:
    """Return the head of `node` from its bracket on: the text is cheaper than unparsing."""
    first = node.body[0]
    head = [line.strip() for line in lines[node.lineno - 1 : first.lineno - 1]]
    text = " ".join(head) or lines[node.lineno - 1].encode()[: first.col_offset].decode()
    bracket = text.find("(")
    end = text.rfind(":")
    head_text = text[bracket:end].strip() if 0 < bracket < end else ""
    return head_text.replace("( ", "(").replace(" )", ")")


def _imported(node: ast.Import | ast.ImportFrom, path: str) -> Iterator[Import]:
    for alias in node.names:
        if isinstance(node, ast.Import):
            bound = alias.asname or alias.name.partition(".")[0]
            yield Import(module=alias.name, name="", bound=bound, path=path)
        else:
            module = "." * node.level + (node.module or "")
            bound = alias.asname or alias.name
            yield Import(module=module, name=alias.name, bound=bound, path=path)


def _variables(node: ast.stmt, path: str) -> Iterator[Definition]:
    for name in bound_targets(node):
        yield Definition(
            name=name,
            qualname=name,
            kind=DefinitionKind.VARIABLE,
            line=node.lineno,
            end_line=node.end_lineno or node.lineno,
            path=path,
        )
