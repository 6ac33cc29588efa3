"""What sentences and comments claim of code: six patterns, four lists of words, one comment form.

Little of what people write changes a test; what does, over a hundred real reports, stands here.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from pytest_brt.pysource.parse import is_literal, parses
from pytest_brt.report.inline_code import is_runnable
from pytest_brt.report.prose import Sentence
from pytest_brt.types import Raised
from pytest_brt.types.report import RIGHT, Claim, ClaimKind, ClaimRole

EXCEPTION = r"(?:[A-Za-z_]\w*\.)*[A-Z]\w*(?:Error|Exception|Warning|Interrupt|Exit|Iteration)\b"
_VALUE = (
    r"(?P<value>§\d+§|-?\d+(?:\.\d+)?(?:e-?\d+)?\b(?!\.\d)|True\b|False\b|None\b"
    r"|'[^']+'|\"[^\"]+\")"
)
#: What may stand between a verb and a value.
_FILL = (
    r"(?:\s+(?:an?|the|me|us|just|also|now|always|instead|still|following|value|result|of"
    r"|with|to be))*[\s:]+"
)
_GIVE = r"(?:return|give|be|equal|print|yield|produce|output|show|evaluate to|result in|get)"
_GAVE = (
    r"(?:returns?|returned|gives?|gave|got|gets?|prints?|printed|yields?|produces?|produced"
    r"|outputs?|shows?|evaluates? to|results? in|becomes?|is|was|actual(?:ly)?)"
)
_THING = r"(?: (?:result|output|value|behaviou?r|answer))?"
#: Of stretches of a sentence that overlap the first pattern says what is claimed. A role of None is
#: the opposite of what the sentence claimed before.
_PATTERNS = tuple(
    (re.compile(text, re.IGNORECASE), kind, role)
    for text, kind, role in (
        (
            r"\b(?:should|must|expect\w*)\b[^.;§]{0,30}\b(?:raise|throw|fail)\w*\b"
            rf"(?: with)?{_FILL}`?(?P<exception>{EXCEPTION})",
            ClaimKind.RAISES,
            ClaimRole.EXPECTED,
        ),
        (rf"\bshould (?:\w+ )?{_GIVE}\b{_FILL}{_VALUE}", ClaimKind.VALUE, ClaimRole.EXPECTED),
        (
            rf"\b(?:expect(?:ed|s|ing|ation)?|correct|right)\b{_THING}"
            rf"(?: (?:it|this|that|§\d+§))?(?: to)?(?: {_GIVE}| is| was| would be)?{_FILL}{_VALUE}",
            ClaimKind.VALUE,
            ClaimRole.EXPECTED,
        ),
        (
            r"\b(?:rais\w+|throw\w*|threw|gives?|gets?|got|fail\w* with|crash\w* with|results? in)"
            rf"\b{_FILL}`?(?P<exception>{EXCEPTION})",
            ClaimKind.RAISES,
            ClaimRole.ACTUAL,
        ),
        (rf"\b{_GAVE}{_THING}(?: is)?\b{_FILL}{_VALUE}", ClaimKind.VALUE, ClaimRole.ACTUAL),
        (
            rf"\b(?:instead of|rather than|but (?:got|gives|returns))\b{_FILL}{_VALUE}",
            ClaimKind.VALUE,
            None,
        ),
    )
)
_UNEXPECTED = re.compile(
    r"\bunexpected|\bwrong|\bincorrect|\bnot (?:what|as|the)\b.{0,20}expect"
    r"|\b(?:should|can) ?not\b|n['’]t\b",
    re.IGNORECASE,
)
_EXPECTED = re.compile(
    r"\bshould\b|\bexpect|\bdesired\b|\bsupposed to\b|\bwould (?:like|be)\b|\bwant(?:ed)?\b"
    r"|\bcorrect (?:result|output|value|behaviou?r|answer)",
    re.IGNORECASE,
)
_FINE = re.compile(
    r"\bworks?\b|\bworked\b|\bfine\b|\bcorrectly\b|\bas expected\b|\bused to\b|\bpreviously\b"
    r"|\bolder versions?\b|(?:\bis|['’]s) correct\b",
    re.IGNORECASE,
)
_BAD = re.compile(
    r"\bactual|\bcurrent|\bobserved|\bhappen|\bgot\b|\bgives?\b|\breturns?\b|\bprints?\b"
    r"|\boutputs?\b|\brais|\bthrow|\bfail|\berrors?\b|\bexception|\btraceback|\bcrash"
    r"|\binstead\b|\bbut\b|\bhowever\b|\bbugs?\b|\bresults? in\b|\bproduces?\b|\bnow\b",
    re.IGNORECASE,
)
#: Headings that say of what their section speaks.
_SECTION = re.compile(r"expect|actual|observed|current|should|happen", re.IGNORECASE)
_COMMENT = re.compile(
    r"^(?:[-=]*>|=+)?\s*"
    r"(?P<want>(?:it |this )?should(?: be| return| give| print)?|expect(?:ed|s)?)?"
    r"\s*(?P<got>(?:it )?(?:returns?|gives?|prints?|outputs?|is|got|actual))?"
    r"\s*:?\s*(?P<value>.+?)\.?$",
    re.IGNORECASE,
)
#: Where a comment goes on from what should be to what is.
_TURN = re.compile(
    r"\s*[,;(]\s*(?:but |and |it )*(?:got|gets?|gives?|returns?|is|was|not|instead of)\s+"
)
#: "Result: total = 3", as what somebody printed with a label.
_LABEL = re.compile(
    r"^\W*(?P<label>[A-Za-z]+)(?: [a-z]+)?\W*:\W*?(?P<name>[A-Za-z_]\w*)\s*=\s*(?P<value>[^=].*)$"
)
#: What something else ought to equal.
_SAME_AS = re.compile(
    r"\b(?:the same|equal|equivalent|identical)\b[^.;]{0,30}?\b(?:as|to) (§\d+§|\"[^\"]+\"|'[^']+')"
)
#: Code that is called fine.
_CALLED_FINE = re.compile(
    r"(§\d+§) (?:is|are|looks) (?:right|correct|fine|ok(?:ay)?|good|expected)\b", re.IGNORECASE
)
_ERROR = re.compile(r"\b(?:rais|throw|error|exception|message)|\bsay\b", re.IGNORECASE)
_DENIED = re.compile(r"n['’]t\b|\bnot\b|\bno\b|\bwithout\b", re.IGNORECASE)
#: Words of a comment that says of the line beside it that it is right or wrong.
_MARK = 4


def role_of(text: str) -> ClaimRole:
    """Say what a sentence holds of what stands below it.

    >>> role_of("I would expect the following:").value, role_of("but it doesn't work").value
    ('expected', 'actual')
    """
    plain = re.sub(r"`[^`]*`|\"[^\"]*\"|§\d+§", "§", text)
    clause = re.split(r"[;,:]\s+|\bbut\b|\bwhile\b", plain.rstrip(" :\n"))[-1]
    for words in (clause, plain):
        for pattern, role in (
            (_UNEXPECTED, ClaimRole.ACTUAL),
            (_FINE, ClaimRole.FINE),
            (_EXPECTED, ClaimRole.EXPECTED),
            (_BAD, ClaimRole.ACTUAL),
        ):
            if pattern.search(words):
                return role
    return ClaimRole.SHOWN


def section_role(heading: str) -> ClaimRole:
    """Return what the section under a heading speaks of."""
    return role_of(heading) if _SECTION.search(heading) else ClaimRole.SHOWN


def may_want_exception(sentence: Sentence) -> bool:
    """Say whether a sentence wants an exception, or other words of one."""
    words = sentence.masked
    is_wish = bool(_EXPECTED.search(words)) and not _DENIED.search(words)
    return is_wish and bool(_ERROR.search(words))


def claims_in(sentence: Sentence, section: ClaimRole) -> list[tuple[str, Claim]]:
    """Return what a sentence claims, each with the code in it that this is about, or ""."""
    if labelled := [*_labelled(sentence)]:
        return labelled
    text = re.sub(r"§(\d+)§", lambda mark: _with_exception(mark[0], sentence), sentence.masked)
    claims: list[tuple[str, Claim]] = []
    for pattern, kind, role in _PATTERNS:
        for match in pattern.finditer(text):
            value = _code(match.groupdict().get("value") or "", sentence)
            if kind is ClaimKind.VALUE and not _is_value(value):
                continue
            if any(claim.text == value and claim.kind is kind for _, claim in claims):
                continue
            if role is None and not claims:
                continue
            is_fine = role is ClaimRole.ACTUAL and _FINE.search(text)
            said = ClaimRole.FINE if is_fine else role or _opposite(claims)
            exception = match.groupdict().get("exception") or ""
            raised = Raised(type=exception, message="") if exception else None
            claim = Claim(kind=kind, role=said, text=value, raised=raised, sentence=sentence.text)
            claims.append((_subject(match, sentence), claim))
    return claims or [*_alone(sentence, section)]


def held_for_right(sentence: Sentence) -> list[str]:
    """Return the code that a sentence calls fine, or says something else is equal to."""
    words = sentence.masked
    marks = [*_SAME_AS.findall(words), *_CALLED_FINE.findall(words)]
    return [_code(mark, sentence).strip("\"'") for mark in marks]


def _with_exception(mark: str, sentence: Sentence) -> str:
    """Return the name of an exception as code, and any other code as its mark."""
    code = _code(mark, sentence)
    return f"`{code}`" if re.match(EXCEPTION, code) else mark


def _code(text: str, sentence: Sentence) -> str:
    """Return the code that a mark stands for; a text that is none as it is."""
    mark = re.fullmatch(r"§(\d+)§", text)
    return sentence.code[int(mark[1])] if mark else text


def _is_value(text: str) -> bool:
    return is_literal(text) or is_runnable(text) or " " in text


def _opposite(claims: list[tuple[str, Claim]]) -> ClaimRole:
    is_wanted = claims[-1][1].role is ClaimRole.EXPECTED
    return ClaimRole.ACTUAL if is_wanted else ClaimRole.EXPECTED


def _subject(match: re.Match[str], sentence: Sentence) -> str:
    """Return the last code before a claim that does something, "" without any."""
    end = match.start("exception" if "exception" in match.groupdict() else "value")
    before = re.findall(r"§(\d+)§", match.string[:end])
    codes = [sentence.code[int(number)] for number in before]
    return next((code for code in reversed(codes) if is_runnable(code)), "")


def _labelled(sentence: Sentence) -> Iterator[tuple[str, Claim]]:
    """Yield the value of a name that a line shows behind a label, as "Expected: total = 3"."""
    match = _LABEL.match(sentence.text.replace("`", ""))
    if match and is_literal(match["value"]):
        role = role_of(match["label"])
        role = ClaimRole.ACTUAL if role is ClaimRole.SHOWN else role
        claim = Claim(kind=ClaimKind.VALUE, role=role, text=match["value"], sentence=sentence.text)
        yield match["name"], claim


def _alone(sentence: Sentence, section: ClaimRole) -> Iterator[tuple[str, Claim]]:
    """Yield the value, or the exception, that is all that a section says."""
    text = sentence.masked.rstrip(".")
    text = sentence.code[0] if len(sentence.code) == 1 and len(text) < 8 else text
    exception = re.fullmatch(rf"({EXCEPTION})(?:: .*)?", text)
    if section is ClaimRole.SHOWN or not (exception or is_literal(text)):
        return
    yield (
        "",
        Claim(
            kind=ClaimKind.RAISES if exception else ClaimKind.VALUE,
            role=section,
            text="" if exception else text,
            raised=Raised(type=exception[1], message="") if exception else None,
            sentence=sentence.text,
        ),
    )


def comment_claims(comment: str, *, is_support_code: bool = False) -> list[Claim]:
    """Return what a comment claims of the statement that it stands at.

    >>> [(claim.role.value, claim.text) for claim in comment_claims("should be 3, is 5")]
    [('expected', '3'), ('actual', '5')]
    """
    exception = re.search(EXCEPTION, comment)
    role = role_of(comment)
    if exception:
        raised = Raised(type=exception[0], message="")
        said = role if role in RIGHT else ClaimRole.ACTUAL
        return [Claim(kind=ClaimKind.RAISES, role=said, raised=raised)]
    text, *turned = _TURN.split(comment.strip().rstrip(")"), maxsplit=1)
    match = _COMMENT.match(text)
    claims = []
    if match and _is_commented_value(match):
        said = ClaimRole.SHOWN
        if match["want"] or match["got"]:
            said = ClaimRole.EXPECTED if match["want"] else ClaimRole.ACTUAL
        claims.append(Claim(kind=ClaimKind.VALUE, role=said, text=match["value"]))
    if claims and turned and is_literal(turned[0]):
        claims.append(Claim(kind=ClaimKind.VALUE, role=ClaimRole.ACTUAL, text=turned[0]))
    is_mark = is_support_code and len(comment.split()) <= _MARK and role is not ClaimRole.EXPECTED
    if not claims and is_mark and role is not ClaimRole.SHOWN:
        claims.append(Claim(kind=ClaimKind.VALUE, role=role))  # whatever comes out
    return claims


def _is_commented_value(match: re.Match[str]) -> bool:
    value = match["value"]
    if is_literal(value):
        return True
    return parses(value) and bool(match["want"] or match["got"] or "(" in value)
