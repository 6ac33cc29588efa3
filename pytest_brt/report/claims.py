"""What sentences and comments claim of code: patterns, four lists of words, one comment form.

Little of what people write changes a test; what does, over a hundred real reports, stands here.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping

from pytest_brt.pysource.parse import is_literal, parse, parses
from pytest_brt.types import Block, Raised
from pytest_brt.types.note import value
from pytest_brt.types.report import Claim, ClaimKind, ClaimRole

EXCEPTION = (
    r"(?:[A-Za-z_]\w{0,80}\.){0,9}[A-Z]\w{0,80}"
    r"(?:Error|Exception|Warning|Interrupt|Exit|Iteration)\b"
)
#: What stands in place of code in a sentence.
_MARK = re.compile(r"§\d+§")
_CODE = re.compile(r"(?P<ticks>`+)(?P<code>.+?)(?P=ticks)(?!`)", re.DOTALL)
#: What people put before a result: "Expected value:".
_LABEL = r"(?i:expected|actual|result|output)\b[^:\n]{0,20}:"
_END = re.compile(
    r"(?<=[.!?])(?<!\be\.g\.)(?<!\bi\.e\.)(?<!\betc\.)(?<!\bvs\.)(?<!\bcf\.)"
    r"(?:[\"')\]]*)\s+(?=[A-Z§\"'(*_\[0-9])|\n\s*(?=[-*+•]\s|\d+[.)]\s)|\n\n+"
    rf"|\n\s*(?={_LABEL})"
)
_ACTS = (ast.Call, ast.BinOp, ast.Subscript, ast.Compare)
#: Characters of a sentence, and of code in it, that are read; more is a log.
_LONGEST, _LONGEST_CODE = 2_000, 400

_PARTS = {
    "exception": rf"(?P<said>§\d+§|{EXCEPTION})",
    "value": (
        r"(?P<said>§\d+§|-?\d+(?:\.\d+)?(?:e-?\d+)?\b(?!\.\d|[-,:/]\w|%)|True\b|False\b|None\b"
        r"|'[^']+'|\"[^\"]+\")"
    ),
    #: What may stand between a verb and a value.
    "fill": (
        r"(?:\s+(?:an?|the|me|us|just|also|now|always|instead|still|following|value|result|of"
        r"|with|to be))*[\s:]+"
    ),
    "give": r"(?:return|give|be|equal|print|yield|produce|output|show|evaluate to|result in|get)",
    "gave": (
        r"(?:returns?|returned|gives?|gave|got|gets?|prints?|printed|yields?|produces?|produced"
        r"|outputs?|shows?|evaluates? to|results? in|becomes?|is|was|actual(?:ly)?)"
    ),
    "thing": r"(?: (?:result|output|value|behaviou?r|answer))?",
}
_RAISES, _VALUE = ClaimKind.RAISES, ClaimKind.VALUE
_SHOWN = ClaimRole.SHOWN
#: Of two that fit the same words the first counts. The role of what is all that a section says is
#: that of the section.
_PATTERNS = tuple(
    (re.compile(text % _PARTS, re.IGNORECASE), kind, role)
    for text, kind, role in (
        (
            r"\b(?:should|must|expect\w*)\b(?:(?!not\b)[^.;§]){0,30}"
            r"\b(?:raise|throw|fail)\w*\b(?: with)?%(fill)s%(exception)s",
            _RAISES,
            ClaimRole.EXPECTED,
        ),
        (
            r"(?:(?<!n['’]t )(?<!not )\b(?:expect|want)\w*"
            r"|\bdo(?:es)?(?: not|n['’]t) (?:raise|throw))%(fill)s%(exception)s",
            _RAISES,
            ClaimRole.EXPECTED,
        ),
        (
            r"%(exception)s is(?: not|n['’]t)(?: being)? (?:raised|thrown)",
            _RAISES,
            ClaimRole.EXPECTED,
        ),
        (r"\bshould (?:\w+ )?%(give)s\b%(fill)s%(value)s", _VALUE, ClaimRole.EXPECTED),
        (
            r"\b(?:expect(?:ed|s|ing|ation)?|correct|right)\b%(thing)s"
            r"(?: (?:it|this|that|§\d+§))?(?: to)?(?: %(give)s| is| was| would be)?"
            r"%(fill)s%(value)s",
            _VALUE,
            ClaimRole.EXPECTED,
        ),
        (
            r"\b(?:rais\w+|throw\w*|threw|gives?|gets?|got|fail\w* with|crash\w* with|results? in)"
            r"\b%(fill)s%(exception)s",
            _RAISES,
            ClaimRole.ACTUAL,
        ),
        (r"\b%(gave)s%(thing)s(?: is)?\b%(fill)s%(value)s", _VALUE, ClaimRole.ACTUAL),
        (
            r"\b(?:should|expect).{0,200}\b(?:instead of|rather than)\b%(fill)s%(value)s",
            _VALUE,
            ClaimRole.ACTUAL,
        ),
        (r"\b(?:instead of|rather than)\b%(fill)s%(value)s", _VALUE, ClaimRole.EXPECTED),
        (r"^[^\w§]*%(exception)s(?:: .*)?\W*$", _RAISES, _SHOWN),
        (r"^(?P<said>\S+)$", _VALUE, _SHOWN),
    )
)
_EXPECTED = re.compile(
    r"\bshould\b|\bexpect|\bdesired\b|\bsupposed to\b|\bwould (?:like|be)\b|\bwant(?:ed)?\b"
    r"|\bcorrect (?:result|output|value|behaviou?r|answer)",
    re.IGNORECASE,
)
_FINE = re.compile(
    r"(?<!not )(?<!longer )\bworks?\b|\bworked\b"
    r"|\bfine\b|\bcorrectly\b|\bas expected\b|\bused to\b|\bpreviously\b"
    r"|\bolder versions?\b|(?:\bis|['’]s) correct\b",
    re.IGNORECASE,
)
_UNEXPECTED = re.compile(
    r"\bunexpected|\bwrong|\bincorrect|\bnot (?:what|as|the)\b.{0,20}expect"
    r"|\b(?:should|can) ?not\b|n['’]t\b",
    re.IGNORECASE,
)
_BAD = re.compile(
    r"\bactual|\bcurrent|\bobserved|\bhappen|\bgot\b|\bgives?\b|\breturns?\b|\bprints?\b"
    r"|\boutputs?\b|\brais|\bthrow|\bfail|\berrors?\b|\bexception|\btraceback|\bcrash"
    r"|\binstead\b|\bbut\b|\bhowever\b|\bbugs?\b|\bresults? in\b|\bproduces?\b|\bnow\b",
    re.IGNORECASE,
)
#: Of two whose words stand in a sentence the first counts.
_ROLES = (
    (_UNEXPECTED, ClaimRole.ACTUAL),
    (_FINE, ClaimRole.FINE),
    (_EXPECTED, ClaimRole.EXPECTED),
    (_BAD, ClaimRole.ACTUAL),
)
_COMMENT = re.compile(
    r"^(?:[-=]*>|=+)?\s*"
    r"(?P<words>(?:it |this )?(?:should(?: be| return| give| print)?|expect(?:ed|s)?"
    r"|returns?|gives?|prints?|outputs?|is|got|actual)?)"
    r"\s*:?\s*(?P<said>.+?)"
    # Where it goes on from what should be to what is.
    r"(?:\s*[,;(]\s*(?:but|and|it|got|gets?|gives?|returns?|is|was|not|instead)\b.*)?\.?$",
    re.IGNORECASE,
)
#: "Result: total = 3".
_NAMED = re.compile(rf"\W*(?P<label>{_LABEL})\s*(?P<name>\w+)\s*=\s*(?P<said>[^=].*?)\.?")
#: A string that something else is the same as, and a call that is called fine.
_APPROVED = re.compile(
    r"\b(?<!not )(?:the same|equal|equivalent|identical)\b[^.;]{0,30}?\b(?:as|to)\s"
    r"(\"[^\"\n]+\"|'[^'\n]+')"
    r"|`([^`\n]+\))`\s(?:is|are|looks)\s(?:right|correct|fine|ok(?:ay)?|good|expected)\b",
    re.IGNORECASE,
)
#: Whatever comes out is right.
FINE = Claim(kind=_VALUE, role=ClaimRole.FINE)
#: What is no word, name or path: "a b", "a;b".
_TEXT = re.compile(r"\s|\w[^\w./(§-]\w")
_ERROR = re.compile(r"\b(?:rais|throw|error|exception|message)|\bsay\b", re.IGNORECASE)
_DENIED = re.compile(r"n['’]t\b|\bnot\b|\bno\b|\bwithout\b", re.IGNORECASE)
#: Words of a comment that says of the line beside it that it is right or wrong.
_WORDS = 4


@value
class Sentence:
    """One sentence of prose, or a heading."""

    #: With a mark in place of each piece of code: §0§, §1§ …
    masked: str
    #: The code by its marks.
    code: Mapping[str, str]

    @property
    def text(self) -> str:
        """As it was written, without backticks."""
        return _MARK.sub(lambda mark: self.code[mark[0]], self.masked)


def sentences(block: Block) -> Iterator[Sentence]:
    """Yield the sentences of a paragraph or a heading."""
    code: dict[str, str] = {}

    def mask(match: re.Match[str]) -> str:
        mark = f"§{len(code)}§"
        code[mark] = " ".join(match["code"].split())
        return mark

    text = _CODE.sub(mask, block.text.replace("§", "?")).replace("**", "")
    for part in _END.split(text):
        # Outside of code all blanks are made one.
        if masked := " ".join(part[:_LONGEST].split()):
            own = {mark: code[mark] for mark in _MARK.findall(masked)}
            yield Sentence(masked=masked, code=own)


def is_runnable(text: str) -> bool:
    """Say whether code does something, or names what a call gives, and nothing of it is left out.

    >>> is_runnable("f(1)"), is_runnable("f()"), is_runnable("f(..., 1)"), is_runnable("x")
    (True, False, False, False)
    >>> is_runnable("x = f()"), is_runnable("x = 1")
    (True, False)
    """
    if len(text) > _LONGEST_CODE or "..." in text or "--" in text or not parses(text):
        return False  # a form, or an option
    match parse(text).body:
        case [ast.Expr(ast.Call(args=[], keywords=[]))]:
            return False  # `f()` is how people write the name of a function
        case [ast.Assign(value=ast.Call())]:
            return True
        case [ast.Expr(expression)]:
            return any(isinstance(inner, _ACTS) for inner in ast.walk(expression))
    return False


def role_of(text: str, otherwise: ClaimRole = _SHOWN) -> ClaimRole:
    """Say what a sentence holds of what stands below it.

    >>> role_of("I would expect the following:").value, role_of("but it doesn't work").value
    ('expected', 'actual')
    """
    last_clause = re.split(r"[;,:]\s+|\bbut\b|\bwhile\b", text.rstrip(" :"))[-1]
    for part in (last_clause, text):
        for words, role in _ROLES:
            if words.search(part):
                return role
    return otherwise


def may_want_exception(sentence: Sentence) -> bool:
    """Say whether a sentence wants an exception, or other words of one."""
    words = sentence.masked
    is_wish = bool(_EXPECTED.search(words)) and not _DENIED.search(words)
    return is_wish and bool(_ERROR.search(words))


def approved(text: str) -> list[str]:
    """Return the pieces of code that a report calls right, or says something else is the same as.

    >>> approved('`f(0)` is fine, and "a" is the same as "b"')
    ['f(0)', '"b"']
    """
    return ["".join(found) for found in _APPROVED.findall(text)]


def claims_in(sentence: Sentence, section: ClaimRole) -> Iterator[tuple[str, Claim]]:
    """Yield what a sentence claims, each with the code in it that this is about, or ""."""
    named = _NAMED.fullmatch(sentence.text)
    if named and parses(named["name"]) and is_literal(named["said"]):
        role = role_of(named["label"], ClaimRole.ACTUAL)
        yield named["name"], _claim(_VALUE, role, named["said"])
        return
    text, known = sentence.masked, set[int]()
    for pattern, kind, role in _PATTERNS:
        for match in pattern.finditer(text):
            start, said = (
                match.start("said"),
                sentence.code.get(match["said"], match["said"]),
            )
            given = section if role is _SHOWN else role
            if given is _SHOWN or start in known or not _can_be(kind, said):
                continue
            known.add(start)
            if role is ClaimRole.ACTUAL and _FINE.search(text):
                given = ClaimRole.FINE
            codes = [sentence.code[mark] for mark in _MARK.findall(text[:start])]
            subject = next(filter(is_runnable, reversed(codes)), "")
            yield subject, _claim(kind, given, said)


def comment_claims(comment: str, *, is_beside: bool = False) -> list[Claim]:
    """Return what a comment claims of the statement that it stands at.

    Words beside the statement mark whatever comes out.

    >>> [(claim.role.value, claim.text) for claim in comment_claims("should be 3, is 5")]
    [('expected', '3')]
    """
    role = role_of(comment)
    if exception := re.search(EXCEPTION, comment):
        return [_claim(_RAISES, role, exception[0])]
    match = _COMMENT.match(comment)
    if match and _is_commented_value(match):
        return [_claim(_VALUE, role_of(match["words"]), match["said"])]
    is_mark = is_beside and len(comment.split()) <= _WORDS
    is_mark = is_mark and role in (ClaimRole.ACTUAL, ClaimRole.FINE)
    return [Claim(kind=_VALUE, role=role)] if is_mark else []


def _is_commented_value(match: re.Match[str]) -> bool:
    said = match["said"]
    is_told = bool(match["words"]) or "(" in said
    return is_literal(said) or (is_told and parses(said))


def _can_be(kind: ClaimKind, said: str) -> bool:
    """Say whether what was said can be an exception, or a value."""
    if kind is _RAISES:
        return re.match(EXCEPTION, said) is not None
    return is_literal(said) or is_runnable(said) or bool(_TEXT.search(said))


def _claim(kind: ClaimKind, role: ClaimRole, said: str) -> Claim:
    """Return the claim of a value, or of an exception by its name."""
    type_ = re.split(r"[^\w.]", said)[0]
    raised = Raised(type=type_, message="") if kind is _RAISES else None
    return Claim(kind=kind, role=role, text=said, raised=raised)
