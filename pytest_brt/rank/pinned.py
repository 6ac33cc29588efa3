"""Existing tests that assert what a report calls wrong.

A right fix makes them fail: they are told to the user, who must change them with the fix, and are
not held against a patch.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from textwrap import dedent

from pytest_brt.guard.suite import ExistingTest
from pytest_brt.syntax import parse
from pytest_brt.types import JudgedTest, OracleKind, Raised

#: Oracles by which the value seen on the unpatched tree is the reported wrong one.
_VALUE = (OracleKind.EQUALS, OracleKind.GONE, OracleKind.NO_PRINT, OracleKind.PRINTS)
#: What the left side of a failed comparison was, as pytest's rewritten asserts say it.
_LEFT = re.compile(r"^assert (.+?) (?:==|!=|in|not in|is|is not) ", re.DOTALL)
#: Shortest text of a value that tells something: 0, True or 'a' are in every test.
_TELLING = 4


def pinned_among(
    tests: Sequence[ExistingTest], candidates: Sequence[JudgedTest]
) -> tuple[str, ...]:
    """Return the names of those existing tests that assert the reported wrong behaviour.

    Such a test calls what a candidate calls, with the wrong value (or inside ``raises`` of the
    wrong exception) in the same assertion.
    """
    claims = [claim for judged in candidates for claim in _claims(judged)]
    if not claims:
        return ()
    return tuple(
        test.name
        for test in tests
        if any(value in test.source for _, value in claims) and _pins(test.source, claims)
    )


def _claims(judged: JudgedTest) -> Iterator[tuple[frozenset[str], str]]:
    """Yield the functions a candidate calls, with what it saw and calls wrong."""
    runs = judged.judgement.runs
    raised = runs[0].raised if runs else None
    if raised is None or judged.test.source is None:
        return
    calls = _calls(judged.test.source)
    wrong = _wrong(judged.test.oracle.kind, raised)
    if calls and wrong:
        yield calls, wrong


def _wrong(kind: OracleKind, raised: Raised) -> str:
    if kind is OracleKind.NO_RAISE:
        return raised.type.rpartition(".")[2]
    match = _LEFT.match(raised.message.partition("\n")[0]) if kind in _VALUE else None
    value = match[1] if match else ""
    return value if len(value) >= _TELLING and value not in ("True", "False", "None") else ""


def _pins(source: str, claims: Sequence[tuple[frozenset[str], str]]) -> bool:
    for statement in _assertions(source):
        text = ast.unparse(statement)
        calls = _called(statement)
        if any(value in text and calls & names for names, value in claims):
            return True
    return False


def _assertions(source: str) -> Iterator[ast.AST]:
    """Yield what a test asserts: assert statements, ``raises`` blocks, calls of assert methods."""
    try:
        tree = parse(dedent(source))
    except (SyntaxError, ValueError):
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.Assert):
            yield node
        elif isinstance(node, ast.With):
            if any("raises" in ast.unparse(item).lower() for item in node.items):
                yield node
        elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
            name = ast.unparse(node.value.func).rpartition(".")[2]
            if name.startswith("assert") or name == "raises":
                yield node


def _calls(source: str) -> frozenset[str]:
    try:
        return _called(parse(source)) - {"raises", "isinstance", "len", "repr", "str"}
    except (SyntaxError, ValueError):
        return frozenset()


def _called(tree: ast.AST) -> frozenset[str]:
    """Return the last names of everything called or subscripted into."""
    names = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            names.add(ast.unparse(node.func).rpartition(".")[2])
    return frozenset(names)
