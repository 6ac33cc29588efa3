"""What a report says of its failure, and whether the failure of a test is that one.

LIBRO ranks by it (paper 001, requirements 26 and 27 of its code), with Python's words.
"""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass

from pytest_brt.oracle.draft import simple
from pytest_brt.pysource.parse import called_name, parse_or_empty
from pytest_brt.report.match import match_values, messages_agree
from pytest_brt.types import Raised
from pytest_brt.types.report import RIGHT, WRONG, ClaimKind, ClaimRole, Reading

#: What the exceptions of a failed assertion are called; anything else is a crash.
ASSERTIONS = frozenset({"AssertionError", "Failed"})
_SIDES = re.compile(r"^(?:AssertionError: )?(?:assert )?(.+?) (?:==|!=|is not|is|not in|in) (.+)$")
_NOT_RAISED = re.compile(r"DID NOT RAISE (?:any of )?\(?<class '([\w.]+)'>")
_CRASH = re.compile(r"exception|crash|throw|traceback|\brais(?:e|es|ed|ing)\b", re.IGNORECASE)


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
    values = reading.claims_of(ClaimKind.VALUE)
    raises = reading.claims_of(ClaimKind.RAISES)
    wanted = [claim.text for claim in values if claim.role is ClaimRole.EXPECTED and claim.text]
    asked = {claim.exception for claim in raises if claim.role in RIGHT}
    complained = [claim.exception for claim in raises if claim.role is ClaimRole.ACTUAL]
    wrong = [claim.text for claim in values if claim.role is ClaimRole.ACTUAL and claim.text]
    is_crash = bool(reading.exceptions or _CRASH.search(reading.issue.text)) and not asked
    return ReportFacts(
        text=reading.issue.text,
        is_crash=is_crash,
        exceptions=reading.exceptions,
        wrong=tuple(dict.fromkeys(text for text in wrong if text not in wanted)),
        right=tuple(claim.text.strip() for claim in values if claim.role in RIGHT and claim.text),
        shown=tuple(claim.text for claim in values if claim.role in WRONG and claim.text),
        wanted=tuple(wanted),
        raised=tuple(dict.fromkeys(name for name in complained if name and name not in asked)),
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
    name = simple(raised.type)
    if name not in ASSERTIONS:
        # A name like `error` is a word as well: it counts with its module only.
        called = name if name[:1].isupper() else raised.type
        is_named = facts.is_crash and re.search(rf"\b{re.escape(called)}\b", facts.text)
        return f"the report names {name}" if is_named and name != "Exception" else ""
    first = raised.message.strip().split("\n")[0]
    if missing := _NOT_RAISED.search(first):
        wanted = simple(missing[1])
        return f"the report asks for {wanted}" if wanted in facts.text else ""
    if stated := states_values(facts, raised):
        return stated
    sides = _SIDES.match(first)
    values = [value for value in (*facts.shown, *facts.wrong) if not value.isidentifier()]
    for side in sides.groups() if sides else ():
        # What the test passes in, or expects, is in the report for another reason.
        if side not in source and any(match_values(side, value) for value in values):
            return f"the report quotes the value {side.strip()[:60]}"
    return ""


def states_values(facts: ReportFacts, raised: Raised | None) -> str:
    """Say that a failed comparison saw a value that the report shows, and asked for one it wants.

    "" where it did not.
    """
    sides = _SIDES.match(raised.message.strip().split("\n")[0]) if raised else None
    if sides is None or " == " not in sides[0]:
        return ""
    for seen, asked in ((sides[1], sides[2]), (sides[2], sides[1])):
        is_shown = any(match_values(seen, value) for value in facts.shown)
        if is_shown and any(match_values(asked, value) for value in facts.wanted):
            return f"the report wants {asked.strip()[:60]} in place of {seen.strip()[:60]}"
    return ""


def shows_exception(facts: ReportFacts, raised: Raised) -> bool:
    """Say whether the report has an exception with its message, numbers and quotes aside."""
    return any(
        simple(known.type) == simple(raised.type)
        and known.message
        and messages_agree(known.message, raised.message)
        for known in facts.exceptions
    )


def catches_named(facts: ReportFacts, source: str) -> bool:
    """Say whether the test catches, or waits for, an exception that the report names."""
    caught: list[ast.expr] = []
    for node in ast.walk(parse_or_empty(source)):
        if isinstance(node, ast.ExceptHandler) and node.type:
            caught.append(node.type)
        elif isinstance(node, ast.Call) and called_name(node) in ("raises", "assertRaises"):
            caught += node.args[:1]
    names = (n.id for one in caught for n in ast.walk(one) if isinstance(n, ast.Name))
    return any(re.search(rf"\b{name}\b", facts.text) for name in names)
