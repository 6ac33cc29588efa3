"""Sentences and comments → what they say about which code."""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace

from pytest_brt.issue.mentions import EXCEPTION, code_in, is_runnable, is_word, masked, object_at
from pytest_brt.issue.prose import sentence
from pytest_brt.issue.words import (
    ADVERBS,
    hidden_quotes,
    is_complaint,
    must_work,
    role_of,
)
from pytest_brt.pysource.parse import is_literal, parse_expression, parses
from pytest_brt.types import Raised
from pytest_brt.types.reading import Claim, ClaimKind, ClaimRole, Sentence, Span

_LABEL = re.compile(
    r"(?:^(?:[-*+•] )?|(?<=[\n.,;]) ?)(?:\*\*)?(?P<label>expected|actual|observed|got|should be"
    r"|result|(?:expected|actual|observed|current) (?:result|output|value|behaviou?r)"
    r"|what (?:i|we) (?:expected|expect|wanted|want|got|get|saw|see))"
    r"(?:\*\*)?\s*(?::|=|is)(?:\*\*)?\s*",
    re.IGNORECASE,
)
_WISHED = re.compile(r"\b(?:expect|should|want)", re.IGNORECASE)
_FAILS = re.compile(
    r"\b(?:does(?:n't| not) work|fail(?:s|ed)?|crash(?:es)?|errors?(?: out)?|breaks?|hangs?"
    r"|raises an? (?:error|exception)|gives? an? error)\b",
    re.IGNORECASE,
)


