"""Lifts the literals of a candidate test: the same test on inputs near the reported one."""

from __future__ import annotations

import ast
import copy
import keyword
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TypeGuard

from pytest_brt.codec import content_id
from pytest_brt.syntax import is_constant, parse
from pytest_brt.types import CandidateTest, OracleKind

#: Oracles whose assertion holds for the reported input only: of changed ones the value is told.
#: What should be an error need not be one with an input next to it.
_OF_ONE_INPUT = (OracleKind.EQUALS, OracleKind.GONE, OracleKind.MUST_RAISE)
#: Oracles that hold for changed inputs as well, where the unpatched tree fails in the same way.
_OF_MANY = (
    OracleKind.NO_RAISE,
    OracleKind.AGREE,
    OracleKind.ROUND_TRIP,
    OracleKind.IDEMPOTENT,
    OracleKind.NO_WARN,
)
#: What a test says in front of the value that it saw.
SAW = "saw "
#: Characters of a value that are compared and kept.
LONGEST = 2000

Literal = int | float | str


@dataclass(frozen=True, slots=True, kw_only=True)
class Variant:
    """A candidate test with one of its literals changed."""

    id: str
    #: What is changed, and the change, as in "5" and "5 → 6".
    literal: str
    change: str
    source: str
    #: Whether the test decides by itself; else it only says what value it saw.
    decides: bool
    #: How far the change goes; smaller is easier to read.
    distance: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Lifted:
    """A candidate test whose literals can be changed."""

    test: CandidateTest
    #: Each once: a literal that occurs several times is changed everywhere.
    literals: tuple[Literal, ...]
    decides: bool

    def variant(self, old: Literal, new: Literal) -> Variant:
        """Return the test with `old` replaced by `new`."""
        tree = _observing(parse(self.test.source or ""), self.test, decides=self.decides)
        for node in _constants(tree, self.test):
            if type(node.value) is type(old) and node.value == old:
                node.value = new
        source = ast.unparse(ast.fix_missing_locations(tree)) + "\n"
        return Variant(
            id=content_id(self.test.id, source),
            literal=_shown(old),
            change=f"{_shown(old)} → {_shown(new)}",
            source=source,
            decides=self.decides,
            distance=_distance(old, new),
        )


def lift(test: CandidateTest) -> Lifted | None:
    """Return `test` with the literals of its inputs lifted; None when it has none to change.

    Expected values are no inputs, nor are docstrings, names given as keyword arguments, and
    texts that name something which the test defines or uses, as a field of its class.
    """
    kind = test.oracle.kind
    if test.source is None or kind not in (*_OF_ONE_INPUT, *_OF_MANY):
        return None
    decides = kind in _OF_MANY
    try:
        tree = _observing(parse(test.source), test, decides=decides)
    except (SyntaxError, ValueError):
        return None
    literals = dict.fromkeys(
        (type(node.value).__name__, node.value) for node in _constants(tree, test)
    )
    names = _names(tree)
    values = tuple(value for _, value in literals if can_change(value) and value not in names)
    return Lifted(test=test, literals=values, decides=decides) if values else None


def _observing(tree: ast.Module, test: CandidateTest, *, decides: bool) -> ast.Module:
    """Return the module, its assertion replaced by telling the value where it is to be told."""
    tree = copy.deepcopy(tree)
    function = _function(tree, test)
    if decides:
        return tree
    raising = test.oracle.kind is OracleKind.MUST_RAISE
    for place, statement in enumerate(function.body):
        if raising and isinstance(statement, ast.With):
            function.body[place:] = _telling(statement)
            return tree
        if not raising and isinstance(statement, ast.Assert):
            seen = _subject(statement.test)
            told = f"raise AssertionError({SAW!r} + repr({ast.unparse(seen)})[:{LONGEST}])"
            function.body[place:] = parse(told).body
            return tree
    raise ValueError("no assertion at the top level of the test")


