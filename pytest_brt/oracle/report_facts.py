"""What a report says of its failure: whether a test fails so, and asserts nothing against it.

LIBRO ranks by it (paper 001, requirements 26 and 27 of its code), with Python's words.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from pytest_brt.pysource.parse import code_of, is_literal, parse_or_empty
from pytest_brt.report.match import match_values
from pytest_brt.types import CandidateTest, Raised
from pytest_brt.types.report import RIGHT, WRONG, ClaimKind, ClaimRole, Reading

#: What the exceptions of a failed assertion are called; anything else is a crash.
ASSERTIONS = frozenset({"AssertionError", "Failed"})
_SIDES = re.compile(
    r"^(?:AssertionError: )?(?:assert )?(.+?) (==|!=|is not|is|not in|in) (.+)$"
)
_NOT_RAISED = re.compile(r"DID NOT RAISE (?:any of )?\(?<class '(?:\w+\.)*(\w+)'>")
_CRASH = re.compile(
    r"exception|crash|throw|traceback|\brais(?:e|es|ed|ing)\b", re.IGNORECASE
)
#: Where a test waits for an exception, or catches one, and names of classes.
_AWAITS = re.compile(r"\b(?:raises|assertRaises)\((.*)")
_CATCHES = re.compile(r"\b(?:raises|assertRaises|except)\b(.*)")
_EXPECTED = ClaimRole.EXPECTED
_CLASS = re.compile(r"\b[A-Z]\w*")


def is_crash(reading: Reading) -> bool:
    """Say whether a report is about an exception that should not be there."""
    is_told = reading.exceptions or _CRASH.search(reading.issue.text)
    return bool(is_told) and not reading.claims_of(ClaimKind.RAISES, *RIGHT)


def _quotes(reading: Reading, text: str, *roles: ClaimRole) -> bool:
    """Say whether a report has a value in one of these roles."""
    claims = reading.claims_of(ClaimKind.VALUE, *roles)
    return any(match_values(text, claim.text) for claim in claims)


# -- how a test fails --


def failure_matches_report(reading: Reading, source: str, raised: Raised | None) -> str:
    """Say in a few words how the failure of a test matches the report, "" when it does not."""
    if raised is None:
        return ""
    name = raised.name
    if name not in ASSERTIONS:
        # A name like `error` is a word as well: it counts with its module only.
        called = re.escape(name if name[:1].isupper() else raised.type)
        is_named = name != "Exception" and re.search(rf"\b{called}\b", reading.issue.text)
        return f"the report names {name}" if is_named and is_crash(reading) else ""
    if missing := _NOT_RAISED.search(raised.message):
        return (
            f"the report asks for {missing[1]}" if missing[1] in reading.issue.text else ""
        )
    if stated := states_values(reading, raised):
        return stated
    sides = _sides(raised)[::2]
    for call, value in _demanded(parse_or_empty(source)):
        if value in sides and any(
            match_values(value, text) for text in _stated(reading, call)
        ):
            return f"the report states {value[:60]}"
    for side in sides:
        # What the test passes in, or expects, is in the report for another reason.
        if (
            side not in source
            and not side.isidentifier()
            and _quotes(reading, side, *WRONG)
        ):
            return f"the report quotes the value {side[:60]}"
    return ""


def states_values(reading: Reading, raised: Raised | None) -> str:
    """Say that a failed comparison saw a value that the report shows, and asked for one it wants.

    "" where it did not.
    """
    left, operator, right = (raised and _sides(raised)) or ("", "", "")
    for seen, asked in ((left, right), (right, left)) if operator == "==" else ():
        if _quotes(reading, seen, *WRONG) and _quotes(reading, asked, _EXPECTED):
            return f"the report wants {asked[:60]} in place of {seen[:60]}"
    return ""


def _sides(raised: Raised) -> tuple[str, ...]:
    """Return the sides of a comparison that failed, the operator between; () of anything else."""
    match = _SIDES.match(raised.message.strip().split("\n")[0])
    return match.groups() if match else ()


# -- what a test demands --


def catches_named(reading: Reading, source: str) -> bool:
    """Say whether the test catches, or waits for, an exception that the report names."""
    names = {name for line in _CATCHES.findall(source) for name in _CLASS.findall(line)}
    return not names.isdisjoint(_CLASS.findall(reading.issue.text))


def asserts_reported_bug(test: CandidateTest, reading: Reading) -> str:
    """Return what a test asserts that its report calls wrong, "" for nothing.

    That is a value or an exception that it complains about, or another value than it states for
    the same call.
    """
    tree = _function_of(test)
    for call, value in _demanded(tree):
        if _quotes(reading, value, ClaimRole.ACTUAL) and not _quotes(
            reading, value, _EXPECTED
        ):
            return f"asserts the value that the report calls wrong: {value[:80]}"
        stated = _stated(reading, call)
        if stated and not any(match_values(value, text) for text in stated):
            return f"asserts {value[:80]}, the report states {stated[0][:80]}"
    # With `match` it may be another one of the same type.
    awaits = [line for line in _AWAITS.findall(code_of(tree)) if "match=" not in line]
    raised = {
        claim.exception for claim in reading.claims_of(ClaimKind.RAISES, ClaimRole.ACTUAL)
    }
    raised -= {claim.exception for claim in reading.claims_of(ClaimKind.RAISES, *RIGHT)}
    for name in sorted(raised.intersection(_CLASS.findall("\n".join(awaits)))):
        return f"asserts the exception that the report calls wrong: {name}"
    return ""


def _stated(reading: Reading, call: str) -> list[str]:
    """Return the values that a report wants of a call, which is without blanks."""
    same = (one for one in reading.statements if "".join(one.source.split()) == call)
    return [
        claim.text for one in same for claim in one.claims_of(ClaimKind.VALUE, _EXPECTED)
    ]


def _function_of(test: CandidateTest) -> ast.AST:
    """Return the function that a test is, where its file has it; else all of the file."""
    tree = parse_or_empty(test.source or "")
    name = test.name.partition("[")[0].rpartition("::")[2]
    return next(
        (node for node in ast.walk(tree) if getattr(node, "name", "") == name), tree
    )


def _demanded(tree: ast.AST) -> Iterator[tuple[str, str]]:
    """Yield the calls, without blanks, and the literals that they are asserted to give."""
    for node in ast.walk(tree):
        match node:
            case ast.Assert(ast.Compare(left, [ast.Eq() | ast.Is()], [right])) | ast.Call(
                ast.Attribute(attr="assertEqual" | "assertIs"), [left, right, *_]
            ):
                sides = code_of(left), code_of(right)
                for call, value in (sides, sides[::-1]):
                    if is_literal(value):
                        yield "".join(call.split()), value
