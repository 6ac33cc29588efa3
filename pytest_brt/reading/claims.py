"""Sentences and comments → what they say about which code."""

from __future__ import annotations

import ast
import re
from collections.abc import Collection
from dataclasses import replace

from pytest_brt.issue.prose import Sentence, Span, sentence
from pytest_brt.reading.lexicon import (
    ADVERBS,
    hidden_quotes,
    is_approved,
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
    code_in,
    is_literal,
    is_runnable,
    masked,
    object_at,
)
from pytest_brt.reading.steps import Claim, ClaimKind, ClaimRole, raises_claim, value_claim
from pytest_brt.syntax import parse_expression

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
    told = sentence(plain(given.text), given.line)
    codes = code_in(told)
    hidden = hidden_quotes(masked(told.text, codes))
    found = _verb_claims(told, codes, hidden, known)
    found += _label_claims(told, codes, hidden)
    found += _lone_value(told, codes, section) if not found else []
    runnable = [code for code in codes if is_runnable(code.text)]
    subject = runnable[0].text if runnable else ""
    found += general_claims(told, subject, found)
    return tuple(dict.fromkeys(replace(claim, sentence=given.text) for claim in found))


def _lone_value(given: Sentence, codes: list[Span], section: ClaimRole) -> list[Claim]:
    """A section named "Expected" or "Actual" that holds nothing but a value, or an exception."""
    text = given.text.strip().rstrip(".")
    if section not in (ClaimRole.EXPECTED, ClaimRole.OBSERVED):
        return []
    value = codes[0].text if len(codes) == 1 and len(text) - len(codes[0].text) <= 4 else text
    exception = EXCEPTION.fullmatch(value)
    if exception:
        return [raises_claim("", exception, section, given)]
    if is_literal(value) or (codes and value == codes[0].text and parses(value)):
        return [value_claim("", value, section, given)]
    return []


def _label_claims(given: Sentence, codes: list[Span], hidden: str) -> list[Claim]:
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
            found += _of_one(claim, given.text, codes, end)
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


