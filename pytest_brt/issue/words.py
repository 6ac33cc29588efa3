"""The words in which reports say what is and what should be."""

from __future__ import annotations

import re

from pytest_brt.types.reading import ClaimRole

#: What a sentence quotes, in which a word is somebody else's: code, strings, and the message behind
#: the name of an exception, up to where the sentence goes on.
_QUOTED = re.compile(
    r"(`+)(?!`).+?(?<!`)\1(?!`)|\"[^\"\n]*\"|\u201c[^\u201d\n]*\u201d|(?<!\w)'[^'\n]+'(?!\w)"
    r"|(?:(?<=Error: )|(?<=Exception: )|(?<=Error`: )|(?<=Exception`: ))"
    r"(?:(?!,? (?:but|whereas|while|however|instead)\b)[^\n])*",
    re.DOTALL,
)

#: What may stand between "should" and its verb without changing what is asked.
ADVERBS = (
    r"(?:(?:also|still|just|always|instead|rather|really|actually|simply|only|now|then|have"
    r"|probably|definitely|certainly|clearly|ideally|at least)\s+)*"
)
_FAIL = (
    r"(?:raise|fail|crash|error|break|propagate|reach the caller|give an? (?:error|exception)"
    r"|be (?:an? (?:error|exception)|raised|propagated|rejected|refused|forbidden|disallowed"
    r"|invalid|prevented))\b"
)
_WORK = (
    r"(?:work|succeed|pass|accept|be (?:allowed|accepted|permitted|valid|possible|supported|fine"
    r"|ok(?:ay)?|legal)|allow)\b"
)
_MUST_WORK = re.compile(
    rf"\bshould\s+{ADVERBS}{_WORK}|\bshould(?: not|n't)\s+{ADVERBS}{_FAIL}", re.IGNORECASE
)
_QUALITY = (
    r"(?:clear|clearer|nice|nicer|helpful|unhelpful|friendly|friendlier|useful|informative|meaningful"
    r"|proper|better|specific|descriptive|appropriate|explicit|readable|right|correct|wrong|incorrect"
    r"|misleading|confusing|cryptic|obscure|unclear)"
)
_ERROR = r"(?:error|exception)(?: (?:message|type|class))?|message"
#: Demands of an exception: another one, or one that says something else.
_OF_AN_ERROR = re.compile(
    rf"\b{_QUALITY} (?:\w+ ){{0,2}}(?:{_ERROR})\b"
    rf"|\b(?:{_ERROR}) (?:is|was|are|isn't|should be|could be)(?: \w+){{0,2}} {_QUALITY}\b"
    rf"|\bshould {ADVERBS}(?:raise|throw|fail|complain|report|say|tell|mention|reject"
    r"|refuse|warn)\b"
    r"|\bgracefully\b",
    re.IGNORECASE,
)
_EXPECTS_ONE = re.compile(
    r"\b(?:expect(?:ed)?|want(?:ed)?)\b[^.,;]{0,40}\ban? (?:\w+ ){0,2}(?:error|exception)\b",
    re.IGNORECASE,
)
_DENIED = re.compile(r"\b(?:not|no|never|without|instead)\b|n't\b", re.IGNORECASE)


def hidden_quotes(text: str) -> str:
    """Return `text` as long as it is, with a sign that no word has for each one that it quotes."""
    return _QUOTED.sub(lambda match: "\u00a7" * len(match[0]), text)


def own_words(text: str) -> str:
    """Return `text` with a sign that no word has in place of what it quotes."""
    return _QUOTED.sub("\u00a7", text.replace("\u2019", "'"))


#: Where a sentence goes on from what should be to what is.
_TURNS = re.compile(
    r"\b(?:but|and not|instead of|rather than|got|gets?|actual(?:ly)?)\b", re.IGNORECASE
)
_NEGATED = re.compile(r"(?:\bnot|n't)(?: \w+)?\s*$", re.IGNORECASE)


def wished_part(text: str) -> str:
    """Return what a sentence says that should be, up to where it turns to what is.

    >>> wished_part("I expected `Two Words` but got `Two words`.")
    ' `Two Words` '
    >>> wished_part("It gives `Two words`, which I did not expect.")
    ''
    """
    wish = _EXPECTED.search(text)
    if wish is None or _NEGATED.search(text[: wish.start()]):
        return ""
    return _TURNS.split(text[wish.end() :], maxsplit=1)[0]


def must_work(text: str) -> bool:
    """Say whether `text` demands that something works, or raises nothing."""
    return bool(_MUST_WORK.search(own_words(text)))


