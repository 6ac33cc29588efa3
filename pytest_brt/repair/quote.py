"""How much of what a test asserts stands in the report: such a test is about what was reported."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from pytest_brt.syntax import called_name, parse
from pytest_brt.types import JudgedTest

#: Calls whose texts are asserted, as in ``pytest.raises(Error, match="…")``.
_ASSERTS = frozenset({"raises", "warns", "match", "fnmatch_lines", "fail"})
#: Texts that are shorter stand anywhere.
_SHORTEST = 4


def quote_length(judged: JudgedTest, report: str) -> int:
    """Return the length of the longest asserted text of a test that stands in `report`, or 0.

    Of a text of several lines each counts alone; blanks count as one. Nothing is known of a test
    whose source is not at hand, or is no Python.
    """
    source = judged.test.source
    if source is None:
        return 0
    try:
        tree = parse(source)
    except SyntaxError:
        return 0
    name = judged.test.name.rpartition("::")[2].partition("[")[0]
    inside: list[ast.AST] = [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name == name
    ]
    told = _plain(report)
    texts = {
        _plain(line)
        for node in inside or [tree]
        for text in _asserted(node)
        for line in text.splitlines()
    }
    return max((len(t) for t in texts if len(t) >= _SHORTEST and t in told), default=0)


def _asserted(tree: ast.AST) -> Iterator[str]:
    """Yield the texts in what is asserted; those of a regular expression as what it matches."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Assert):
            yield from _texts(node.test)
        elif isinstance(node, ast.Call) and _is_assertion(called_name(node)):
            for text in _texts(node):
                yield text
                yield re.sub(r"\\(.)", r"\1", text)


def _is_assertion(name: str) -> bool:
    return name in _ASSERTS or name.lower().startswith("assert")


def _texts(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value


def _plain(text: str) -> str:
    return " ".join(text.split())
