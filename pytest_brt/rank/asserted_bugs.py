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
#: Whether a comparison wants a result.
_WANTS = {"Eq": True, "Is": True, "In": True, "NotEq": False, "IsNot": False, "NotIn": False}


class _Claim(NamedTuple):
    """What a statement holds of a call: that it gives one of some results, or none of them."""

    call: str
    results: frozenset[str]
    wants: bool

    def excludes(self, other: _Claim) -> bool:
        """Return whether no program meets both."""
        one, two = sorted((self, other), key=lambda claim: not claim.wants)
        results = one.results - two.results if two.wants else one.results & two.results
        return one.call == two.call and one.wants and results == one.results


def without_asserted_bugs(guarded: Guarded, tests: Sequence[JudgedTest], root: Path) -> Guarded:
    """Return the same without the regressions whose failing statement asserts the bug.

    It is about the same call as a bug test of `tests` that is believed, written alike, and no
    program meets both.
    """
    trusted = [judged.test for judged in tests if judged.judgement.counts]
    asked = [(claim, test.name) for test in trusted for claim in _claims(test.source or "")]
    bugs: dict[str, AssertedBug] = {}
    for regression in guarded.regressions if asked else ():
        source = (root / regression.test.partition("::")[0]).read_bytes()
        for claim, (other, name) in product(_claims(source, regression.line), asked):
            if claim.excludes(other):
                bug = AssertedBug(test=regression.test, call=claim.call, bug_test=name)
                bugs[regression.test] = bug
    kept = tuple(one for one in guarded.regressions if one.test not in bugs)
    return replace(guarded, regressions=kept, disputed=tuple(bugs.values()))


def _claims(source: str | bytes, line: int | None = None) -> Iterator[_Claim]:
    """Yield what the statements of functions claim; with a line, the statement there alone.

    What is assigned to a name stands in its place.
    """
    functions = (node for node in ast.walk(parse_or_empty(source)) if isinstance(node, Function))
    for function in functions:
        values: dict[str, str] = {}
        for node in function.body:
            code = _NAME.sub(lambda name: values.get(name[0], name[0]), ast.unparse(node))  # noqa: B023
            if isinstance(node, ast.Assign):
                name = ast.unparse(node.targets[0])
                # Of a name that is assigned again it is not known what it stands for.
                values[name] = name if name in values else code.partition(" = ")[2]
            elif line is None or covers(node, line):
                yield from _claimed(code)


def _claimed(code: str) -> Iterator[_Claim]:
    """Yield what a statement claims of a call: that it raises or not, or gives literals or not."""
    if _RAISES.match(code):
        yield _Claim(code.rpartition("\n")[2].strip(), _RAISED, True)
    match parse_or_empty(code).body:
        case [ast.Expr()]:
            yield _Claim(code, _RAISED, False)
        case [ast.Assert(test=ast.Compare(left=left, ops=[operator], comparators=[right]))]:
            call, text, name = ast.unparse(left), ast.unparse(right), type(operator).__name__
            results = [text]
            if name.endswith("In"):
                elements = getattr(right, "elts", [])
                results = [*map(ast.unparse, elements)]
                if is_literal(call):
                    call, results = f"{call} in {text}", ["True"]
            if name in _WANTS and results and all(map(is_literal, results)):
                yield _Claim(call, frozenset(results), _WANTS[name])
