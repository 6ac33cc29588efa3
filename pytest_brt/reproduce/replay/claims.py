"""Sentences and comments → what they say about which code."""

from __future__ import annotations

import ast
import re
from collections.abc import Collection
from dataclasses import dataclass, replace
from types import MappingProxyType

from pytest_brt.issue.prose import Sentence
from pytest_brt.reproduce.replay.mend import parses
from pytest_brt.reproduce.replay.roles import is_complaint, role_of
from pytest_brt.reproduce.replay.steps import Role, Said, SaidKind
from pytest_brt.syntax import parse
from pytest_brt.types import Raised

EXCEPTION = re.compile(
    r"\b(?P<type>(?:[A-Za-z_]\w*\.)*[A-Z]\w*(?:Error|Exception|Interrupt|Exit|Iteration))\b"
    r"(?::[ ]+(?P<message>[^`\n]+))?"
)
_WARNING = re.compile(r"\b(?P<type>(?:[A-Za-z_]\w*\.)*[A-Z]\w*Warning)\b")
_VERB = re.compile(
    r"(?P<modal>\b(?:should(?: not|n['’]t)?|must(?: not|n['’]t)?|would(?: not)?|could|ought to"
    r"|(?:is |are |was )?(?:expected|supposed|meant) to|expect(?:ed)?(?: it)? to|to)\s+"
    r"(?:(?:also|instead|rather|really|actually|simply|just|always|only|have)\s+)*)?"
    r"\b(?P<verb>returns?|returned|returning|gives?|gave|giving|yields?|yielded|produces?|produced"
    r"|evaluates? to|evaluated to|prints?|printed|outputs?|results? in|resulted in|equals?"
    r"|becomes?|gets?|got|shows?|displays?|computes?|leads? to|raises?|raised|raising|throws?"
    r"|threw|fails? with|failed with|errors? with|crashes with|dies with|causes?|is|be|are|was)\b"
    r"(?:\s+(?:an?|the|following|value|exception|error|result|output|always|now|just|wrongly"
    r"|incorrectly|equal to|of|uncaught|unhandled|weird|strange)\b)*[\s:]*",
    re.IGNORECASE,
)
_RAISING = re.compile(r"rais|throw|threw|fail|error|crash|die", re.IGNORECASE)
_INSTEAD = re.compile(
    r"\b(?:instead of|rather than|and not|but got|but gives|but returns)[\s:]*"
    r"(?:just |an? |the |returning |raising )*",
    re.IGNORECASE,
)
_LABEL = re.compile(
    r"(?:^|(?<=[\n.,;]) ?)(?:\*\*)?(?P<label>expected|actual|observed|got|should be|result"
    r"|expected (?:result|output|value|behaviou?r)|actual (?:result|output|value|behaviou?r))"
    r"(?:\*\*)?\s*(?::|=|is)(?:\*\*)?\s*",
    re.IGNORECASE,
)
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
_PLAIN_CALL = re.compile(r"(?<![\w`.])(?:[A-Za-z_]\w*\.)*[A-Za-z_]\w*\(")
_PLAIN_POWER = re.compile(r"(?<![\w`*])[\w.()]+(?:\*\*|//)[-+]?[\w.()]+")
_FINE_ONE = re.compile(
    r"\bthe (?P<which>first|second|third|fourth|last|former|latter)\b[^,;.]{0,30}"
    r"\b(?:is|works?|gives?) (?:all )?(?:right|correct|fine|ok(?:ay)?|good|as expected|expected)",
    re.IGNORECASE,
)
_STOP = re.compile(
    r"[,;]|\.(?:\s|$)|\s(?:instead|rather|when|but|and|for|which|while|if|or|on|in|because|since"
    r"|although|as|with|the|where|is|are|not|without|then|than)\b|\s\(|\?|!(?!=)"
)
_ENGLISH = frozenset(
    {
        "a", "an", "the", "wrong", "incorrect", "correct", "right", "it", "this", "that",
        "something", "nothing", "error", "errors", "nonsense", "different", "same", "empty",
        "fine", "ok", "true", "false", "as", "in", "on", "not", "always", "never", "only",
        "also", "very", "too", "broken", "missing", "used", "done", "called", "set", "result",
        "results", "value", "values", "garbage", "what", "how"
    }
)  # fmt: skip


