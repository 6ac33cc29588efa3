"""Claims without an object: it fails, it must work, it must raise, it is wrong."""

from __future__ import annotations

import re

from pytest_brt.issue.prose import Sentence
from pytest_brt.reproduce.replay.claim import ORDINALS, Claim, raises_claim
from pytest_brt.reproduce.replay.mentions import EXCEPTION
from pytest_brt.reproduce.replay.roles import is_complaint, role_of
from pytest_brt.reproduce.replay.steps import Role, Said, SaidKind

_FAILS = re.compile(
    r"\b(?:does(?:n['’]t| not) work|fail(?:s|ed)?|crash(?:es)?|errors?(?: out)?|breaks?|hangs?"
    r"|raises an? (?:error|exception)|throws an? (?:error|exception)|gives? an? error)\b",
    re.IGNORECASE,
)
MUST_WORK = re.compile(
    r"\b(?:should|must|ought to|expected to)\s+(?:still |also |just )*(?:work|succeed|be (?:allowed"
    r"|accepted|valid|possible|supported|fine)|not (?:raise|throw|fail|crash|error|give an error))"
    r"|\b(?:shouldn['’]t|should never) (?:raise|throw|fail|crash|error)|\bnot throw error\b",
    re.IGNORECASE,
)
MUST_FAIL = re.compile(
    r"\b(?:should|must|ought to|expected to)\s+(?:also |always |instead |rather )*(?:raise|throw"
    r"|fail|error|be (?:an error|rejected|refused|forbidden|disallowed|invalid)|not (?:be )?"
    r"(?:work|allowed?|accept(?:ed)?|possible|permit(?:ted)?|succeed|valid))\b"
    r"|\bshould(?:n['’]t| not) (?:be (?:allowed|accepted|possible|valid)|work|accept)\b",
    re.IGNORECASE,
)
_FINE_ONE = re.compile(
    r"\bthe (?P<which>first|second|third|fourth|last|former|latter)\b[^,;.]{0,30}"
    r"\b(?:is|works?|gives?) (?:all )?(?:right|correct|fine|ok(?:ay)?|good|as expected|expected)",
    re.IGNORECASE,
)


def general_claims(sentence: Sentence, subject: str, found: list[Claim]) -> list[Claim]:
    """Return the claim of a sentence about `subject`, where `found` has no exception already."""
    text = sentence.text
    exception = EXCEPTION.search(text)
    if any(claim.said.kind is SaidKind.RAISES for claim in found):
        return []
    fine = _FINE_ONE.search(text)
    if fine:
        said = Said(kind=SaidKind.WORKS, role=Role.CONTRAST, sentence=text)
        return [Claim(subject="", said=said, ordinal=ORDINALS[fine["which"].lower()])]
    if MUST_FAIL.search(text):
        return [raises_claim(subject, exception, Role.EXPECTED, sentence)]
    if MUST_WORK.search(text):
        said = Said(kind=SaidKind.WORKS, role=Role.EXPECTED, sentence=text)
        return [Claim(subject=subject, said=said)]
    if exception and role_of(text) in (Role.OBSERVED, Role.SHOWN):
        return [raises_claim(subject, exception, Role.OBSERVED, sentence)]
    if _FAILS.search(text) and role_of(text) is not Role.CONTRAST:
        return [raises_claim(subject, None, Role.OBSERVED, sentence)]
    if is_complaint(text) and not found:
        said = Said(kind=SaidKind.WRONG, role=Role.OBSERVED, sentence=text)
        return [Claim(subject=subject, said=said)]
    return []