def wants_an_error(text: str) -> bool:
    """Say whether `text` asks for another exception, or finds fault with the words of one.

    >>> wants_an_error("A clearer error would be nice."), wants_an_error("The message is cryptic")
    (True, True)
    >>> wants_an_error("I expect an exception that says so"), wants_an_error("It is an error")
    (True, False)
    >>> wants_an_error("I don't see why it should be forbidden")
    False
    """
    words = own_words(text)
    if _OF_AN_ERROR.search(words):
        return True
    return bool(_EXPECTS_ONE.search(words)) and not _DENIED.search(words)


_UNEXPECTED = re.compile(
    r"\bunexpected|\bun-?wanted|\bincorrect|\bwrong|\bnot (?:as |what |the |quite )*"
    r"(?:i |we |one )?(?:would )?(?:have )?(?:expect|correct|desired|right)|"
    r"\b(?:should|can) ?not\b|\bcan'?t\b|"
    r"\bnot (?:be )?(?:supposed|handled|valid)|\bnonsens|\binvalid\b|\bbogus\b|\bmisleading\b",
    re.IGNORECASE,
)
_EXPECTED = re.compile(
    r"\b(?:should|must)\b|\bexpect(?:ed|s|ing|ation)?\b|\bdesired\b|"
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
_WORKS_AGAIN = re.compile(r"\bworks? (?:as expected|fine|correctly|well)\b", re.IGNORECASE)

_FINE = r"(?:right|correct|fine|ok(?:ay)?|good|expected|what (?:i|we|one) (?:want|expect)\w*)"
_CALLED_FINE = re.compile(rf"\W*(?:is|are|looks) {_FINE}\b", re.IGNORECASE)


def is_called_fine(text: str, code: str) -> bool:
    """Say whether a sentence calls its code fine.

    >>> is_called_fine("`f([])` is fine.", "f([])"), is_called_fine("`f(1)` is odd.", "f(1)")
    (True, False)
    """
    before, found, after = text.partition(f"`{code}`")
    return bool(found and _CALLED_FINE.match(after) and not before.strip())


def role_of(text: str) -> ClaimRole:
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
        return ClaimRole.SHOWN
    clause = _announcing_clause(text)
    for words in (clause, text) if clause != text else (text,):
        if _WORKS_AGAIN.search(words) and not re.search(r"\bnot\b|n't", words):
            return ClaimRole.CONTRAST
        if _UNEXPECTED.search(words):
            return ClaimRole.OBSERVED
        if _EXPECTED.search(words):
            return ClaimRole.EXPECTED
        if _BROKEN.search(words) and not re.search(
            r"\b(?:no|without(?: an?| any)?) (?:error|problem|issue|exception)",
            words,
            re.IGNORECASE,
        ):
            return ClaimRole.OBSERVED
        if not _NOW.search(text):
            if _CONTRAST.search(clause if _turns(text) else words):
                return ClaimRole.CONTRAST
            if _VERSION.search(words):
                return ClaimRole.OBSERVED if _turns(text) else ClaimRole.CONTRAST
        if _OBSERVED.search(words):
            return ClaimRole.OBSERVED
    return ClaimRole.SHOWN


def _turns(text: str) -> bool:
    """Say whether `text` goes on with "but" after something fine, or begins with it."""
    buts = list(_BUT.finditer(text))
    if not buts:
        return False
    before, after = text[: buts[-1].start()], text[buts[-1].end() :]
    fine = not before.strip() or bool(_CONTRAST.search(before))
    return fine and not _CONTRAST.search(after)


def heading_role(text: str) -> ClaimRole:
    """Return what the section under the heading `text` speaks of."""
    words = own_words(text).lower()
    if re.search(r"\b(?:expect|should|desired|want|like to)", words) and not re.search(
        r"\bactual|\bunexpected|\breproduc|\bexample|\bnot\b", words
    ):
        return ClaimRole.EXPECTED
    if re.search(r"\b(?:actual|observed|current|what happen|happened|output|error)", words):
        return ClaimRole.OBSERVED
    return ClaimRole.SHOWN


def is_complaint(text: str) -> bool:
    """Say whether `text` calls something wrong."""
    text = own_words(text)
    return bool(_UNEXPECTED.search(text) or _BROKEN.search(text)) and not _WORKS_AGAIN.search(text)


def _announcing_clause(text: str) -> str:
    """Return the part of a sentence that is nearest to what follows it."""
    parts = re.split(r"[;:,]\s+|\s[-–—]\s|\bbut\b|\bwhile\b|\bwhereas\b", text.rstrip(" :\n"))
    return parts[-1].strip() or text
