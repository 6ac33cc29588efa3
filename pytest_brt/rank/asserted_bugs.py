"""Existing tests that assert the bug: they fail because of what a bug test asks for."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from pytest_brt.pysource.parse import Function, covers, parse_or_empty
from pytest_brt.types import AssertedBug, Guarded, JudgedTest

_KINDS: dict[type[ast.cmpop], str] = {
    **dict.fromkeys((ast.Eq, ast.Is, ast.In), "wants"),
    **dict.fromkeys((ast.NotEq, ast.IsNot, ast.NotIn), "forbids"),
}
#: A name that is no attribute and no keyword of a call.
_NAME = re.compile(r"(?<![.\w])[A-Za-z_]\w*(?![\w=])")


class _Claim(NamedTuple):
    """What a statement of a test demands of a call: an exception, or values."""

    call: str
    #: "wants" one of the values, "forbids" them, or "raises".
    kind: str
    values: tuple[str, ...] = ()

    def allows(self, value: str) -> bool:
        return (value in self.values) == (self.kind == "wants")

    def excludes(self, other: _Claim) -> bool:
        """Say whether no program meets both."""
        kinds = {self.kind, other.kind}
        if self.call != other.call or "raises" in kinds:
            return self.call == other.call and len(kinds) == 2
        wanted = [v for claim in (self, other) if claim.kind == "wants" for v in claim.values]
        return bool(wanted) and not any(self.allows(v) and other.allows(v) for v in wanted)


def without_asserted_bugs(guarded: Guarded, tests: Sequence[JudgedTest], root: Path) -> Guarded:
    """Return the same without the regressions whose failing assertion asserts the bug.

    It is about the same call as a bug test of `tests` that is believed, written alike, and no
    program meets both.
    """
    asked = {
        claim: judged.test.name
        for judged in tests
        if judged.judgement.counts
        for claim in _claims(judged.test.source or "")
    }
    disputed: dict[str, AssertedBug] = {}
    for regression in guarded.regressions if asked else ():
        path = root / regression.test.partition("::")[0]
        source = path.read_bytes() if regression.line and path.is_file() else b""
        for claim in _claims(source, regression.line):
            for bug_test in (name for wanted, name in asked.items() if claim.excludes(wanted)):
                bug = AssertedBug(test=regression.test, call=claim.call, bug_test=bug_test)
                disputed[regression.test] = bug
    kept = tuple(one for one in guarded.regressions if one.test not in disputed)
    return replace(guarded, regressions=kept, disputed=tuple(disputed.values()))


def _claims(source: str | bytes, line: int | None = None) -> Iterator[_Claim]:
    """Yield what the statements of tests demand, or those alone that stand in a line."""
    for node in ast.walk(parse_or_empty(source)):
        if isinstance(node, Function) and (line is None or covers(node, line)):
            yield from _demanded(node, line)


def _demanded(function: ast.AST, line: int | None) -> Iterator[_Claim]:
    """Yield what a test demands; local names that are assigned once stand for what they are."""
    nodes = list(ast.walk(function))
    stored = Counter(n.id for n in nodes if isinstance(n, ast.Name) and type(n.ctx) is ast.Store)
    known: dict[str, str] = {}

    def written(node: ast.AST) -> str:
        return _NAME.sub(lambda match: known.get(match[0], match[0]), ast.unparse(node))

    for node in nodes:
        if isinstance(node, ast.Assign) and stored[name := ast.unparse(node.targets[0])] == 1:
            known[name] = written(node.value)
        if not isinstance(node, ast.stmt) or (line is not None and not covers(node, line)):
            continue
        if isinstance(node, ast.With) and "raises(" in ast.unparse(node.items[0]):
            yield _Claim(written(node.body[-1]), "raises")
        elif isinstance(node, ast.Expr):
            yield _Claim(written(node), "forbids")
        elif isinstance(node, ast.Assert) and isinstance(node.test, ast.Compare):
            kind = _KINDS.get(type(node.test.ops[-1]))
            with suppress(ValueError, TypeError):  # it compares with no literal
                value = ast.literal_eval(node.test.comparators[0])
                values = value if isinstance(node.test.ops[0], ast.In | ast.NotIn) else [value]
                if kind and len(node.test.ops) == 1:
                    yield _Claim(written(node.test.left), kind, tuple(map(repr, values)))
