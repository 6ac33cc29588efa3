"""What a report says of its failure: whether a test fails so, and asserts nothing against it.

LIBRO ranks by it (paper 001, requirements 26 and 27 of its code), with Python's words.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from pytest_brt.pysource.parse import is_literal, parse_or_empty
from pytest_brt.report.match import match_values
from pytest_brt.types import CandidateTest, Raised
from pytest_brt.types.report import RIGHT, WRONG, ClaimKind, ClaimRole, Reading

#: What the exceptions of a failed assertion are called; anything else is a crash.
ASSERTIONS = frozenset({"AssertionError", "Failed"})
_SIDES = re.compile(r"^(?:AssertionError: )?(?:assert )?(.+?) (==|!=|is not|is|not in|in) (.+)$")
_NOT_RAISED = re.compile(r"DID NOT RAISE (?:any of )?\(?<class '(?:\w+\.)*(\w+)'>")
_CRASH = re.compile(r"exception|crash|throw|traceback|\brais(?:e|es|ed|ing)\b", re.IGNORECASE)
#: Where a test waits for an exception, or catches one, and names of classes.
_AWAITS = re.compile(r"\b(?:raises|assertRaises)\((.*)")
_CATCHES = re.compile(r"\b(?:raises|assertRaises|except)\b(.*)")
_CLASS = re.compile(r"\b[A-Z]\w*")


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportFacts:
    """What judging needs of a report."""

    #: The whole text, for values that it quotes.
    text: str
    #: Whether it is about an exception that should not be there.
    is_crash: bool = False
    #: Values that it calls wrong, and that it shows.
    wrong: tuple[str, ...] = ()
    shown: tuple[str, ...] = ()
    #: Simple names of exceptions that it complains about, and not wants.
    raised: tuple[str, ...] = ()
    #: The value that it states for a call, by the call.
    stated: tuple[tuple[str, str], ...] = ()


def read_facts(reading: Reading) -> ReportFacts:
    """Return what a report says of its failure; nothing is run."""
    text = reading.issue.text
    values = [claim for claim in reading.claims_of(ClaimKind.VALUE) if claim.text]
    exceptions = reading.claims_of(ClaimKind.RAISES)
    wanted = {claim.text for claim in values if claim.role is ClaimRole.EXPECTED}
    wrong = {claim.text for claim in values if claim.role is ClaimRole.ACTUAL} - wanted
    asked = {claim.exception for claim in exceptions if claim.role in RIGHT}
    raised = {claim.exception for claim in exceptions if claim.role is ClaimRole.ACTUAL}
    return ReportFacts(
        text=text,
        is_crash=bool(reading.exceptions or _CRASH.search(text)) and not asked,
        wrong=tuple(wrong),
        shown=tuple(claim.text for claim in values if claim.role in WRONG),
        raised=tuple(raised - asked - {""}),
        stated=tuple(
            (statement.source, claim.text)
            for statement in reading.statements
            for claim in statement.claims_of(ClaimKind.VALUE, ClaimRole.EXPECTED)
        ),
    )


# -- how a test fails --


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
    for side in _sides(raised)[::2]:
        # What the test passes in, or expects, is in the report for another reason.
        if side not in source and not side.isidentifier() and _has(facts.shown, side):
            return f"the report quotes the value {side[:60]}"
    return ""


def states_values(facts: ReportFacts, raised: Raised | None) -> str:
    """Say that a failed comparison saw a value that the report shows, and asked for one it wants.

    "" where it did not.
    """
    left, operator, right = (raised and _sides(raised)) or ("", "", "")
    wanted = [value for _, value in facts.stated]
    for seen, asked in ((left, right), (right, left)) if operator == "==" else ():
        if _has(facts.shown, seen) and _has(wanted, asked):
            return f"the report wants {asked[:60]} in place of {seen[:60]}"
    return ""


def _sides(raised: Raised) -> tuple[str, ...]:
    """Return the sides of a comparison that failed, the operator between; () of anything else."""
    match = _SIDES.match(raised.message.strip().split("\n")[0])
    return match.groups() if match else ()


def _has(values: Iterable[str], text: str) -> bool:
    return any(match_values(text, value) for value in values)


# -- what a test demands --


def catches_named(facts: ReportFacts, source: str) -> bool:
    """Say whether the test catches, or waits for, an exception that the report names."""
    names = {name for line in _CATCHES.findall(source) for name in _CLASS.findall(line)}
    return not names.isdisjoint(_CLASS.findall(facts.text))


def asserts_reported_bug(test: CandidateTest, facts: ReportFacts) -> str:
    """Return what a test asserts that its report calls wrong, "" for nothing.

    That is a value or an exception that it complains about, or another value than it states for
    the same call.
    """
    tree = _function_of(test)
    for call, value in _demanded(tree):
        if _has(facts.wrong, value):
            return f"asserts the value that the report calls wrong: {value[:80]}"
        stated = [text for source, text in facts.stated if "".join(source.split()) == call]
        if stated and not _has(stated, value):
            return f"asserts {value[:80]}, the report states {stated[0][:80]}"
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


def _demanded(tree: ast.AST) -> Iterator[tuple[str, str]]:
    """Yield the calls, without blanks, and the literals that they are asserted to give."""
    for node in ast.walk(tree):
        match node:
            case ast.Assert(ast.Compare(left, [ast.Eq() | ast.Is()], [right])):
                sides = ast.unparse(left), ast.unparse(right)
            case ast.Call(ast.Attribute(attr="assertEqual" | "assertIs"), [left, right, *_]):
                sides = ast.unparse(left), ast.unparse(right)
            case _:
                continue
        for call, value in (sides, sides[::-1]):
            if is_literal(value):
                yield "".join(call.split()), value
