"""Existing tests that assert the bug: they fail because of what a bug test asks for."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import product
from pathlib import Path

from pytest_brt.pysource.parse import Function, covers, is_literal, parse_or_empty
from pytest_brt.types import AssertedBug, Guarded, JudgedTest

#: A name that is no attribute and no keyword of a call.
_NAME = re.compile(r"(?<![.\w])[A-Za-z_]\w*(?![\w=])")
_ASSERTION = re.compile(r"assert (.+) (==|is not|is|!=) (.+)")
_RAISES = re.compile(r"with .*\braises\(")


def without_asserted_bugs(guarded: Guarded, tests: Sequence[JudgedTest], root: Path) -> Guarded:
    """Return the same without the regressions whose failing statement asserts the bug.

    It is about the same call as a bug test of `tests` that is believed, written alike, and no
    program meets both.
    """
    trusted = [judged.test for judged in tests if judged.judgement.counts]
    asked = {claim: test.name for test in trusted for claim in _claims(test.source or "")}
    bugs: dict[str, AssertedBug] = {}
    for regression in guarded.regressions if asked else ():
        path = root / regression.test.partition("::")[0]
        source = path.read_bytes() if path.is_file() else b""
        for (call, result, wants), claim in product(_claims(source, regression.line), asked):
            same, other, wants_too = claim
            if call == same and (wants or wants_too) and (result == other) != (wants == wants_too):
                bug = AssertedBug(test=regression.test, call=call, bug_test=asked[claim])
                bugs[regression.test] = bug
    kept = tuple(one for one in guarded.regressions if one.test not in bugs)
    return replace(guarded, regressions=kept, disputed=tuple(bugs.values()))


def _claims(source: str | bytes, line: int | None = None) -> Iterator[tuple[str, str, bool]]:
    """Yield what the statements of functions ask about, a result, and whether they want that.

    With a line, it is the statement there alone. What is assigned to a name stands in its place.
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
            elif (match := _ASSERTION.fullmatch(code)) and is_literal(match[3]):
                yield match[1], match[3], match[2] in ("==", "is")
            elif match := _RAISES.match(code):
                yield code.split("\n")[-1].strip(), "raises", True
            elif isinstance(node, ast.Expr):
                yield code, "raises", False


def _put_in(code: str, values: dict[str, str]) -> str:
    return _NAME.sub(lambda match: values.get(match[0], match[0]), code)
