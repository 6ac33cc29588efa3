"""What sentences and comments claim of code: six patterns, four lists of words, one comment form.

Little of what people write changes a test; what does, over a hundred real reports, stands here.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from pytest_brt.pysource.parse import is_literal, parses
from pytest_brt.report.prose import MARK, Sentence, is_runnable
from pytest_brt.types import Raised
from pytest_brt.types.report import RIGHT, Claim, ClaimKind, ClaimRole

EXCEPTION = (
    r"(?:[A-Za-z_]\w{0,80}\.){0,9}[A-Z]\w{0,80}"
    r"(?:Error|Exception|Warning|Interrupt|Exit|Iteration)\b"
)
_PARTS = {
    "exception": rf"(?P<said>{EXCEPTION})",
    "value": (
        r"(?P<said>§\d+§|-?\d+(?:\.\d+)?(?:e-?\d+)?\b(?!\.\d)|True\b|False\b|None\b"
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
#: Of two that say the same of a sentence the first counts. A role of None is the opposite of what
#: the sentence claimed before.
_PATTERNS = tuple(
    (re.compile(text % _PARTS, re.IGNORECASE), kind, role)
    for text, kind, role in (
        (
            r"\b(?:should|must|expect\w*)\b[^.;§]{0,30}\b(?:raise|throw|fail)\w*\b"
            r"(?: with)?%(fill)s`?%(exception)s",
            ClaimKind.RAISES,
            ClaimRole.EXPECTED,
        ),
        (
            r"\bshould (?:\w+ )?%(give)s\b%(fill)s%(value)s",
            ClaimKind.VALUE,
            ClaimRole.EXPECTED,
        ),
        (
            r"\b(?:expect(?:ed|s|ing|ation)?|correct|right)\b%(thing)s"
            r"(?: (?:it|this|that|§\d+§))?(?: to)?(?: %(give)s| is| was| would be)?"
            r"%(fill)s%(value)s",
            ClaimKind.VALUE,
            ClaimRole.EXPECTED,
        ),
        (
            r"\b(?:rais\w+|throw\w*|threw|gives?|gets?|got|fail\w* with|crash\w* with|results? in)"
            r"\b%(fill)s`?%(exception)s",
            ClaimKind.RAISES,
            ClaimRole.ACTUAL,
        ),
        (
            r"\b%(gave)s%(thing)s(?: is)?\b%(fill)s%(value)s",
            ClaimKind.VALUE,
            ClaimRole.ACTUAL,
        ),
        (
            r"\b(?:instead of|rather than|but (?:got|gives|returns))\b%(fill)s%(value)s",
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
    r"\s*:?\s*(?P<said>.+?)"
    # Where it goes on from what should be to what is.
    r"(?:\s*[,;(]\s*(?:but |and |it )*(?:got|gets?|gives?|returns?|is|was|not|instead of)\s+"
    r"(?P<actual>.+?)\)?)?\.?$",
    re.IGNORECASE,
)
#: "Result: total = 3", as what somebody printed with a label.
_LABEL = re.compile(
    r"^\W*(?P<label>[A-Za-z]+)(?: [a-z]+)?\W*:\W*?(?P<name>[A-Za-z_]\w*)\s*=\s*(?P<said>[^=].*)$"
)
#: What something else ought to equal, and code that is called fine.
_APPROVED = re.compile(
    r"\b(?i:the same|equal|equivalent|identical)\b[^.;]{0,30}?\b(?:as|to) "
    r"(?P<equal>§\d+§|\"[^\"]+\"|'[^']+')"
    r"|(?P<fine>§\d+§) (?:is|are|looks) (?:right|correct|fine|ok(?:ay)?|good|expected)\b"
)
_ERROR = re.compile(r"\b(?:rais|throw|error|exception|message)|\bsay\b", re.IGNORECASE)
_DENIED = re.compile(r"n['’]t\b|\bnot\b|\bno\b|\bwithout\b", re.IGNORECASE)
#: Words of a comment that says of the line beside it that it is right or wrong.
_WORDS = 4


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
    if labelled := _LABEL.match(sentence.text.replace("`", "")):
        return [*_of_label(labelled, sentence)]
    text = MARK.sub(lambda mark: _with_exception(mark[0], sentence), sentence.masked)
    claims: list[tuple[str, Claim]] = []
    known: set[tuple[ClaimKind, str]] = set()
    for pattern, kind, role in _PATTERNS:
        for match in pattern.finditer(text):
            said = sentence.code.get(match["said"], match["said"])
            if (kind, said) in known or (kind is ClaimKind.VALUE and not _is_value(said)):
                continue
            if role is not None or claims:
                is_fine = role is ClaimRole.ACTUAL and _FINE.search(text)
                given = ClaimRole.FINE if is_fine else role or _opposite(claims[-1][1])
                known.add((kind, said))
                claim = _claim(kind, given, said, sentence)
                claims.append((_subject(text[: match.start("said")], sentence), claim))
    return claims or [*_alone(sentence, section)]


def approved(sentence: Sentence) -> list[str]:
    """Return the code that a sentence calls fine, or says something else is equal to."""
    marks = _APPROVED.findall(sentence.masked)
    return [sentence.code.get(mark, mark).strip("\"'") for found in marks for mark in found if mark]


def _claim(kind: ClaimKind, role: ClaimRole, said: str, sentence: Sentence | None = None) -> Claim:
    """Return the claim of a value, or of an exception by its name."""
    is_value = kind is ClaimKind.VALUE
    return Claim(
        kind=kind,
        role=role,
        text=said if is_value else "",
        raised=None if is_value else Raised(type=said, message=""),
        sentence=sentence.text if sentence else "",
    )


def _with_exception(mark: str, sentence: Sentence) -> str:
    """Return the name of an exception as code, and any other code as its mark."""
    code = sentence.code[mark]
    return f"`{code}`" if re.match(EXCEPTION, code) else mark


def _is_value(text: str) -> bool:
    return is_literal(text) or is_runnable(text) or " " in text


def _opposite(claim: Claim) -> ClaimRole:
    return ClaimRole.ACTUAL if claim.role is ClaimRole.EXPECTED else ClaimRole.EXPECTED


def _subject(before: str, sentence: Sentence) -> str:
    """Return the last code before a claim that does something, "" without any."""
    codes = [sentence.code[mark] for mark in MARK.findall(before)]
    return next(filter(is_runnable, reversed(codes)), "")


def _of_label(match: re.Match[str], sentence: Sentence) -> Iterator[tuple[str, Claim]]:
    """Yield the value of a name that a line shows behind a label, as "Expected: total = 3"."""
    role = role_of(match["label"])
    role = ClaimRole.ACTUAL if role is ClaimRole.SHOWN else role
    if is_literal(match["said"]):
        yield match["name"], _claim(ClaimKind.VALUE, role, match["said"], sentence)


def _alone(sentence: Sentence, section: ClaimRole) -> Iterator[tuple[str, Claim]]:
    """Yield the value, or the exception, that is all that a section says."""
    is_code = re.fullmatch(rf"\W*{MARK.pattern}\W*", sentence.masked)
    text = " ".join(sentence.code.values()) if is_code else sentence.text.rstrip(".")
    exception = re.fullmatch(rf"({EXCEPTION})(?:: .*)?", text)
    if section is not ClaimRole.SHOWN and (exception or is_literal(text)):
        kind = ClaimKind.RAISES if exception else ClaimKind.VALUE
        yield "", _claim(kind, section, exception[1] if exception else text, sentence)


def comment_claims(
    comment: str, shown: ClaimRole = ClaimRole.SHOWN, *, is_beside: bool = False
) -> list[Claim]:
    """Return what a comment claims of the statement that it stands at.

    A bare value in it is `shown`; words beside the statement mark whatever comes out.

    >>> [(claim.role.value, claim.text) for claim in comment_claims("should be 3, is 5")]
    [('expected', '3'), ('actual', '5')]
    """
    role = role_of(comment)
    if exception := re.search(EXCEPTION, comment):
        said = role if role in RIGHT else ClaimRole.ACTUAL
        return [_claim(ClaimKind.RAISES, said, exception[0])]
    match = _COMMENT.match(comment.strip())
    if match and _is_commented_value(match):
        said = ClaimRole.ACTUAL if match["got"] else shown
        said = ClaimRole.EXPECTED if match["want"] else said
        values = [(said, match["said"]), (ClaimRole.ACTUAL, match["actual"] or "")]
        return [_claim(ClaimKind.VALUE, said, value) for said, value in values if value]
    is_mark = is_beside and len(comment.split()) <= _WORDS
    is_mark = is_mark and role in (ClaimRole.ACTUAL, ClaimRole.FINE)
    return [Claim(kind=ClaimKind.VALUE, role=role)] if is_mark else []


def _is_commented_value(match: re.Match[str]) -> bool:
    said = match["said"]
    is_told = match["want"] or match["got"] or "(" in said
    return is_literal(said) or (bool(is_told) and parses(said))
