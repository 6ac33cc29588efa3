"""Sentences and comments → what they say about which code."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import replace

from pytest_brt.issue.prose import Sentence, sentence
from pytest_brt.reading.lexicon import (
    hidden_quotes,
    is_complaint,
    misses_exception,
    must_fail,
    must_work,
    plain,
    role_of,
)
from pytest_brt.reading.mend import parses
from pytest_brt.reading.mentions import (
    EXCEPTION,
    Code,
    code_in,
    is_literal,
    is_runnable,
    masked,
    object_at,
)
from pytest_brt.reading.steps import Claim, ClaimKind, ClaimRole, raises_claim, value_claim
from pytest_brt.reading.verbs import of_one, verb_claims

_LABEL = re.compile(
    r"(?:^(?:[-*+•] )?|(?<=[\n.,;]) ?)(?:\*\*)?(?P<label>expected|actual|observed|got|should be"
    r"|result|(?:expected|actual|observed|current) (?:result|output|value|behaviou?r))"
    r"(?:\*\*)?\s*(?::|=|is)(?:\*\*)?\s*",
    re.IGNORECASE,
)
_FAILS = re.compile(
    r"\b(?:does(?:n't| not) work|fail(?:s|ed)?|crash(?:es)?|errors?(?: out)?|breaks?|hangs?"
    r"|raises an? (?:error|exception)|gives? an? error)\b",
    re.IGNORECASE,
)


def claims(
    given: Sentence, known: Collection[str] = (), section: ClaimRole = ClaimRole.SHOWN
) -> tuple[Claim, ...]:
    """Return what a sentence says about code, and about the variables `known` in the report.

    A lone value has the role of the section that it stands in.
    """
    told = sentence(plain(given.text), given.line, heading=given.heading)
    codes = code_in(told)
    hidden = hidden_quotes(masked(told.text, codes))
    found = verb_claims(told, codes, hidden, known)
    found += _label_claims(told, codes, hidden)
    found += _lone_value(told, codes, section) if not found else []
    runnable = [code for code in codes if is_runnable(code.text)]
    subject = runnable[0].text if runnable else ""
    found += general_claims(told, subject, found)
    return tuple(dict.fromkeys(replace(claim, sentence=given.text) for claim in found))


def _lone_value(given: Sentence, codes: list[Code], section: ClaimRole) -> list[Claim]:
    """A section named "Expected" or "Actual" that holds nothing but a value."""
    text = given.text.strip().rstrip(".")
    if section not in (ClaimRole.EXPECTED, ClaimRole.OBSERVED):
        return []
    value = codes[0].text if len(codes) == 1 and len(text) - len(codes[0].text) <= 4 else text
    if is_literal(value) or (codes and value == codes[0].text and parses(value)):
        return [value_claim("", value, section, given)]
    return []


def _label_claims(given: Sentence, codes: list[Code], hidden: str) -> list[Claim]:
    found = []
    for match in _LABEL.finditer(hidden):
        label = match["label"].lower()
        role = ClaimRole.EXPECTED if re.match(r"expected|should", label) else ClaimRole.OBSERVED
        text, end = object_at(given.text, codes, match.end())
        exception = EXCEPTION.match(text) if text else None
        if exception:
            found.append(raises_claim("", exception, role, given))
        elif text:
            claim = value_claim("", text, role, given)
            found += of_one(claim, given.text, codes, end)
    return found


def general_claims(sentence: Sentence, subject: str, found: list[Claim]) -> list[Claim]:
    """Return the claim of a sentence about `subject`, where `found` has no exception already."""
    text = sentence.text
    exception = EXCEPTION.search(text)
    if any(claim.kind is ClaimKind.RAISES for claim in found):
        return []
    if must_fail(text) or (exception and misses_exception(text)):
        return [raises_claim(subject, exception, ClaimRole.EXPECTED, sentence)]
    if must_work(text):
        return [
            Claim(kind=ClaimKind.WORKS, role=ClaimRole.EXPECTED, sentence=text, subject=subject)
        ]
    if exception and role_of(text) in (ClaimRole.OBSERVED, ClaimRole.SHOWN):
        return [raises_claim(subject, exception, ClaimRole.OBSERVED, sentence)]
    if _FAILS.search(text) and role_of(text) is not ClaimRole.CONTRAST:
        return [raises_claim(subject, None, ClaimRole.OBSERVED, sentence)]
    if is_complaint(text) and not found:
        return [
            Claim(kind=ClaimKind.WRONG, role=ClaimRole.OBSERVED, sentence=text, subject=subject)
        ]
    return []


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
        shown = ClaimRole.OBSERVED if marked else ClaimRole.SHOWN
        role = ClaimRole.EXPECTED if words and words["modal"] else shown
        return (Claim(kind=ClaimKind.VALUE, role=role, text=value),)
    if role_of(text) is ClaimRole.CONTRAST:
        return (Claim(kind=ClaimKind.WORKS, role=ClaimRole.CONTRAST),)
    return values or spoken


def _of_a_line(claim: Claim) -> Claim:
    """Return a claim as a remark has it: that a line is an "error" says that it is wrong."""
    if claim.raised is None:
        return claim
    if not claim.raised.type and claim.role is ClaimRole.OBSERVED:
        return replace(claim, kind=ClaimKind.WRONG, raised=None)
    return replace(claim, raised=replace(claim.raised, message=claim.raised.message.strip("\"'")))


def shown_below(text: str) -> Claim | None:
    """Return what a comment below an expression says that it shows, None for a label.

    Words there do no harm: what is said to be shown without a word must really be.
    """
    if not text.strip() or text.strip().endswith(":"):
        return None
    return Claim(kind=ClaimKind.VALUE, role=ClaimRole.SHOWN, text=text, direct=True)
