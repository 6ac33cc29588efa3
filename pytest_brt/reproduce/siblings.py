"""Methods of subclasses that go before what is suspected: the bug may be in one of them only."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence

from pytest_brt.code.entries import Definition
from pytest_brt.code.facts import DefinitionKind
from pytest_brt.code.index import Index
from pytest_brt.code.overrides import overrides_of
from pytest_brt.localise.suspects import Suspect
from pytest_brt.syntax import is_constant, parse

#: Suspects whose overrides are looked for.
_MOST_SUSPECTS = 6
#: What more classes do in their own way is said by nobody's code in particular.
_MOST_CLASSES = 6
#: Lines of a method that are shown.
_MOST_LINES = 25


def siblings(suspects: Sequence[Suspect], index: Index, most: int) -> str:
    """Return overrides of the suspected methods, and of what they call, as code; "" for none.

    Only the file of the likeliest suspect counts, and no more is shown than fits into about
    `most` characters. Docstrings are left out.
    """
    parts: list[str] = []
    for method in _methods(suspects, index):
        found = overrides_of(method, index)
        if len(found) > _MOST_CLASSES:
            continue
        for other in found:
            text = _shown(other, index)
            if text and text not in parts and len(text) <= most:
                parts.append(text)
                most -= len(text)
    return "\n\n".join(parts)


def _methods(suspects: Sequence[Suspect], index: Index) -> Iterator[Definition]:
    """Yield the suspected methods, and those of the same class that they call."""
    path = suspects[0].path if suspects else ""
    names = [s.function for s in suspects if s.path == path and s.function][:_MOST_SUSPECTS]
    methods = {d.qualname: d for d in index.definitions_in(path) if d.kind is DefinitionKind.METHOD}
    found = {name: methods[name] for name in names if name in methods}
    for name, method in tuple(found.items()):
        text = _lines(method, index)
        around = name.rpartition(".")[0]
        for called in re.findall(r"\.([A-Za-z]\w*)\b", text):
            inner = f"{around}.{called}"
            if inner in methods:
                found.setdefault(inner, methods[inner])
    yield from found.values()


def _lines(method: Definition, index: Index) -> str:
    try:
        lines = index.source(method.path).split("\n")
    except OSError:
        return ""  # deleted since
    return "\n".join(lines[method.line - 1 : method.end_line])


def _shown(method: Definition, index: Index) -> str:
    text = _without_docstring(_lines(method, index))
    if not text or text.count("\n") >= _MOST_LINES:
        return ""
    around = method.qualname.rpartition(".")[0]
    return f"# {method.path}\nclass {around.rpartition('.')[2]}:\n{text}"


def _without_docstring(text: str) -> str:
    """Return the code of a method without its docstring, indented as it was; "" for none."""
    lines = text.split("\n")
    try:
        (around,) = parse(f"if 1:\n{text}").body
    except SyntaxError:
        return ""
    node = around.body[0] if isinstance(around, ast.If) else None
    if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        return ""
    if all(isinstance(part, ast.Pass | ast.Raise) or is_constant(part) for part in node.body):
        return ""  # it does nothing
    first = node.body[0]
    if ast.get_docstring(node) is None or len(node.body) == 1:
        return text
    return "\n".join([*lines[: first.lineno - 2], *lines[(first.end_lineno or 1) - 1 :]])
