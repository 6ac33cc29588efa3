"""Cue words: whether a sentence speaks of what happens, what should, or what is fine."""

from __future__ import annotations

import re

from pytest_brt.reading.lexicon import own_words
from pytest_brt.reading.steps import Role

_UNEXPECTED = re.compile(
    r"\bunexpected|\bun-?wanted|\bincorrect|\bwrong|\bnot (?:as |what |the |quite )*"
    r"(?:i |we |one )?(?:would )?(?:have )?(?:expect|correct|desired|right)|"
    r"\b(?:should|can) ?not\b|\bcan'?t\b|"
    r"\bnot (?:be )?(?:supposed|handled|valid)|\bnonsens|\binvalid\b|\bbogus\b|\bmisleading\b",
    re.IGNORECASE,
)
_EXPECTED = re.compile(
    r"\bshould\b|\bexpect(?:ed|s|ing|ation)?\b|\bdesired\b|"
    r"\bideal(?:ly)?\b|\bwould (?:like|be|yield|give|return|rather|have|instead)\b|"
    r"\bwant(?:ed)?\b|\bthe correct\b|\bcorrect (?:answer|result|output|value|behaviou?r|form)\b|"
    r"\bcould (?:be|yield|give|return|print)\b|\bright (?:answer|result|output)\b|"
    r"\bproposed\b|\bhoped?\b|\bi'd (?:like|expect)\b|\bfix(?:ed)? (?:is|by)\b",
    re.IGNORECASE,
)
_BROKEN = re.compile(
    r"\b(?:does|do|did|is|are|was|will)(?:n'?t| not)\b|\bfail(?:s|ed|ing|ure)?\b|"
    r"\berrors?\b|\bcrash(?:es|ed)?\b|\bbroken\b|\bbugs?\b|\brais(?:es|ed|ing)\b|"
    r"\bexception\b|\btraceback\b|\bno longer\b|\bproblem\b|\bissue\b|\bstrange\b|\bweird\b|"
    r"\bodd\b|\bsurpris|\bconfus|\bcomplains?\b|\bhangs?\b|\brecursion\b",
    re.IGNORECASE,
)
_CONTRAST = re.compile(
    r"\bworks?\b|\bworked\b|\bworking\b|\bfine\b|\bcorrectly\b|\bused to\b|"
    r"\bprevious(?:ly)?\b|\b(?:older|earlier|former|old) versions?\b|\bok(?:ay)?\b|\bas expected\b|"
    r"\bno (?:error|problem|issue|warning|exception)s?\b|\bsucceeds?\b|"
    r"\b(?:compare|compared) (?:to|with)\b|\bwhereas\b|\bin contrast\b|\bon the other hand\b|"
    r"\bwithout (?:the )?(?:bug|problem|error)|\bworkaround\b|\bgood\b|\bproper(?:ly)?\b",
    re.IGNORECASE,
)
#: Another version: a contrast, unless what comes before it was one.
_VERSION = re.compile(
    r"\b(?:back )?(?:in|with|on|under) (?:\w+ )?(?:version |v)?\d+\.\d+", re.IGNORECASE
)
_BUT = re.compile(r"\b(?:but|however)\b", re.IGNORECASE)
_OBSERVED = re.compile(
    r"\breturns?\b|\breturned\b|\bgives?\b|\bgave\b|\bgot\b|\bgets?\b|\bactual(?:ly)?\b|"
    r"\binstead\b|\bcurrent(?:ly)?\b|\bproduces?d?\b|\bprints?\b|\boutputs?\b|\bresults? in\b|"
    r"\byields?\b|\bnow\b|\bbut\b|\bhowever\b|\bbecomes?\b|\bsee\b|\bobserved?\b|\bhappen(?:s|ed)\b",
    re.IGNORECASE,
)
_NOW = re.compile(
    r"\bnow\b|\bsince\b|\bas of\b|\b(?:latest|current|new)\b|\btested\b|\busing\b"
    r"|\bafter (?:the )?(?:upgrad|updat)",
    re.IGNORECASE,
)
#: All that stands between two pieces of code of which the second is fine.
_BESIDE = re.compile(r"(?:while|whereas|compared to|in contrast)", re.IGNORECASE)
_WORKS_AGAIN = re.compile(r"\bworks? (?:as expected|fine|correctly|well)\b", re.IGNORECASE)


def role_of(text: str) -> Role:
    """Return what `text`, a sentence, heading or comment, holds of what it announces.

    >>> role_of("I would expect the following:").value
    'expected'
    >>> role_of("but it doesn't work").value
    'observed'
    >>> role_of("It raises `Odd: expected identifier`:").value
    'observed'
    """
    text = own_words(text)
    if not text.strip():
        return Role.SHOWN
    if _BESIDE.fullmatch(text.strip(" :.,\n")):
        return Role.CONTRAST
    clause = _announcing_clause(text)
    for words in (clause, text) if clause != text else (text,):
        if _WORKS_AGAIN.search(words) and not re.search(r"\bnot\b|n't", words):
            return Role.CONTRAST
        if _UNEXPECTED.search(words):
            return Role.OBSERVED
        if _EXPECTED.search(words):
            return Role.EXPECTED
        if _BROKEN.search(words) and not re.search(
            r"\b(?:no|without(?: an?| any)?) (?:error|problem|issue|exception)",
            words,
            re.IGNORECASE,
        ):
            return Role.OBSERVED
        if not _NOW.search(text):
            if _CONTRAST.search(clause if _turns(text) else words):
                return Role.CONTRAST
            if _VERSION.search(words):
                return Role.OBSERVED if _turns(text) else Role.CONTRAST
        if _OBSERVED.search(words):
            return Role.OBSERVED
    return Role.SHOWN


def _turns(text: str) -> bool:
    """Say whether `text` goes on with "but" after something fine, or begins with it."""
    buts = list(_BUT.finditer(text))
    if not buts:
        return False
    before, after = text[: buts[-1].start()], text[buts[-1].end() :]
    fine = not before.strip() or bool(_CONTRAST.search(before))
    return fine and not _CONTRAST.search(after)


def heading_role(text: str) -> Role:
    """Return what the section under the heading `text` speaks of."""
    words = own_words(text).lower()
    if re.search(r"\b(?:expect|should|desired|want|like to)", words) and not re.search(
        r"\bactual|\bunexpected|\breproduc|\bexample|\bnot\b", words
    ):
        return Role.EXPECTED
    if re.search(r"\b(?:actual|observed|current|what happen|happened|output|error)", words):
        return Role.OBSERVED
    return Role.SHOWN


def is_complaint(text: str) -> bool:
    """Say whether `text` calls something wrong."""
    text = own_words(text)
    return bool(_UNEXPECTED.search(text) or _BROKEN.search(text)) and not _WORKS_AGAIN.search(text)


def _announcing_clause(text: str) -> str:
    """Return the part of a sentence that is nearest to what follows it."""
    parts = re.split(r"[;:,]\s+|\s[-–—]\s|\bbut\b|\bwhile\b|\bwhereas\b", text.rstrip(" :\n"))
    return parts[-1].strip() or text
