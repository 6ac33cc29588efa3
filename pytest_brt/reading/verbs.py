"""What verbs say: that something returns this, should give that, raises one and not another."""

from __future__ import annotations

import re
from collections.abc import Collection

from pytest_brt.issue.prose import Sentence
from pytest_brt.reading.lexicon import ADVERBS, role_of
from pytest_brt.reading.mentions import (
    EXCEPTION,
    Code,
    is_literal,
    is_runnable,
    object_at,
)
from pytest_brt.reading.steps import Claim, ClaimRole, raises_claim, value_claim

_VERB = re.compile(
    rf"(?P<modal>\b(?:should(?: not)?|would(?: not)?|could|to)\s+{ADVERBS})?"
    r"\b(?P<verb>returns?|returned|returning|gives?|gave|giving|yields?|yielded|produces?|produced"
    r"|evaluates? to|evaluated to|prints?|printed|outputs?|results? in|resulted in|equals?"
    r"|becomes?|gets?|got|sees?|says?|reads?|shows?|displays?|computes?|leads? to|raises?|raised"
    r"|raising|fails? with|failed with|errors? with|crashes with|dies with|causes?|is|be|are|was)\b"
    r"(?:\s+(?:an?|the|following|value|exception|error|result|output|always|now|just|wrongly"
    r"|incorrectly|equal to|of|uncaught|unhandled|weird|strange)\b)*[\s:]*",
    re.IGNORECASE,
)
#: "I would expect `5`": the value right after it, without "to be".
_EXPECTS = re.compile(
    r"(?<!as )\b(?P<not>(?:not|n't) )?(?:expect(?:ed|ing)?|want(?:ed)?)\s+"
    r"(?:(?:an?|the|value|result|output|of|just|instead)\s+)*",
    re.IGNORECASE,
)
_RAISING = re.compile(r"rais|fail|error|crash|die", re.IGNORECASE)
#: Words that name one of several results; of which, only the report's layout could tell.
_ONE_OF = re.compile(r"\bthe (?:first|former|second|third|fourth|last|latter)\b", re.IGNORECASE)
_AND_MORE = re.compile(r"\s*(?:,\s*(?:and\s+)?|and\s+(?:then\s+)?)", re.IGNORECASE)
_BUILTIN_TYPES = frozenset(
    {"str", "int", "float", "bool", "list", "dict", "tuple", "set", "bytes", "complex", "object"}
)
_TYPE = re.compile(r"(?:\w+\.)*(?!(?:True|False|None)$)[A-Za-z]\w*")
_INSTEAD = re.compile(
    r"\b(?:instead of|rather than|and not|but got|but gives|but returns)[\s:]*"
    r"(?:just |an? |the |returning |raising )*",
    re.IGNORECASE,
)


def verb_claims(
    sentence: Sentence, codes: list[Code], masked: str, known: Collection[str]
) -> list[Claim]:
    """Return what the verbs of a sentence say of its code, and of the variables `known`.

    `masked` is its text with the code hidden.
    """
    found = [
        claim
        for match in _VERB.finditer(masked)
        for claim in _claims_of(sentence, codes, masked, match, known)
    ]
    return found + [
        claim for match in _EXPECTS.finditer(masked) for claim in _expected(sentence, codes, match)
    ]


def _expected(sentence: Sentence, codes: list[Code], match: re.Match[str]) -> list[Claim]:
    """Return what "expect" with a value says; only of values that stand for themselves."""
    text, end = object_at(sentence.text, codes, match.end())
    if not text or not is_literal(text):
        return []
    role = ClaimRole.OBSERVED if match["not"] else ClaimRole.EXPECTED
    calls = [code for code in codes if is_runnable(code.text)]
    before = [code.text for code in calls if code.end <= match.start() + 1]
    after = [code.text for code in calls] if len(calls) == 1 else []
    subject = next(iter([*reversed(before), *after]), "")
    found = of_one(value_claim(subject, text, role, sentence), sentence.text, codes, end)
    other = _instead(sentence.text, codes, end)
    if other and not EXCEPTION.match(other):
        found.append(value_claim(subject, other, _opposite(role), sentence))
    return found


