"""What a report says of its failure: whether a test fails so, and asserts nothing against it.

LIBRO ranks by it (paper 001, requirements 26 and 27 of its code), with Python's words.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass

from pytest_brt.pysource.parse import called_name, parse_or_empty
from pytest_brt.report.match import match_values, messages_agree
from pytest_brt.types import CandidateTest, Raised
from pytest_brt.types.report import RIGHT, WRONG, ClaimKind, ClaimRole, Reading

#: What the exceptions of a failed assertion are called; anything else is a crash.
ASSERTIONS = frozenset({"AssertionError", "Failed"})
_SIDES = re.compile(r"^(?:AssertionError: )?(?:assert )?(.+?) (?:==|!=|is not|is|not in|in) (.+)$")
_NOT_RAISED = re.compile(r"DID NOT RAISE (?:any of )?\(?<class '(?:\w+\.)*(\w+)'>")
_CRASH = re.compile(r"exception|crash|throw|traceback|\brais(?:e|es|ed|ing)\b", re.IGNORECASE)
#: How two values are said to be the same, and not to be: operators, and methods of unittest.
_SAME = ("Eq", "Is", "assertEqual", "assertIs")
_OTHER = ("NotEq", "IsNot", "assertNotEqual", "assertIsNot")
#: Where a test waits for an exception, or catches one, and names of classes.
_AWAITS = re.compile(r"\b(?:raises|assertRaises)\((.*)")
_CATCHES = re.compile(r"\b(?:raises|assertRaises|except)\b(.*)")
_CLASS = re.compile(r"\b[A-Z]\w*")
_Literal = ast.Constant | ast.List | ast.Tuple | ast.Dict | ast.Set | ast.UnaryOp


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportFacts:
    """What judging needs of a report."""

    #: The whole text, for values that it quotes.
    text: str
    #: Whether it is about an exception that should not be there.
    is_crash: bool = False
    #: Exceptions that it shows or names.
    exceptions: tuple[Raised, ...] = ()
    #: Values that it calls wrong, that it calls right, that it shows, and that it wants.
    wrong: tuple[str, ...] = ()
    right: tuple[str, ...] = ()
    shown: tuple[str, ...] = ()
    wanted: tuple[str, ...] = ()
    #: Simple names of exceptions that it complains about, and not wants.
    raised: tuple[str, ...] = ()
    #: The value that it states for a call, by the call.
    stated: tuple[tuple[str, str], ...] = ()

    @property
    def names_failure(self) -> bool:
        """Whether it names an exception or a value at all."""
        return bool(self.exceptions or self.shown or self.wanted or self.is_crash)


def read_facts(reading: Reading) -> ReportFacts:
    """Return what a report says of its failure; nothing is run."""

    def values(*roles: ClaimRole) -> tuple[str, ...]:
        return tuple(c.text for c in reading.claims_of(ClaimKind.VALUE, *roles) if c.text)

    def exceptions(*roles: ClaimRole) -> set[str]:
        return {claim.exception for claim in reading.claims_of(ClaimKind.RAISES, *roles)}

    asked, wanted = exceptions(*RIGHT), values(ClaimRole.EXPECTED)
    is_crash = bool(reading.exceptions or _CRASH.search(reading.issue.text))
    return ReportFacts(
        text=reading.issue.text,
        is_crash=is_crash and not asked,
        exceptions=reading.exceptions,
        wrong=tuple(text for text in values(ClaimRole.ACTUAL) if text not in wanted),
        right=tuple(map(str.strip, values(*RIGHT))),
        shown=values(*WRONG),
        wanted=wanted,
        raised=tuple(exceptions(ClaimRole.ACTUAL) - asked - {""}),
        stated=tuple(
            (statement.source, claim.text)
            for statement in reading.statements
            for claim in statement.claims_of(ClaimKind.VALUE, ClaimRole.EXPECTED)
        ),
    )


def failure_matches_report(facts: ReportFacts, source: str, raised: Raised | None) -> str:
    """Say in a few words how the failure of a test matches the report, "" when it does not."""
    if raised is None:
        return ""
    name = raised.name
    if name not in ASSERTIONS:
        # A name like `error` is a word as well: it counts with its module only.
        called = re.escape(name if name[:1].isupper() else raised.type)
        is_named = name != "Exception" and re.search(rf"\b{called}\b", facts.text)
        return f"the report names {name}" if is_named and facts.is_crash else ""
    if missing := _NOT_RAISED.search(raised.message):
        return f"the report asks for {missing[1]}" if missing[1] in facts.text else ""
    if stated := states_values(facts, raised):
        return stated
    for side in _sides(raised):
        # What the test passes in, or expects, is in the report for another reason.
        if side not in source and not side.isidentifier() and _has(facts.shown, side):
            return f"the report quotes the value {side[:60]}"
    return ""


def _sides(raised: Raised) -> tuple[str, ...]:
    """Return the two sides of a comparison that failed; () of anything else."""
    match = _SIDES.match(raised.message.strip().split("\n")[0])
    return match.groups() if match else ()


def _has(values: tuple[str, ...], text: str) -> bool:
    return any(match_values(text, value) for value in values)


def states_values(facts: ReportFacts, raised: Raised | None) -> str:
    """Say that a failed comparison saw a value that the report shows, and asked for one it wants.

    "" where it did not.
    """
    sides = _sides(raised) if raised and " == " in raised.message else ()
    for seen, asked in (sides, sides[::-1]) if sides else ():
        if _has(facts.shown, seen) and _has(facts.wanted, asked):
            return f"the report wants {asked[:60]} in place of {seen[:60]}"
    return ""


def shows_exception(facts: ReportFacts, raised: Raised) -> bool:
    """Say whether the report has an exception with its message, numbers and quotes aside."""
    same = [known for known in facts.exceptions if known.name == raised.name and known.message]
    return any(messages_agree(known.message, raised.message) for known in same)


def catches_named(facts: ReportFacts, source: str) -> bool:
    """Say whether the test catches, or waits for, an exception that the report names."""
    names = {name for line in _CATCHES.findall(source) for name in _CLASS.findall(line)}
    return not names.isdisjoint(_CLASS.findall(facts.text))


def asserts_reported_bug(test: CandidateTest, facts: ReportFacts) -> str:
    """Return what a test asserts that its report calls wrong, "" for nothing.

    That is a value that it complains about, another one than it states for the same call, an
    exception that it complains about, or that a value is wrong which it calls right.
    """
    tree = _function_of(test)
    for how, asked, other in _comparisons(tree):
        if not isinstance(other, _Literal | ast.BinOp):
            continue
        text = ast.unparse(other)
        call = "".join(ast.unparse(asked).split())
        stated = tuple(value for one, value in facts.stated if "".join(one.split()) == call)
        if how in _SAME and _has(facts.wrong, text):
            return f"asserts the value that the report calls wrong: {text[:80]}"
        if how in _SAME and stated and isinstance(other, _Literal) and not _has(stated, text):
            return f"asserts {text[:80]}, the report states {stated[0][:80]}"
        # As it is: white space may be what is wrong.
        if how in _OTHER and {text, getattr(other, "value", text)} & {*facts.right}:
            return f"forbids the value that the report calls right: {text[:80]}"
    for line in _AWAITS.findall(ast.unparse(tree)):
        for name in _CLASS.findall(line) if "match=" not in line else ():
            if name in facts.raised:
                return f"asserts the exception that the report calls wrong: {name}"
    return ""


def _function_of(test: CandidateTest) -> ast.AST:
    """Return the function that a test is, where its file has it; else all of the file."""
    tree = parse_or_empty(test.source or "")
    name = test.name.partition("[")[0].rpartition("::")[2]
    return next((node for node in ast.walk(tree) if getattr(node, "name", "") == name), tree)


def _comparisons(tree: ast.AST) -> Iterator[tuple[str, ast.expr, ast.expr]]:
    """Yield how two values are compared, and the two, in both orders."""
    for node in ast.walk(tree):
        match node:
            case ast.Assert(test=ast.Compare(left=left, ops=[operator], comparators=[right])):
                how = type(operator).__name__
            case ast.Call(args=[left, right, *_]):
                how = called_name(node)
            case _:
                continue
        yield how, left, right
        yield how, right, left
