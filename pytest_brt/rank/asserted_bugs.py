"""Existing tests that assert the bug: they fail because of what a bug test asks for."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import NamedTuple

from pytest_brt.pysource.parse import Function, code_of, covers, is_literal, parse_or_empty
from pytest_brt.types import AssertedBug, Guarded, JudgedTest

#: Characters of code that are put in a name's place.
_LONGEST = 400
#: A name that is no attribute and no keyword of a call.
_NAME = re.compile(r"(?<![.\w])[A-Za-z_]\w*(?![\w=])")
#: What a call gives that raises.
_RAISED = "raises"
#: The line of what failed elsewhere, as in a fixture.
_NOWHERE = -1
#: Comparisons that say what a call gives; with "Not", what it does not.
_SIGNS = ("Eq", "NotEq", "Is", "IsNot", "In", "NotIn")


class _Claim(NamedTuple):
    """What a statement holds of a call: that it gives a result, or that it does not."""

    call: str
    result: str
    wants: bool

    def excludes(self, other: _Claim) -> bool:
        """Return whether no program meets both."""
        if self.call != other.call or not (self.wants or other.wants):
            return False
        return (self.wants is other.wants) is (self.result != other.result)


def without_asserted_bugs(
    guarded: Guarded, tests: Sequence[JudgedTest], root: Path
) -> Guarded:
    """Return the same without the regressions whose failing statement asserts the bug.

    It is about the same call as a bug test of `tests` that is believed, written alike, and no
    program meets both.
    """
    asked = {
        claim: judged.test.name
        for judged in tests
        if judged.judgement.counts
        for claim in _claims(judged.test.source or "")
    }
    bugs: dict[str, AssertedBug] = {}
    for regression in guarded.regressions:
        name = regression.test
        source = (root / name.partition("::")[0]).read_bytes()
        line = regression.line or _NOWHERE
        for claim, other in product(_claims(source, line), asked):
            if claim.excludes(other):
                bugs[name] = AssertedBug(test=name, call=claim.call, bug_test=asked[other])
    kept = tuple(one for one in guarded.regressions if one.test not in bugs)
    return replace(guarded, regressions=kept, disputed=tuple(bugs.values()))


def _claims(source: str | bytes, line: int = 0) -> Iterator[_Claim]:
    """Yield what the statements of functions claim; with a line, the statement there alone.

    What is assigned to a name stands in its place.
    """
    for function in ast.walk(parse_or_empty(source)):
        if not isinstance(function, Function) or (line and not covers(function, line)):
            continue
        values: dict[str, str] = {}
        for node in function.body:
            code = _NAME.sub(lambda name: values.get(name[0], name[0]), code_of(node))  # noqa: B023
            if isinstance(node, ast.Assign):
                name = code_of(node.targets[0])
                # Of a name that is assigned again it is not known what it stands for.
                is_kept = name not in values and len(code) < _LONGEST
                values[name] = code.partition(" = ")[2] if is_kept else name
            elif not line or covers(node, line):
                yield from _claimed(code)


def _claimed(code: str) -> Iterator[_Claim]:
    """Yield what a statement claims of a call: that it raises or not, or gives a literal or not."""
    match parse_or_empty(code).body:
        case [ast.With(body=[*_, last])] if "raises(" in code:
            yield _Claim(code_of(last), _RAISED, True)
        case [ast.Expr()]:
            yield _Claim(code, _RAISED, False)
        case [ast.Assert(ast.Compare(left, [sign], [right]))]:
            call, result, name = code_of(left), code_of(right), type(sign).__name__
            if name.endswith("In"):
                call, result = f"{call} in {result}", "True"
            if name in _SIGNS and is_literal(result):
                yield _Claim(call, result, "Not" not in name)
