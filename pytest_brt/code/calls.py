"""The places where something of some name is called."""

from __future__ import annotations

import ast
from dataclasses import dataclass

from pytest_brt.code.index import Index
from pytest_brt.code.layout import is_test_path
from pytest_brt.pysource.parse import called_name, parse


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """A place where something of some name is called."""

    path: str
    line: int
    #: The source of the call, on one line.
    text: str
    #: Qualified name of the function around it, or "".
    caller: str


def find_calls(name: str, index: Index, *, path: str = "", limit: int = 200) -> tuple[Call, ...]:
    """Return the calls of anything called `name`: ``name(…)``, ``x.name(…)``.

    With `path` only those in this file; the product's come before the tests'.
    """
    files = [path] if path else sorted(index.files_with(name), key=lambda p: (is_test_path(p), p))
    found: list[Call] = []
    for file in files:
        found.extend(_calls_in(file, name, index))
        if len(found) >= limit:
            break
    return tuple(found[:limit])


def _calls_in(path: str, name: str, index: Index) -> list[Call]:
    try:
        text = index.source(path)
        if f"{name}(" not in text and f"{name} (" not in text:
            return []
        tree = parse(text)
    except (OSError, SyntaxError):
        return []
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and called_name(node) == name:
            around = index.definition_at(path, node.lineno)
            source = ast.get_source_segment(text, node) or ast.unparse(node)
            found.append(
                Call(
                    path=path,
                    line=node.lineno,
                    text=" ".join(source.split()),
                    caller=around.qualname if around else "",
                )
            )
    return sorted(found, key=lambda call: call.line)
