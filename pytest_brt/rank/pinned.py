"""Existing tests that assert what a report calls wrong.

A right fix makes them fail: they are told to the user, who must change them with the fix, and are
not held against a patch.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from textwrap import dedent

from pytest_brt.guard.suite import ExistingTest
from pytest_brt.oracle.asked import pinned
from pytest_brt.syntax import called_name, called_names, parse
from pytest_brt.types import JudgedTest, OracleKind, Raised

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
    return tuple(test.name for test in tests if _pins(test, claims))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Claim:
    """What a candidate calls, and what it saw there and calls wrong: a value or an exception."""

    calls: frozenset[str]
    values: tuple[str, ...] = ()
    raised: tuple[str, ...] = ()


def _claims(judged: JudgedTest) -> Iterator[_Claim]:
    runs = judged.judgement.runs
    raised = runs[0].raised if runs else None
    calls = _calls(judged.test.source or "")
    if raised is None or not calls:
        return
    if judged.test.oracle.kind is OracleKind.NO_RAISE:
        yield _Claim(calls=calls, raised=(raised.type.rpartition(".")[2],))
    elif value := _wrong_value(judged.test.oracle.kind, raised):
        yield _Claim(calls=calls, values=(value,))


def _wrong_value(kind: OracleKind, raised: Raised) -> str:
    match = _LEFT.match(raised.message.partition("\n")[0]) if kind.sees_wrong_value else None
    value = match[1] if match else ""
    return value if len(value) >= _TELLING and value not in ("True", "False", "None") else ""


def _pins(test: ExistingTest, claims: Sequence[_Claim]) -> bool:
    claims = [claim for claim in claims if claim.calls & test.words]
    for statement in _assertions(test.source) if claims else ():
        text, calls = ast.unparse(statement), called_names(statement)
        for claim in claims:
            if claim.calls & calls and pinned(text, claim.values, claim.raised):
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
            name = called_name(node.value)
            if name.startswith("assert") or name == "raises":
                yield node


def _calls(source: str) -> frozenset[str]:
    try:
        return called_names(parse(source)) - {"raises", "isinstance", "len", "repr", "str"}
    except (SyntaxError, ValueError):
        return frozenset()