_ORDINALS = MappingProxyType(
    {"first": 1, "former": 1, "second": 2, "third": 3, "fourth": 4, "last": -1, "latter": -1}
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """What a sentence says, and of which code."""

    #: Source of the expression it speaks of; "" for the code before (or after) the sentence.
    subject: str
    said: Said
    #: Which of the results above it speaks of: 1 for "the first", -1 for "the last", 0 unsaid.
    ordinal: int = 0


@dataclass(frozen=True, slots=True)
class _Code:
    text: str
    start: int
    end: int


def claims(
    given: Sentence, known: Collection[str] = (), section: Role = Role.SHOWN
) -> tuple[Claim, ...]:
    """Return what a sentence says about code.

    Args:
        given: the sentence.
        known: variables of the report, which a sentence may speak of by name.
        section: the role of the section it stands in; a lone value there has that role.
    """
    codes = code_in(given)
    found: list[Claim] = []
    masked = _masked(given.text, codes)
    for match in _VERB.finditer(masked):
        found += _verb_claims(given, codes, masked, match, known)
    found += _label_claims(given, codes, masked)
    found += _lone_value(given, codes, section) if not found else []
    runnable = [code for code in codes if is_runnable(code.text)]
    subject = runnable[0].text if runnable else ""
    found += _general(given, subject, found)
    return tuple(dict.fromkeys(found))


def _lone_value(given: Sentence, codes: list[_Code], section: Role) -> list[Claim]:
    """A section named "Expected" or "Actual" that holds nothing but a value."""
    text = given.text.strip().rstrip(".")
    if section not in (Role.EXPECTED, Role.OBSERVED):
        return []
    value = codes[0].text if len(codes) == 1 and len(text) - len(codes[0].text) <= 4 else text
    if is_literal(value) or (codes and value == codes[0].text and parses(value)):
        return [_value("", value, section, given)]
    return []


def code_in(sentence: Sentence) -> list[_Code]:
    """Return the code in a sentence: between backticks, and calls in plain text."""
    codes = [_Code(_unquote(span.text), span.start, span.end) for span in sentence.spans]
    text = sentence.text
    taken = [(code.start, code.end) for code in codes]
    for match in [*_PLAIN_CALL.finditer(text), *_PLAIN_POWER.finditer(text)]:
        if any(start <= match.start() < end for start, end in taken):
            continue
        end = _expression_end(text, match.start(), match.end())
        if end:
            codes.append(_Code(text[match.start() : end], match.start(), end))
            taken.append((match.start(), end))
    return sorted(codes, key=lambda code: code.start)


def _unquote(code: str) -> str:
    return code.removeprefix(">>>").strip().rstrip(";")


def _expression_end(text: str, start: int, end: int) -> int:
    """Return where the expression that starts at `start` ends, 0 when there is none."""
    best = 0
    for stop in re.finditer(r"\s|$|[,.;:](?=\s|$)", text):
        if stop.start() < end:
            continue
        piece = text[start : stop.start()]
        if len(piece) > 300:
            break
        if parses(piece) and "\n" not in piece:
            best = stop.start()
            break
    return best


def is_runnable(text: str) -> bool:
    """Say whether `text` is an expression that does something: a call, an operator, an item."""
    text = text.strip()
    if not text or len(text) > 400 or not parses(text):
        return False
    body = parse(text).body
    if len(body) != 1 or not isinstance(body[0], ast.Expr):
        return False
    node = body[0].value
    if isinstance(node, ast.Call) and not (node.args or node.keywords):
        return isinstance(node.func, ast.Attribute) and not isinstance(node.func.value, ast.Name)
    kinds = (ast.Call, ast.BinOp, ast.Subscript, ast.Compare, ast.UnaryOp)
    return any(isinstance(child, kinds) for child in ast.walk(node)) and not is_literal(text)


def is_literal(text: str) -> bool:
    """Say whether `text` is a value that needs no name: a number, a string, a list of them."""
    try:
        ast.literal_eval(text)
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        return False
    return True


def _masked(text: str, codes: list[_Code]) -> str:
    for code in codes:
        text = text[: code.start] + "\u00a7" * (code.end - code.start) + text[code.end :]
    return text


def _verb_claims(
    sentence: Sentence,
    codes: list[_Code],
    masked: str,
    match: re.Match[str],
    known: Collection[str],
) -> list[Claim]:
    before = [code.text for code in reversed(codes) if code.end <= match.start() + 1]
    subject = next((text for text in before if is_runnable(text) or text in known), "")
    verb = match["verb"].lower()
    weak = verb in ("is", "be", "are", "was")
    modal = (match["modal"] or "").lower().strip()
    role = _verb_role(masked, match, modal)
    if weak and not subject and not modal:
        return []
    text, end = _object(sentence.text, codes, match.end())
    if not text:
        return []
    exception = EXCEPTION.fullmatch(text) or EXCEPTION.match(text)
    if exception:
        found = [_raises(subject, exception, role, sentence)]
        other = _instead(sentence.text, codes, end)
        second = EXCEPTION.match(other) if other else None
        if second:
            found.append(_raises(subject, second, _opposite(role), sentence))
        return found
    if _RAISING.search(verb) or "Warning" in text:
        return []
    found = [replace(_value(subject, text, role, sentence), ordinal=_ordinal(masked, match))]
    other = _instead(sentence.text, codes, end)
    if other and not EXCEPTION.match(other):
        found.append(_value(subject, other, _opposite(role), sentence))
    return found


def _instead(text: str, codes: list[_Code], end: int) -> str:
    """Return what follows "instead of" right after `end`, "" when nothing does."""
    rest = text[end:].lstrip(" `,")
    match = _INSTEAD.match(rest)
    if match is None:
        return ""
    start = len(text) - len(rest) + match.end()
    return _object(text, codes, start)[0]


def _opposite(role: Role) -> Role:
    return Role.OBSERVED if role is Role.EXPECTED else Role.EXPECTED


def _ordinal(masked: str, match: re.Match[str]) -> int:
    """Return which result the clause before the verb names, 0 when it names none."""
    before = masked[: match.start()].lower()
    words = re.findall(r"\w+", re.split(r"[,;:.]|\band\b|\bbut\b", before)[-1])
    return next((_ORDINALS[word] for word in reversed(words) if word in _ORDINALS), 0)


def _verb_role(masked: str, match: re.Match[str], modal: str) -> Role:
    if modal and modal.split(maxsplit=1)[0] != "to":
        return Role.OBSERVED if re.search(r"not|n['’]t", modal) else Role.EXPECTED
    before = masked[max(0, match.start() - 60) : match.start()].lower()
    clause = re.split(r"[,;:]|\bbut\b", before)[-1]
    if re.search(r"\bexpect|\bwant|\blike|\bideal|\bhope|\bsays?\b", clause) and modal:
        return Role.EXPECTED
    if re.search(r"\bdoes(?:n['’]t| not)\b|\bnot\b", clause):
        return Role.EXPECTED
    whole = role_of(clause)
    if whole is Role.CONTRAST or re.search(r"used to|previously|\d\.\d+ (?:it )?$", clause):
        return Role.CONTRAST
    return Role.OBSERVED


def _object(text: str, codes: list[_Code], start: int) -> tuple[str, int]:
    """Return the code, literal or exception right after `start`, and where it ends."""
    for code in codes:
        if start - 1 <= code.start <= start + 2:
            return code.text, code.end
    rest = text[start:]
    exception = EXCEPTION.match(rest)
    if exception:
        return exception[0].rstrip(". "), start + exception.end()
    stop = _STOP.search(rest)
    piece = rest[: stop.start()] if stop else rest
    piece = piece.strip().rstrip(".:")
    if not piece or len(piece) > 80 or piece.lower() in _ENGLISH:
        return "", start
    single = " " not in piece
    if (single or is_literal(piece)) and parses(piece):
        return piece, start + len(piece)
    return "", start


def _label_claims(sentence: Sentence, codes: list[_Code], masked: str) -> list[Claim]:
    found = []
    for match in _LABEL.finditer(masked):
        label = match["label"].lower()
        role = Role.EXPECTED if re.match(r"expected|should", label) else Role.OBSERVED
        text, _ = _object(sentence.text, codes, match.end())
        exception = EXCEPTION.match(text) if text else None
        if exception:
            found.append(_raises("", exception, role, sentence))
        elif text:
            found.append(_value("", text, role, sentence))
    return found


def _general(sentence: Sentence, subject: str, found: list[Claim]) -> list[Claim]:
    """Claims without an object: it fails, it must work, it must raise, it is wrong."""
    text = sentence.text
    exception = EXCEPTION.search(text)
    if any(claim.said.kind is SaidKind.RAISES for claim in found):
        return []
    fine = _FINE_ONE.search(text)
    if fine:
        said = Said(kind=SaidKind.WORKS, role=Role.CONTRAST, sentence=text)
        return [Claim(subject="", said=said, ordinal=_ORDINALS[fine["which"].lower()])]
    if MUST_FAIL.search(text):
        return [_raises(subject, exception, Role.EXPECTED, sentence)]
    if MUST_WORK.search(text):
        said = Said(kind=SaidKind.WORKS, role=Role.EXPECTED, sentence=text)
        return [Claim(subject=subject, said=said)]
    if exception and role_of(text) in (Role.OBSERVED, Role.SHOWN):
        return [_raises(subject, exception, Role.OBSERVED, sentence)]
    warning = _WARNING.search(text)
    if warning:
        role = Role.EXPECTED if role_of(text) is Role.EXPECTED else Role.OBSERVED
        raised = Raised(type=warning["type"], message="")
        said = Said(kind=SaidKind.WARNS, role=role, raised=raised, sentence=text)
        return [Claim(subject=subject, said=said)]
    if _FAILS.search(text) and role_of(text) is not Role.CONTRAST:
        return [_raises(subject, None, Role.OBSERVED, sentence)]
    if is_complaint(text) and not found:
        said = Said(kind=SaidKind.WRONG, role=Role.OBSERVED, sentence=text)
        return [Claim(subject=subject, said=said)]
    return []


def _raises(subject: str, match: re.Match[str] | None, role: Role, sentence: Sentence) -> Claim:
    raised = Raised(
        type=match["type"] if match else "",
        message=(match["message"] or "").strip() if match else "",
    )
    said = Said(kind=SaidKind.RAISES, role=role, raised=raised, sentence=sentence.text)
    return Claim(subject=subject, said=said)


def _value(subject: str, text: str, role: Role, sentence: Sentence) -> Claim:
    said = Said(kind=SaidKind.VALUE, role=role, text=text, sentence=sentence.text)
    return Claim(subject=subject, said=said)