_VERB = re.compile(
    rf"(?P<modal>\b(?:(?:should|must|would)(?: not|n't)?|could|to)\s+{ADVERBS})?"
    r"\b(?P<verb>returns?|returned|returning|gives?|gave|giving|yields?|yielded|produces?|produced"
    r"|evaluates? to|evaluated to|prints?|printed|outputs?|results? in|resulted in|equals?"
    r"|becomes?|gets?|got|sees?|says?|reads?|shows?|displays?|computes?|leads? to"
    r"|rais(?:es?|ed|ing)|throws?|fails? with|failed with|errors? with|crashes with|dies with"
    r"|causes?|is|be|are|was)\b"
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
_RAISING = re.compile(r"rais|throw|fail|error|crash|die", re.IGNORECASE)
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


#: What a variable holds, written as its assignment.
_ASSIGNED = re.compile(r"(?P<name>\w+) ?= ?(?P<value>[^=].*)", re.DOTALL)
_RESULT = r"(?:result|output|answer|value)"
#: What comes out, or should, by the name that it has in a sentence.
_RESULT_BEFORE = re.compile(rf"\b{_RESULT}\s*$", re.IGNORECASE)
_RIGHT_RESULT_BEFORE = re.compile(rf"\b(?:right|correct|expected) {_RESULT}\s*$", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class _Words:
    """A sentence in plain words, ready to be read."""

    text: str
    codes: list[Span]
    #: The text, with signs that no word has in place of code and quotations.
    hidden: str
    #: Variables of the report.
    known: Collection[str]

    def calls_before(self, end: int) -> list[str]:
        """Return the code before that place which can be run."""
        before = [code.text for code in self.codes if code.end <= end + 1]
        return [text for text in before if is_runnable(text)]

    def claims_at(self, start: int, subject: str, role: ClaimRole) -> list[Claim]:
        """Return what the value or exception right there says of `subject`.

        What follows as "instead of" something is of the opposite role.
        """
        text, end = self.object_at(start)
        named = _ASSIGNED.fullmatch(text) if not subject else None
        if named and named["name"] in self.known and is_literal(named["value"]):
            subject, text = named["name"], named["value"]
        claim = _claim(subject, text, role)
        is_value = claim.kind is ClaimKind.VALUE
        nobodys = is_value and not subject and self._is_one_of_several(end)
        found = [] if nobodys else [claim]
        rest = self.text[end:].lstrip(" `,")
        instead = _INSTEAD.match(rest)
        if instead:
            other, _ = self.object_at(len(self.text) - len(rest) + instead.end())
            opposite = _claim(subject, other, _opposite(role))
            found += [opposite] if other and opposite.kind is claim.kind else []
        return found

    def tells(self, verb: re.Match[str], end: int) -> bool:
        """Say whether a verb tells of a result, though no code stands before it.

        "is" does where a result is named, as in "the right answer is `4`", or where the value that
        ends there stands "instead of" another one.
        """
        if verb["verb"].lower() not in ("is", "be", "are", "was"):
            return True
        before = _RESULT_BEFORE.search(self.hidden[: verb.start()])
        return bool(before) or bool(_INSTEAD.match(self.text[end:].lstrip(" `,")))

    def object_at(self, start: int) -> tuple[str, int]:
        """Return the code, literal or exception right after `start`, and where it ends."""
        return object_at(self.text, self.codes, start)

    def _is_one_of_several(self, end: int) -> bool:
        """Say whether a value that ends there is one of several: "`10` and `5`", "the first"."""
        more = _AND_MORE.match(self.text, end)
        other = self.object_at(more.end())[0] if more else ""
        return is_literal(other) or bool(_ONE_OF.search(self.text))


def claims(
    given: Sentence, known: Collection[str] = (), section: ClaimRole = ClaimRole.SHOWN
) -> tuple[Claim, ...]:
    """Return what a sentence says about code, and about the variables `known` in the report.

    A lone value has the role of the section that it stands in.
    """
    told = sentence(given.text, given.line)
    codes = code_in(told)
    hidden = hidden_quotes(masked(told.text, codes))
    words = _Words(told.text, codes, hidden, known)
    found = [*_of_verbs(words), *_of_wishes(words), *_of_labels(words)]
    found = found or _of_lone_value(words, section)
    found += _of_the_whole(words, found)
    return tuple(dict.fromkeys(replace(claim, sentence=given.text) for claim in found))


def _claim(subject: str, text: str, role: ClaimRole) -> Claim:
    """Return the claim that `subject` raises the exception `text`, or has that value."""
    exception = EXCEPTION.match(text)
    if exception:
        return _raises(subject, exception, role)
    return Claim(kind=ClaimKind.VALUE, role=role, text=text, subject=subject)


def _raises(subject: str, exception: re.Match[str] | None, role: ClaimRole) -> Claim:
    """Return the claim that `subject` raises an exception, None for one without a name."""
    name, message = exception.group("type", "message") if exception else ("", "")
    raised = Raised(type=name, message=(message or "").strip())
    return Claim(kind=ClaimKind.RAISES, role=role, raised=raised, subject=subject)


def _of_verbs(words: _Words) -> Iterator[Claim]:
    """Yield what the verbs of a sentence say of its code."""
    for match in _VERB.finditer(words.hidden):
        before = [code.text for code in words.codes if code.end <= match.start() + 1]
        subjects = [text for text in before if is_runnable(text) or text in words.known]
        if before and not subjects and _is_foreign(before[-1]):
            continue
        subject = subjects[-1] if subjects else ""
        modal = (match["modal"] or "").lower().strip()
        text, end = words.object_at(match.end())
        if not text or not (subject or modal or words.tells(match, end)):
            continue
        no_value = _RAISING.search(match["verb"]) or "Warning" in text
        if not EXCEPTION.match(text) and (no_value or _is_type(text, subject, match[0])):
            continue
        role = _verb_role(words.hidden, match, modal)
        yield from words.claims_at(match.end(), subject, role)


def _is_foreign(code: str) -> bool:
    """Say whether code is not Python that could be run, and no value or exception either."""
    if is_literal(code) or EXCEPTION.match(code):
        return False
    return bool(re.search(r"[\s(]\S", code))


def _of_wishes(words: _Words) -> Iterator[Claim]:
    """Yield what "expect" says with a value; only of values that stand for themselves."""
    for match in _EXPECTS.finditer(words.hidden):
        text, end = words.object_at(match.end())
        if not text or not _is_wished(text, words.text, end):
            continue
        calls = [call for call in words.calls_before(len(words.text)) if call != text]
        before = [call for call in words.calls_before(match.start()) if call != text]
        subjects = before or (calls if len(calls) == 1 else [""])
        role = ClaimRole.OBSERVED if match["not"] else ClaimRole.EXPECTED
        yield from words.claims_at(match.end(), subjects[-1], role)


def _is_wished(text: str, sentence: str, end: int) -> bool:
    """Say whether what ends there is something that "expect" can be about, and no word."""
    is_value = is_literal(text) or EXCEPTION.fullmatch(text)
    return bool(is_value) or _is_object(text, sentence, end)


def _is_object(text: str, sentence: str, end: int) -> bool:
    """Say whether code that ends there is an object written out, as in "expect `Point(1, 2)`."."""
    alone = sentence[end - 1 : end] == "`" and _CLAUSE_ENDS.match(sentence, end)
    node = parse_expression(text) if alone and parses(text) and "=" not in text else None
    if not isinstance(node, ast.Call):
        return False
    return all(is_literal(ast.unparse(argument)) for argument in node.args)


def _of_labels(words: _Words) -> Iterator[Claim]:
    """Yield what stands behind a label, as in "Expected: 5"."""
    for match in _LABEL.finditer(words.hidden):
        expected = _WISHED.search(match["label"])
        if words.object_at(match.end())[0]:
            role = ClaimRole.EXPECTED if expected else ClaimRole.OBSERVED
            yield from words.claims_at(match.end(), "", role)


def _of_lone_value(words: _Words, section: ClaimRole) -> list[Claim]:
    """Return what a value or exception says that is all of a section named "Expected"."""
    if section not in (ClaimRole.EXPECTED, ClaimRole.OBSERVED):
        return []
    text = words.text.strip().rstrip(".")
    code = words.codes[0].text if words.codes else ""
    value = code if len(words.codes) == 1 and len(text) - len(code) <= 4 else text
    is_code = bool(code) and value == code and parses(code)
    alone = is_code or is_literal(value) or EXCEPTION.fullmatch(value)
    return [_claim("", value, section)] if alone else []


def _of_the_whole(words: _Words, found: Collection[Claim]) -> list[Claim]:
    """Return what a sentence says as a whole, where `found` has no exception already."""
    text = words.text
    if any(claim.kind is ClaimKind.RAISES for claim in found):
        return []
    exception = EXCEPTION.search(text)
    subject = next(iter(words.calls_before(len(text))), "")
    if must_work(text):
        return [Claim(kind=ClaimKind.WORKS, role=ClaimRole.EXPECTED, subject=subject)]
    role = role_of(text)
    if exception and role in (ClaimRole.OBSERVED, ClaimRole.SHOWN):
        return [_raises(subject, exception, ClaimRole.OBSERVED)]
    if _FAILS.search(text) and role is not ClaimRole.CONTRAST:
        return [_raises(subject, None, ClaimRole.OBSERVED)]
    if is_complaint(text) and not found:
        return [Claim(kind=ClaimKind.WRONG, role=ClaimRole.OBSERVED, subject=subject)]
    return []


def _is_type(text: str, subject: str, before: str) -> bool:
    """Say whether `text` names what kind of value it is, as in "should return a `str`"."""
    if subject.startswith("type(") or not _TYPE.fullmatch(text):
        return False
    return text in _BUILTIN_TYPES or bool(re.search(r"\ban?\s*$", before))


def _opposite(role: ClaimRole) -> ClaimRole:
    return ClaimRole.OBSERVED if role is ClaimRole.EXPECTED else ClaimRole.EXPECTED


def _verb_role(hidden: str, match: re.Match[str], modal: str) -> ClaimRole:
    if modal and modal.split(maxsplit=1)[0] != "to":
        return ClaimRole.OBSERVED if "not" in modal or "n't" in modal else ClaimRole.EXPECTED
    before = hidden[max(0, match.start() - 60) : match.start()].lower()
    clause = re.split(r"[,;:]|\bbut\b", before)[-1]
    if re.search(r"\bexpect|\bwant|\blike|\bideal|\bhope|\bsays?\b", clause) and modal:
        return ClaimRole.EXPECTED
    if re.search(r"\bdoes(?:n't| not)\b|\bnot\b", clause):
        return ClaimRole.EXPECTED
    if _RIGHT_RESULT_BEFORE.search(clause):
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


def comment_said(text: str) -> tuple[Claim, ...]:
    """Return what a comment beside, above or below a statement says about it."""
    text = text.strip()
    if not text:
        return ()
    return tuple(replace(said, sentence=text, direct=True) for said in _said(text))


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
    if 0 < len(value) < 300 and not is_word(value) and is_value:
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
