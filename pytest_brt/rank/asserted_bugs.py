"""Existing tests that assert the bug: they fail because of what a bug test asks for."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from pytest_brt.pysource.parse import Function, covers, parse_or_empty
from pytest_brt.types import AssertedBug, Guarded, JudgedTest

#: A name that is no attribute and no keyword of a call.
_NAME = re.compile(r"(?<![.\w])[A-Za-z_]\w*(?![\w=])")


class _Claim(NamedTuple):
    """What a statement of a test demands of a call."""

    call: str
    #: "raises", or whether it "wants" one of the values or "forbids" them.
    kind: str
    values: tuple[str, ...] = ()

    def excludes(self, other: _Claim) -> bool:
        """Say whether no program meets both."""
        kinds = {self.kind, other.kind}
        if self.call != other.call or "raises" in kinds:
            return self.call == other.call and len(kinds) == 2
        mine, others = {*self.values}, {*other.values}
        if self.kind == "wants" and other.kind == "wants":
            return mine.isdisjoint(others)
        return len(kinds) == 2 and (mine <= others if self.kind == "wants" else others <= mine)


def without_asserted_bugs(guarded: Guarded, tests: Sequence[JudgedTest], root: Path) -> Guarded:
    """Return the same without the regressions whose failing assertion asserts the bug.

    It is about the same call as a bug test of `tests` that is believed, written alike, and no
    program meets both.
    """
    trusted = [judged.test for judged in tests if judged.judgement.counts]
    asked = {claim: test.name for test in trusted for claim in _claims(test.source or "")}
    disputed: dict[str, AssertedBug] = {}
    for regression in guarded.regressions if asked else ():
        path = root / regression.test.partition("::")[0]
        source = path.read_bytes() if regression.line and path.is_file() else b""
        for claim in _claims(source, regression.line):
            for name in [name for wanted, name in asked.items() if claim.excludes(wanted)]:
                bug = AssertedBug(test=regression.test, call=claim.call, bug_test=name)
                disputed[regression.test] = bug
    kept = tuple(one for one in guarded.regressions if one.test not in disputed)
    return replace(guarded, regressions=kept, disputed=tuple(disputed.values()))


def _claims(source: str | bytes, line: int = 0) -> Iterator[_Claim]:
    """Yield what the statements of tests demand, or those alone that stand in a line."""
    for function in ast.walk(parse_or_empty(source)):
        if isinstance(function, Function):
            values = _assigned_once(function)
            may_raise: list[ast.stmt] = []
            for node in ast.walk(function):  # a statement comes before those in it
                if isinstance(node, ast.With | ast.Try):
                    may_raise += node.body
                is_asked = isinstance(node, ast.stmt) and (not line or covers(node, line))
                if is_asked and not (isinstance(node, ast.Expr) and node in may_raise):
                    yield from _claimed(node, values)


def _assigned_once(function: ast.AST) -> dict[str, str]:
    """Return what local names stand for that are assigned once."""
    values: dict[str, str] = {}
    for node in ast.walk(function):
        if isinstance(node, ast.Assign):
            name = ast.unparse(node.targets[0])
            values[name] = name if name in values else _written(node.value, values)
    return values


def _written(node: ast.AST, values: dict[str, str]) -> str:
    return _NAME.sub(lambda match: values.get(match[0], match[0]), ast.unparse(node))


def _claimed(node: ast.AST, values: dict[str, str]) -> Iterator[_Claim]:
    """Yield what a statement demands of a call."""
    if isinstance(node, ast.With) and "raises(" in ast.unparse(node.items[0]):
        yield _Claim(_written(node.body[-1], values), "raises")
    elif isinstance(node, ast.Expr):
        yield _Claim(_written(node, values), "forbids")
    elif isinstance(node, ast.Assert) and isinstance(node.test, ast.Compare):
        operator = type(node.test.ops[-1]).__name__
        kind = "wants" if operator in ("Eq", "Is", "In") else "forbids"
        is_known = kind == "wants" or operator in ("NotEq", "IsNot", "NotIn")
        with suppress(ValueError, TypeError):  # it compares with no literal
            value = ast.literal_eval(node.test.comparators[-1])
            shown = map(repr, value if operator.endswith("In") else [value])
            if is_known and len(node.test.ops) == 1:
                yield _Claim(_written(node.test.left, values), kind, tuple(shown))
