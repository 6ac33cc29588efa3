"""Comments beside, above and below a statement → what they say about it."""

from __future__ import annotations

import re
from dataclasses import replace

from pytest_brt.issue.prose import sentence
from pytest_brt.reading.claims import claims
from pytest_brt.reading.lexicon import plain
from pytest_brt.reading.mend import parses
from pytest_brt.reading.mentions import EXCEPTION, is_literal
from pytest_brt.reading.roles import role_of
from pytest_brt.reading.steps import Claim, ClaimKind, Role

_ARROW = re.compile(r"^(?:[-=]*>|→|=+|Out(?:\[\d+\])?:?)\s*")
_COMMENT_VERB = re.compile(
    r"^(?P<modal>(?:i |we |one )?(?:would )?"
    r"(?:(?:it |this |which )?should(?: be| return| give| print)?"
    r"|expected|expects?)\s*(?:result|output|value)?:?\s+)?"
    r"(?P<verb>(?:it |this |which )?(?:returns?"
    r"|gives?|prints?|outputs?|evaluates to|yields?|produces?|is|got|result|output|actual)\b"
    r":?\s*)?",
    re.IGNORECASE,
)


def _is_word(text: str) -> bool:
    """Say whether `text` is an English word rather than a name: lower case, and not short."""
    return text.isalpha() and text.islower() and len(text) > 3


def comment_said(text: str) -> tuple[Claim, ...]:
    """Return what a comment beside, above or below a statement says about it."""
    written, text = text.strip(), plain(text.strip())
    if not text:
        return ()
    return tuple(replace(said, sentence=written, direct=True) for said in _said(text))


def _said(text: str) -> tuple[Claim, ...]:
    spoken = tuple(_of_a_line(c) for c in claims(sentence(text, 0)) if not c.subject)
    if EXCEPTION.search(text):
        return spoken
    arrow = _ARROW.match(text)
    rest = text[arrow.end() :] if arrow else text
    words = _COMMENT_VERB.match(rest)
    value = rest[words.end() :].strip().rstrip(".") if words else rest
    values = tuple(claim for claim in spoken if claim.kind is ClaimKind.VALUE)
    if values and re.search(r"\bshould\b|\bexpected\b|\binstead of\b", value):
        return values
    marked = bool(arrow or (words and words[0].strip()))
    is_value = is_literal(value) or (marked and parses(value))
    if 0 < len(value) < 300 and not _is_word(value) and is_value:
        shown = Role.OBSERVED if marked else Role.SHOWN
        role = Role.EXPECTED if words and words["modal"] else shown
        return (Claim(kind=ClaimKind.VALUE, role=role, text=value),)
    if role_of(text) is Role.CONTRAST:
        return (Claim(kind=ClaimKind.WORKS, role=Role.CONTRAST),)
    return values or spoken


def _of_a_line(claim: Claim) -> Claim:
    """Return a claim as a remark has it: that a line is an "error" says that it is wrong."""
    if claim.raised is None:
        return claim
    if not claim.raised.type and claim.role is Role.OBSERVED:
        return replace(claim, kind=ClaimKind.WRONG, raised=None)
    return replace(claim, raised=replace(claim.raised, message=claim.raised.message.strip("\"'")))


def shown_below(text: str) -> Claim | None:
    """Return what a comment below an expression says that it shows, None for a label.

    Words there do no harm: what is said to be shown without a word must really be.
    """
    if not text.strip() or text.strip().endswith(":"):
        return None
    return Claim(kind=ClaimKind.VALUE, role=Role.SHOWN, text=text, direct=True)