def _telling(block: ast.With) -> list[ast.stmt]:
    """Return what tells, instead of ``with pytest.raises(E): f()``, what f() gives, or that E came.

    Messages are left out: patches that refuse an input do so in their own words.
    """
    call = block.items[0].context_expr
    inner = block.body[0]
    if (
        len(block.items) > 1
        or len(block.body) > 1
        or not isinstance(inner, ast.Expr)
        or not isinstance(call, ast.Call)
        or not ast.unparse(call.func).endswith("raises")
        or not call.args
    ):
        raise ValueError("no call that is to raise")
    kind = ast.unparse(call.args[0])
    return parse(
        f"try:\n    seen = repr({ast.unparse(inner.value)})[:{LONGEST}]\n"
        f"except {kind}:\n    seen = {'raises ' + kind!r}\n"
        f"raise AssertionError({SAW!r} + seen)"
    ).body


def _subject(test: ast.expr) -> ast.expr:
    """Return the side of an assertion that calls something: what is asked about."""
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        return _subject(test.operand)
    if isinstance(test, ast.Compare) and len(test.comparators) == 1:
        sides = [test.left, test.comparators[0]]
        calling = [side for side in sides if any(isinstance(n, ast.Call) for n in ast.walk(side))]
        return (calling or sides)[0]
    return test


def _function(tree: ast.Module, test: CandidateTest) -> ast.FunctionDef:
    name = test.name.rpartition("::")[2].partition("[")[0]
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef) and node.name == name:
            return node
    raise ValueError(f"no function {name!r}")


def _constants(tree: ast.Module, test: CandidateTest) -> Iterator[ast.Constant]:
    function = _function(tree, test)
    for number, statement in enumerate(function.body):
        if number == 0 and is_constant(statement):
            continue
        for node in ast.walk(_inputs(statement)):
            if isinstance(node, ast.Constant):
                yield node


def _inputs(statement: ast.stmt) -> ast.AST:
    """Return the argument of ``repr`` in a statement that tells a value; else all of it."""
    telling = isinstance(statement, ast.Raise | ast.Try)
    for node in ast.walk(statement) if telling else ():
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "repr":
            return node.args[0]
    return ast.Pass() if isinstance(statement, ast.Raise) else statement


def _names(tree: ast.Module) -> frozenset[str]:
    """Return the names of variables, fields, parameters and attributes in a module."""
    found: set[str | None] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Name):
            found.add(node.id)
        elif isinstance(node, ast.Attribute):
            found.add(node.attr)
        elif isinstance(node, ast.arg | ast.keyword):
            found.add(node.arg)
        elif isinstance(node, ast.FunctionDef | ast.ClassDef):
            found.add(node.name)
    return frozenset(name for name in found if name)


def can_change(value: object) -> TypeGuard[Literal]:
    """Say whether a literal is data that can be varied."""
    if isinstance(value, bool):
        return False
    if isinstance(value, str):
        return 0 < len(value) <= 500 and not _is_word(value)
    return isinstance(value, int | float)


def _is_word(text: str) -> bool:
    """A bare lower-case word is nearly always the name of an option, not data."""
    return text.isidentifier() and text.islower() and (len(text) > 2 or keyword.iskeyword(text))


def _distance(old: Literal, new: Literal) -> float:
    if isinstance(old, str) and isinstance(new, str):
        same = sum(one == other for one, other in zip(old, new, strict=False))
        return max(len(old), len(new)) - same + abs(len(old) - len(new)) / 10
    return abs(float(new) - float(old))


def _shown(value: Literal) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}…{text[-1]}"


def outcome_words(text: str) -> str:
    """Return what a run did, comparable between trees: on one line, without addresses."""
    lines = filter(None, map(str.strip, text.splitlines()))
    return re.sub(r"0x[0-9a-fA-F]{4,}", "0x…", " ".join(lines))[:LONGEST]


def smallest_first(variants: Sequence[Variant]) -> tuple[Variant, ...]:
    """Order variants by how little is changed."""
    return tuple(sorted(variants, key=lambda v: (v.distance, len(v.change), v.change)))
