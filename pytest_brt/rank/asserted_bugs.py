"""Existing tests that assert the bug: they fail because of what a bug test asks for."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import NamedTuple

from pytest_brt.pysource.parse import Function, covers, is_literal, parse_or_empty
from pytest_brt.types import AssertedBug, Guarded, JudgedTest

#: A name that is no attribute and no keyword of a call.
_NAME = re.compile(r"(?<![.\w])[A-Za-z_]\w*(?![\w=])")
_RAISES = re.compile(r"with .*\braises\(")
#: What a call gives that raises.
_RAISED = frozenset(["raises"])


def without_asserted_bugs(guarded: Guarded, tests: Sequence[JudgedTest], root: Path) -> Guarded:
    """Return the same without the regressions whose failing statement asserts the bug.

    It is about the same call as a bug test of `tests` that is believed, written alike, and no
    program meets both.
    """
    trusted = [judged.test for judged in tests if judged.judgement.counts]
    asked = [(claim, test.name) for test in trusted for claim in _claims(test.source or "")]
    bugs: dict[str, AssertedBug] = {}
    for regression in guarded.regressions if asked else ():
        path = root / regression.test.partition("::")[0]
        source = path.read_bytes() if path.is_file() else b""
        for claim, (other, name) in product(_claims(source, regression.line), asked):
            if claim.excludes(other):
                bug = AssertedBug(test=regression.test, call=claim.call, bug_test=name)
                bugs[regression.test] = bug
    kept = tuple(one for one in guarded.regressions if one.test not in bugs)
    return replace(guarded, regressions=kept, disputed=tuple(bugs.values()))


class _Claim(NamedTuple):
    """What a statement holds of a call: that it gives one of some results, or none of them."""

    call: str
    results: frozenset[str]
    wants: bool

    def excludes(self, other: _Claim) -> bool:
        """Return whether no program meets both."""
        if self.call != other.call or not (self.wants or other.wants):
            return False
        if self.wants and other.wants:
            return self.results.isdisjoint(other.results)
        wanted, forbidden = (self, other) if self.wants else (other, self)
        return wanted.results <= forbidden.results


def _claims(source: str | bytes, line: int | None = None) -> Iterator[_Claim]:
    """Yield what the statements of functions claim; with a line, the statement there alone.

    What is assigned to a name stands in its place.
    """
    functions = (node for node in ast.walk(parse_or_empty(source)) if isinstance(node, Function))
    for function in functions:
        values: dict[str, str] = {}
        for node in function.body:
            code = _put_in(ast.unparse(node), values)
            if isinstance(node, ast.Assign):
                name = ast.unparse(node.targets[0])
                # Of a name that is assigned again it is not known what it stands for.
                values[name] = name if name in values else code.partition(" = ")[2]
            elif line is not None and not covers(node, line):
                continue
            elif isinstance(node, ast.Assert):
                yield from _asserted(parse_or_empty(code).body)
            elif _RAISES.match(code):
                yield _Claim(code.split("\n")[-1].strip(), _RAISED, True)
            elif isinstance(node, ast.Expr):
                yield _Claim(code, _RAISED, False)


def _asserted(body: Sequence[ast.stmt]) -> Iterator[_Claim]:
    """Yield what an assertion claims that compares a call with literals."""
    match body:
        case [ast.Assert(test=ast.Compare(left=left, ops=[operator], comparators=[right]))]:
            call, text, name = ast.unparse(left), ast.unparse(right), type(operator).__name__
            wants = name in ("Eq", "Is", "In")
            if name in ("In", "NotIn") and is_literal(call):
                yield _Claim(f"{call} in {text}", frozenset(["True"]), wants)
            elif name in ("In", "NotIn") and isinstance(right, ast.Tuple | ast.List | ast.Set):
                yield _Claim(call, frozenset(map(ast.unparse, right.elts)), wants)
            elif name in ("Eq", "NotEq", "Is", "IsNot") and is_literal(text):
                yield _Claim(call, frozenset([text]), wants)


def _put_in(code: str, values: dict[str, str]) -> str:
    return _NAME.sub(lambda match: values.get(match[0], match[0]), code)