def of_one(claim: Claim, text: str, codes: list[Code], end: int) -> list[Claim]:
    """Return a claim about a value, [] where it is one of several: "`10` and `5`", "the first"."""
    more = _AND_MORE.match(text, end)
    other = object_at(text, codes, more.end())[0] if more else ""
    several = is_literal(other) or _ONE_OF.search(text)
    return [] if several and not claim.subject else [claim]


def _claims_of(
    sentence: Sentence,
    codes: list[Code],
    masked: str,
    match: re.Match[str],
    known: Collection[str],
) -> list[Claim]:
    before = [code.text for code in reversed(codes) if code.end <= match.start() + 1]
    subject = next((text for text in before if is_runnable(text) or text in known), "")
    if before and not subject and re.search(r"[\s(]\S", before[0]) and not is_literal(before[0]):
        return []  # it speaks of something that is not Python, and of no result of the report's
    verb = match["verb"].lower()
    weak = verb in ("is", "be", "are", "was")
    modal = (match["modal"] or "").lower().strip()
    role = _verb_role(masked, match, modal)
    if weak and not subject and not modal:
        return []
    text, end = object_at(sentence.text, codes, match.end())
    if not text:
        return []
    exception = EXCEPTION.fullmatch(text) or EXCEPTION.match(text)
    if exception:
        found = [raises_claim(subject, exception, role, sentence)]
        other = _instead(sentence.text, codes, end)
        second = EXCEPTION.match(other) if other else None
        if second:
            found.append(raises_claim(subject, second, _opposite(role), sentence))
        return found
    if _RAISING.search(verb) or "Warning" in text or _is_type(text, subject, match[0]):
        return []
    found = of_one(value_claim(subject, text, role, sentence), sentence.text, codes, end)
    other = _instead(sentence.text, codes, end)
    if other and not EXCEPTION.match(other):
        found.append(value_claim(subject, other, _opposite(role), sentence))
    return found


def _is_type(text: str, subject: str, before: str) -> bool:
    """Say whether `text` names what kind of value it is, as in "should return a `str`"."""
    if subject.startswith("type(") or not _TYPE.fullmatch(text):
        return False
    return text in _BUILTIN_TYPES or bool(re.search(r"\ban?\s*$", before))


def _instead(text: str, codes: list[Code], end: int) -> str:
    """Return what follows "instead of" right after `end`, "" when nothing does."""
    rest = text[end:].lstrip(" `,")
    match = _INSTEAD.match(rest)
    if match is None:
        return ""
    start = len(text) - len(rest) + match.end()
    return object_at(text, codes, start)[0]


def _opposite(role: ClaimRole) -> ClaimRole:
    return ClaimRole.OBSERVED if role is ClaimRole.EXPECTED else ClaimRole.EXPECTED


def _verb_role(masked: str, match: re.Match[str], modal: str) -> ClaimRole:
    if modal and modal.split(maxsplit=1)[0] != "to":
        return ClaimRole.OBSERVED if "not" in modal else ClaimRole.EXPECTED
    before = masked[max(0, match.start() - 60) : match.start()].lower()
    clause = re.split(r"[,;:]|\bbut\b", before)[-1]
    if re.search(r"\bexpect|\bwant|\blike|\bideal|\bhope|\bsays?\b", clause) and modal:
        return ClaimRole.EXPECTED
    if re.search(r"\bdoes(?:n't| not)\b|\bnot\b", clause):
        return ClaimRole.EXPECTED
    whole = role_of(clause)
    if whole is ClaimRole.CONTRAST or re.search(r"used to|previously|\d\.\d+ (?:it )?$", clause):
        return ClaimRole.CONTRAST
    return ClaimRole.OBSERVED