_VERB = re.compile(
    rf"(?P<modal>\b(?:should(?: not)?|would(?: not)?|could|to)\s+{ADVERBS})?"
    r"\b(?P<verb>returns?|returned|returning|gives?|gave|giving|yields?|yielded|produces?|produced"
    r"|evaluates? to|evaluated to|prints?|printed|outputs?|results? in|resulted in|equals?"
    r"|becomes?|gets?|got|sees?|says?|reads?|shows?|displays?|computes?|leads? to|raises?|raised"
    r"|raising|fails? with|failed with|errors? with|crashes with|dies with|causes?|is|be|are|was)\b"
    r"(?:\s+(?:an?|the|me|us|following|value|exception|error|result|output|always|now|just|wrongly"
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
_CLAUSE_ENDS = re.compile(r"\s*(?:[.,;!)]|$|\bhere\b|\binstead\b)")
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


def _verb_claims(
    sentence: Sentence, codes: list[Span], hidden: str, known: Collection[str]
) -> list[Claim]:
    """Return what the verbs of a sentence say of its code, and of the variables `known`.

    `hidden` is its text with the code and the quotations hidden.
    """
    found: list[Claim] = []
    for match in _VERB.finditer(hidden):
        found += _claims_of(sentence, codes, hidden, match, known)
    for match in _EXPECTS.finditer(hidden):
        found += _expected(sentence, codes, match)
    return found


def _expected(sentence: Sentence, codes: list[Span], match: re.Match[str]) -> list[Claim]:
    """Return what "expect" with a value says; only of values that stand for themselves."""
    text, end = object_at(sentence.text, codes, match.end())
    if not text or not (is_literal(text) or _is_object(text, sentence.text, end)):
        return []
    role = ClaimRole.OBSERVED if match["not"] else ClaimRole.EXPECTED
    calls = [code for code in codes if is_runnable(code.text) and code.text != text]
    before = [code.text for code in calls if code.end <= match.start() + 1]
    alone = [code.text for code in calls] if len(calls) == 1 else []
    subject = (before or alone or [""])[-1]
    return _values(value_claim(subject, text, role, sentence), sentence, codes, end)


def _is_object(text: str, sentence: str, end: int) -> bool:
    """Say whether code that ends there is an object written out, as in "expect `Point(1, 2)`."."""
    alone = sentence[end - 1 : end] == "`" and _CLAUSE_ENDS.match(sentence, end)
    node = parse_expression(text) if alone and parses(text) and "=" not in text else None
    if not isinstance(node, ast.Call):
        return False
    return all(is_literal(ast.unparse(argument)) for argument in node.args)


def _values(claim: Claim, sentence: Sentence, codes: list[Span], end: int) -> list[Claim]:
    """Return a claim about a value, and the one about what is named "instead of" it."""
    found = _of_one(claim, sentence.text, codes, end)
    other = _instead(sentence.text, codes, end)
    if other and not EXCEPTION.match(other):
        found.append(value_claim(claim.subject, other, _opposite(claim.role), sentence))
    return found


def _of_one(claim: Claim, text: str, codes: list[Span], end: int) -> list[Claim]:
    """Return a claim about a value, [] where it is one of several: "`10` and `5`", "the first"."""
    more = _AND_MORE.match(text, end)
    other = object_at(text, codes, more.end())[0] if more else ""
    several = is_literal(other) or _ONE_OF.search(text)
    return [] if several and not claim.subject else [claim]


def _claims_of(
    sentence: Sentence, codes: list[Span], hidden: str, match: re.Match[str], known: Collection[str]
) -> list[Claim]:
    before = [code.text for code in reversed(codes) if code.end <= match.start() + 1]
    subject = next((text for text in before if is_runnable(text) or text in known), "")
    if before and not subject and re.search(r"[\s(]\S", before[0]) and not is_literal(before[0]):
        return []  # it speaks of something that is not Python, and of no result of the report's
    verb = match["verb"].lower()
    weak = verb in ("is", "be", "are", "was")
    modal = (match["modal"] or "").lower().strip()
    role = _verb_role(hidden, match, modal)
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
    return _values(value_claim(subject, text, role, sentence), sentence, codes, end)


def _is_type(text: str, subject: str, before: str) -> bool:
    """Say whether `text` names what kind of value it is, as in "should return a `str`"."""
    if subject.startswith("type(") or not _TYPE.fullmatch(text):
        return False
    return text in _BUILTIN_TYPES or bool(re.search(r"\ban?\s*$", before))


def _instead(text: str, codes: list[Span], end: int) -> str:
    """Return what follows "instead of" right after `end`, "" when nothing does."""
    rest = text[end:].lstrip(" `,")
    match = _INSTEAD.match(rest)
    if match is None:
        return ""
    start = len(text) - len(rest) + match.end()
    return object_at(text, codes, start)[0]


def _opposite(role: ClaimRole) -> ClaimRole:
    return ClaimRole.OBSERVED if role is ClaimRole.EXPECTED else ClaimRole.EXPECTED


def _verb_role(hidden: str, match: re.Match[str], modal: str) -> ClaimRole:
    if modal and modal.split(maxsplit=1)[0] != "to":
        return ClaimRole.OBSERVED if "not" in modal else ClaimRole.EXPECTED
    if not modal and is_approved(hidden[: match.start()], hidden[match.end() :]):
        return ClaimRole.CONTRAST
    before = hidden[max(0, match.start() - 60) : match.start()].lower()
    clause = re.split(r"[,;:]|\bbut\b", before)[-1]
    if re.search(r"\bexpect|\bwant|\blike|\bideal|\bhope|\bsays?\b", clause) and modal:
        return ClaimRole.EXPECTED
    if re.search(r"\bdoes(?:n't| not)\b|\bnot\b", clause):
        return ClaimRole.EXPECTED
    whole = role_of(clause)
    if whole is ClaimRole.CONTRAST or re.search(r"used to|previously|\d\.\d+ (?:it )?$", clause):
        return ClaimRole.CONTRAST
    return ClaimRole.OBSERVED


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
        # "works (raises ValueError)": what it does is right.
        fine = role_of(re.split(r"[(,;:]", text)[0]) is ClaimRole.CONTRAST
        if fine and not re.search(r"\bbut\b|\d\.\d", text):
            return tuple(replace(claim, role=ClaimRole.CONTRAST) for claim in spoken)
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
