"""What an assertion of a test says, in a form in which those of two tests can be compared."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from copy import copy
from dataclasses import dataclass
from enum import StrEnum

from pytest_brt.code.bindings import Bindings, IsModule, written
from pytest_brt.code.parameters import cases_of
from pytest_brt.syntax.parse import (
    Function,
    bodies,
    called_name,
    covers,
    first_line,
    parse_or_empty,
)


class Relation(StrEnum):
    """How an assertion wants two things to be to each other, or one to be."""

    EQUAL = "=="
    UNEQUAL = "!="
    SAME = "is"
    NOT_SAME = "is-not"
    IN = "in"
    NOT_IN = "not-in"
    LESS = "<"
    NOT_LESS = ">="
    MORE = ">"
    NOT_MORE = "<="
    TRUE = "true"
    FALSE = "false"
    RAISES = "raises"
    #: It ends without an exception.
    WORKS = "works"


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """One thing that an assertion says."""

    #: What it is about, with what its names stand for.
    subject: str
    relation: Relation
    #: The value, or the name of the exception.
    other: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Assertion:
    """A statement of a test that may fail, and what it says."""

    #: As written, on one line.
    text: str
    claims: tuple[Claim, ...]
    #: What was done before it that is bound to no name, as a call that sets an option.
    after: tuple[str, ...] = ()


_COMPARED: dict[type[ast.cmpop], Relation] = {
    ast.Eq: Relation.EQUAL,
    ast.NotEq: Relation.UNEQUAL,
    ast.Is: Relation.SAME,
    ast.IsNot: Relation.NOT_SAME,
    ast.In: Relation.IN,
    ast.NotIn: Relation.NOT_IN,
    ast.Lt: Relation.LESS,
    ast.GtE: Relation.NOT_LESS,
    ast.Gt: Relation.MORE,
    ast.LtE: Relation.NOT_MORE,
}
#: The methods of `unittest.TestCase` that compare two things, or look at one.
_METHODS = {
    "assertEqual": Relation.EQUAL,
    "assertEquals": Relation.EQUAL,
    "assertNotEqual": Relation.UNEQUAL,
    "assertIs": Relation.SAME,
    "assertIsNot": Relation.NOT_SAME,
    "assertIn": Relation.IN,
    "assertNotIn": Relation.NOT_IN,
    "assertTrue": Relation.TRUE,
    "assertFalse": Relation.FALSE,
}
_NONE = {"assertIsNone": Relation.SAME, "assertIsNotNone": Relation.NOT_SAME}
_RAISING = frozenset({"raises", "assertRaises", "assertRaisesRegex", "raises_regex"})
_OPPOSITES = (
    (Relation.EQUAL, Relation.UNEQUAL),
    (Relation.SAME, Relation.NOT_SAME),
    (Relation.IN, Relation.NOT_IN),
    (Relation.LESS, Relation.NOT_LESS),
    (Relation.MORE, Relation.NOT_MORE),
    (Relation.TRUE, Relation.FALSE),
)
_NEGATED = dict(_OPPOSITES) | {other: one for one, other in _OPPOSITES}
#: Those whose two sides can be exchanged.
_EVEN = frozenset({Relation.EQUAL, Relation.UNEQUAL, Relation.SAME, Relation.NOT_SAME})
_HOLE = re.compile(r"‹\w+›")


def read_assertion(
    source: str, line: int, case: str = "", is_module: IsModule = lambda _: False
) -> Assertion | None:
    """Return what the statement at a line of a test module asserts.

    `case` is the id of a parametrised test's case. None where no statement of a function stands
    there, the text is no Python, or it is nested too deeply to be walked.
    """
    try:
        return _read(source, line, case, is_module)
    except RecursionError:
        return None


def _read(source: str, line: int, case: str, is_module: IsModule) -> Assertion | None:
    bindings = Bindings(is_module)
    found: ast.stmt | None = None
    for statement in _until(parse_or_empty(source).body, line):
        if isinstance(statement, Function):
            for name, value in cases_of(statement).get(case, {}).items():
                bindings.bind(name, value)
            continue
        if found is not None and not _only_asserts(found):
            bindings.take(found)
        found = statement
    if found is None or not covers(found, line):
        return None
    text = " ".join(written(found).split())
    claims = tuple(_claims(found, bindings))
    return Assertion(text=text, claims=claims, after=tuple(bindings.done))


def _until(body: Sequence[ast.stmt], line: int) -> Iterator[ast.stmt]:
    """Yield the statements up to the one at a line; the head alone of what stands around it.

    A block that asserts that something raises is one statement, unless the line is further up.
    """
    for node in body:
        if first_line(node) > line:
            return
        around = [b for b in bodies(node) if first_line(b[0]) <= line <= (b[-1].end_lineno or 0)]
        if not around or _is_raising(node):
            inner = list(bodies(node)) if _is_raising(node) else []
            yield from inner[0][:-1] if inner else ()
            yield node
            continue
        # A ``try`` or ``match`` binds nothing before its blocks, and is none without them.
        if not hasattr(node, "handlers") and not hasattr(node, "cases"):
            yield _head(node)
        for block in around:
            yield from _until(block, line)


def _head(node: ast.stmt) -> ast.stmt:
    """Return a compound statement without its blocks."""
    head = copy(node)
    for field in ("orelse", "finalbody", "handlers", "cases"):
        if hasattr(head, field):
            setattr(head, field, [])
    head.body = [ast.Pass()]  # type: ignore[attr-defined]  # only those that have one come here
    return head


def _only_asserts(node: ast.stmt) -> bool:
    """Say whether a statement does nothing but assert something."""
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
        name = called_name(node.value)
        return name in _RAISING or name.startswith("assert")
    return isinstance(node, ast.Assert) or _is_raising(node)


def _is_raising(node: ast.stmt) -> bool:
    return isinstance(node, ast.With) and _raised_by(node) is not None


def _raised_by(node: ast.With) -> ast.Call | None:
    call = node.items[0].context_expr
    is_raising = isinstance(call, ast.Call) and called_name(call) in _RAISING and call.args
    return call if isinstance(call, ast.Call) and is_raising else None


def _claims(node: ast.stmt, bindings: Bindings) -> Iterator[Claim]:
    if isinstance(node, ast.Assert):
        yield from _of_condition(node.test, bindings)
    elif isinstance(node, ast.With) and (call := _raised_by(node)) is not None:
        yield _raises(call.args[0], _subject(node.body[-1], bindings), bindings)
    elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
        yield from _of_call(node.value, bindings)
    elif isinstance(node, ast.Assign | ast.Return | ast.Expr) and node.value is not None:
        yield Claim(subject=bindings.text(node.value), relation=Relation.WORKS)


def _subject(node: ast.stmt, bindings: Bindings) -> str:
    value = getattr(node, "value", None)
    return bindings.text(value if isinstance(value, ast.expr) else node)


def _of_call(call: ast.Call, bindings: Bindings) -> Iterator[Claim]:
    """Yield what a statement says that is nothing but a call: of an assert method, or another."""
    name, arguments = called_name(call), call.args
    if name in _METHODS and len(arguments) >= 1:
        relation = _METHODS[name]
        if relation in (Relation.TRUE, Relation.FALSE):
            yield from _of_condition(arguments[0], bindings, wanted=relation is Relation.TRUE)
        elif len(arguments) >= 2:
            yield _claim(arguments[0], relation, arguments[1], bindings)
    elif name in _NONE and arguments:
        yield _claim(arguments[0], _NONE[name], ast.Constant(value=None), bindings)
    elif name in _RAISING and len(arguments) >= 2:
        function = arguments[1]
        inner = function.body if isinstance(function, ast.Lambda) else _called_with(call)
        yield _raises(arguments[0], bindings.text(inner), bindings)
    else:
        yield Claim(subject=bindings.text(call), relation=Relation.WORKS)


def _called_with(call: ast.Call) -> ast.Call:
    """Return the call that ``raises(Error, function, *arguments)`` makes."""
    return ast.Call(func=call.args[1], args=call.args[2:], keywords=call.keywords)


def _raises(exception: ast.expr, subject: str, bindings: Bindings) -> Claim:
    name = bindings.text(exception).rpartition(":")[2].rpartition(".")[2]
    return Claim(subject=subject, relation=Relation.RAISES, other=name)


def _of_condition(test: ast.expr, bindings: Bindings, *, wanted: bool = True) -> Iterator[Claim]:
    """Yield what is said by a condition that has to hold, or not to hold."""
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        yield from _of_condition(test.operand, bindings, wanted=not wanted)
    elif isinstance(test, ast.BoolOp):
        # Of parts that need not all hold, none is said.
        if isinstance(test.op, ast.And) is wanted:
            for part in test.values:
                yield from _of_condition(part, bindings, wanted=wanted)
    elif isinstance(test, ast.Compare):
        pairs = zip([test.left, *test.comparators], test.ops, test.comparators, strict=False)
        for left, operator, right in pairs if wanted or len(test.ops) == 1 else ():
            relation = _COMPARED[type(operator)]
            yield _claim(left, relation if wanted else _NEGATED[relation], right, bindings)
    else:
        relation = Relation.TRUE if wanted else Relation.FALSE
        yield Claim(subject=bindings.text(test), relation=relation)


def _claim(left: ast.expr, relation: Relation, right: ast.expr, bindings: Bindings) -> Claim:
    """Return what a comparison says; of two things that can be exchanged a constant is second."""
    one, other = bindings.text(left), bindings.text(right)
    if relation in _EVEN and (_is_value(one), one) > (_is_value(other), other):
        one, other = other, one
    return Claim(subject=one, relation=relation, other=other)


def contradict(one: Assertion, other: Assertion) -> bool:
    """Say whether two assertions cannot both hold: they want different things of the same calls.

    Where holes are in them, only the plain opposite counts, of something of the project.
    """
    if one.after != other.after:
        return False
    return any(_exclude(mine, theirs) for mine in one.claims for theirs in other.claims)


def _exclude(one: Claim, other: Claim) -> bool:
    if _opposed(one, other):
        return True
    if _HOLE.search(one.subject + one.other + other.subject + other.other):
        return False
    if one.relation is Relation.RAISES or other.relation is Relation.RAISES:
        return _raises_or_not(one, other)
    if one.subject != other.subject or not _calls(one.subject):
        return False
    values = (_wanted_value(one), _wanted_value(other))
    if None in values:
        return _truth(one) is not None and _truth(one) is _not(_truth(other))
    return values[0] != values[1]


def _opposed(one: Claim, other: Claim) -> bool:
    if _NEGATED.get(one.relation) is not other.relation:
        return False
    mine, theirs = _numbered(one), _numbered(other)
    is_ours = ":" in mine and _calls(mine)
    return mine == theirs and (is_ours or not _HOLE.search(one.subject + one.other))


def _numbered(claim: Claim) -> str:
    """Return the two sides of a claim with its holes numbered, in the order of their first use."""
    numbers: dict[str, int] = {}
    return _HOLE.sub(
        lambda hole: f"‹{numbers.setdefault(hole[0], len(numbers))}›",
        f"{claim.subject} | {claim.other}",
    )


def _raises_or_not(one: Claim, other: Claim) -> bool:
    """Say whether one wants an exception where the other wants something else of the same call."""
    if one.relation is other.relation:
        return False  # one exception may be a kind of the other
    raising, working = (one, other) if one.relation is Relation.RAISES else (other, one)
    return raising.subject in (working.subject, working.other) and _calls(raising.subject)


def _calls(text: str) -> bool:
    """Say whether something is called in an expression, or in what was left of one."""
    return "(" in text or "⟨" in text


def _is_value(text: str) -> bool:
    return _value(text) is not None


def _value(text: str) -> tuple[object] | None:
    """Return the value of a literal; None for no literal."""
    try:
        return (ast.literal_eval(text),)
    except (ValueError, SyntaxError, MemoryError, RecursionError, TypeError):
        return None


def _wanted_value(claim: Claim) -> tuple[object] | None:
    wants = claim.relation in (Relation.EQUAL, Relation.SAME)
    return _value(claim.other) if wants else None


def _truth(claim: Claim) -> bool | None:
    """Return whether what a claim is about has to be true or false; None where both may be."""
    if claim.relation in (Relation.TRUE, Relation.FALSE):
        return claim.relation is Relation.TRUE
    value = _wanted_value(claim)
    return None if value is None else bool(value[0])


def _not(truth: bool | None) -> bool | None:
    return None if truth is None else not truth
