"""Claims without an object: it fails, it must work, it must raise, it is wrong."""

from __future__ import annotations

import re

from pytest_brt.issue.prose import Sentence
from pytest_brt.reading.claim import ORDINALS, raises_claim
from pytest_brt.reading.lexicon import misses_exception, must_fail, must_work
from pytest_brt.reading.mentions import EXCEPTION
from pytest_brt.reading.roles import is_complaint, role_of
from pytest_brt.reading.steps import Claim, ClaimKind, Role

_FAILS = re.compile(
    r"\b(?:does(?:n't| not) work|fail(?:s|ed)?|crash(?:es)?|errors?(?: out)?|breaks?|hangs?"
    r"|raises an? (?:error|exception)|gives? an? error)\b",
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
    if any(claim.kind is ClaimKind.RAISES for claim in found):
        return []
    fine = _FINE_ONE.search(text)
    if fine:
        ordinal = ORDINALS[fine["which"].lower()]
        return [Claim(kind=ClaimKind.WORKS, role=Role.CONTRAST, sentence=text, ordinal=ordinal)]
    if must_fail(text) or (exception and misses_exception(text)):
        return [raises_claim(subject, exception, Role.EXPECTED, sentence)]
    if must_work(text):
        return [Claim(kind=ClaimKind.WORKS, role=Role.EXPECTED, sentence=text, subject=subject)]
    if exception and role_of(text) in (Role.OBSERVED, Role.SHOWN):
        return [raises_claim(subject, exception, Role.OBSERVED, sentence)]
    if _FAILS.search(text) and role_of(text) is not Role.CONTRAST:
        return [raises_claim(subject, None, Role.OBSERVED, sentence)]
    if is_complaint(text) and not found:
        return [Claim(kind=ClaimKind.WRONG, role=Role.OBSERVED, sentence=text, subject=subject)]
    return []
