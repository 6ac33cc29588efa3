"""Comments beside, above and below a statement → what they say about it."""

from __future__ import annotations

import re
from dataclasses import replace

from pytest_brt.issue.prose import sentence
from pytest_brt.reading.claims import claims
from pytest_brt.reading.lexicon import must_fail, must_work, plain
from pytest_brt.reading.mend import parses
from pytest_brt.reading.mentions import EXCEPTION, is_literal
from pytest_brt.reading.roles import is_complaint, role_of
from pytest_brt.reading.steps import Claim, ClaimKind, Role
from pytest_brt.types import Raised


def _spoken(text: str) -> tuple[Claim, ...]:
    """Return the values that a comment names in a sentence: "gives 3, should be 4"."""
    found = claims(sentence(text, 0))
    return tuple(
        replace(claim, direct=True)
        for claim in found
        if claim.kind is ClaimKind.VALUE and not claim.subject
    )


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
    return tuple(replace(said, sentence=written) for said in _said(text))


def _said(text: str) -> tuple[Claim, ...]:
    exception = EXCEPTION.search(text)
    role = role_of(text)
    if exception:
        expected = role is Role.EXPECTED and not is_complaint(text)
        raised = Raised(type=exception["type"], message=(exception["message"] or "").strip(" \"'"))
        raises = (
            Claim(
                kind=ClaimKind.RAISES,
                role=Role.EXPECTED if expected else Role.OBSERVED,
                raised=raised,
                sentence=text,
                direct=True,
            ),
        )
        return (*raises, *_spoken(text[exception.end("type") :]))
    arrow = _ARROW.match(text)
    rest = text[arrow.end() :] if arrow else text
    words = _COMMENT_VERB.match(rest)
    value = rest[words.end() :].strip().rstrip(".") if words else rest
    if re.search(r"\bshould\b|\bexpected\b|\binstead of\b", value):
        spoken = _spoken(text)
        if spoken:
            return spoken
    marked = bool(arrow or (words and words[0].strip()))
    if (
        value
        and len(value) < 300
        and not _is_word(value)
        and (is_literal(value) or (marked and parses(value)))
    ):
        expected = bool(words and words["modal"])
        kind_role = Role.EXPECTED if expected else (Role.SHOWN if not marked else Role.OBSERVED)
        return (
            Claim(kind=ClaimKind.VALUE, role=kind_role, text=value, sentence=text, direct=True),
        )
    if must_work(text):
        return (Claim(kind=ClaimKind.WORKS, role=Role.EXPECTED, sentence=text, direct=True),)
    if must_fail(text):
        raised = Raised(type="", message="")
        return (
            Claim(
                kind=ClaimKind.RAISES, role=Role.EXPECTED, raised=raised, sentence=text, direct=True
            ),
        )
    if role is Role.CONTRAST:
        return (Claim(kind=ClaimKind.WORKS, role=Role.CONTRAST, sentence=text, direct=True),)
    spoken = _spoken(text)
    if spoken:
        return spoken
    wrong = Claim(kind=ClaimKind.WRONG, role=Role.OBSERVED, sentence=text, direct=True)
    if is_complaint(text) or re.search(r"\bno longer\b|\bbug\b", text):
        return (wrong,)
    return ()


def shown_below(text: str) -> Claim | None:
    """Return what a comment below an expression says that it shows, None for a label.

    Words there do no harm: what is said to be shown without a word must really be.
    """
    if not text.strip() or text.strip().endswith(":"):
        return None
    return Claim(kind=ClaimKind.VALUE, role=Role.SHOWN, text=text, direct=True)
