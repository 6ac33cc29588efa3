"""Code that a sentence mentions: between backticks, as calls in plain text, after a verb."""

from __future__ import annotations

import ast
import re
from dataclasses import replace

from pytest_brt.pysource.parse import is_literal, parse, parse_or_empty, parses
from pytest_brt.types.reading import Sentence, Span

#: An exception by its name, and its message where that follows.
EXCEPTION = re.compile(
    r"\b(?P<type>(?:[A-Za-z_]\w*\.){0,9}[A-Z]\w*(?:Error|Exception|Interrupt|Exit|Iteration))\b"
    r"(?::[ ]+(?P<message>[^`\n]+))?"
)
_PLAIN_CALL = re.compile(r"(?<![\w`.])(?:[A-Za-z_]\w*\.)*[A-Za-z_]\w*\(")
_PLAIN_POWER = re.compile(r"(?<![\w`*])[\w.()]{1,80}(?:\*\*|//)[-+]?[\w.()]{1,80}")
_STOP = re.compile(
    r"[,;]|\.(?:\s|$)|\)(?=[\s.,;]*$)|\s(?:instead|rather|when|but|and|for|which|while|if|or|on|in|because|since"
    r"|although|as|with|the|where|is|are|not|without|then|than)\b|\s\(|\?|!(?!=)"
)
_STARTS_LITERAL = re.compile(r"\s*(?:[\[({]|[rRbBuU]?['\"])")
_ENDS_LITERAL = re.compile(r"[\])}'\"]")
#: What makes a literal a part of a longer expression.
_GOES_ON = re.compile(r"\s*[%+*/|&@^]|[\w.\[(=<>-]\S")
#: English words as short as the names that people give to values.
_SHORT_WORDS = frozenset(
    {"a", "an", "as", "how", "in", "it", "not", "ok", "on", "set", "the", "too"}
)


def code_in(sentence: Sentence) -> list[Span]:
    """Return the code in a sentence: between backticks, and calls in plain text."""
    codes = [
        replace(span, text=span.text.removeprefix(">>>").strip().rstrip(";"))
        for span in sentence.spans
    ]
    text = sentence.text
    for match in [*_PLAIN_CALL.finditer(text), *_PLAIN_POWER.finditer(text)]:
        start = match.start()
        if any(code.start <= start < code.end for code in codes):
            continue
        end = _expression_end(text, start, match.end())
        if end:
            codes.append(Span(text=text[start:end], start=start, end=end))
    return sorted(codes, key=lambda code: code.start)


def _expression_end(text: str, start: int, end: int) -> int:
    for stop in re.finditer(r"\s|$|[,.;:](?=\s|$)", text):
        if stop.start() < end:
            continue
        piece = text[start : stop.start()]
        if len(piece) > 300:
            break
        if parses(piece) and "\n" not in piece:
            return stop.start()
    return 0


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


def binds_call(text: str) -> bool:
    """Say whether `text` assigns the result of a call to a name, as in ``x = f(1)``."""
    match parse_or_empty(text.strip()).body:
        case [ast.Assign(targets=[ast.Name()], value=ast.Call())]:
            return len(text) <= 400
    return False


def is_word(text: str) -> bool:
    """Say whether `text` is a word of English rather than a name or a value.

    >>> is_word("strange"), is_word("Wrong"), is_word("True"), is_word("NaN"), is_word("zoo")
    (True, True, False, False, False)
    """
    if not text.isalpha() or is_literal(text):
        return False
    lower = text.islower() or text.istitle()
    return lower and (len(text) > 3 or text.lower() in _SHORT_WORDS)


def masked(text: str, codes: list[Span]) -> str:
    """Return `text` with each code hidden behind as many signs that no word has."""
    for code in codes:
        text = text[: code.start] + "\u00a7" * (code.end - code.start) + text[code.end :]
    return text


def object_at(text: str, codes: list[Span], start: int) -> tuple[str, int]:
    """Return the code, literal or exception right after `start`, and where it ends."""
    for code in codes:
        if start - 1 <= code.start <= start + 2:
            return code.text, code.end
    rest = text[start:]
    exception = EXCEPTION.match(rest)
    if exception:
        return exception[0].rstrip(". "), start + exception.end()
    whole = _literal_at(rest)
    if whole:
        return whole.strip(), start + len(whole)
    stop = _STOP.search(rest, 0, 120)  # a longer piece is no object
    piece = rest[: stop.start()] if stop else rest
    piece = piece.strip().rstrip(".:")
    if not piece or len(piece) > 80 or is_word(piece):
        return "", start
    if (" " not in piece or is_literal(piece)) and parses(piece):
        return piece, start + len(piece)
    return "", start


def _literal_at(text: str) -> str:
    """Return the string or collection that `text` starts with, "" for none.

    What stands in it ends no sentence: ``[1, 2]`` has a comma, and ``'a and b'`` an "and".
    """
    if not _STARTS_LITERAL.match(text):
        return ""
    for end in _ENDS_LITERAL.finditer(text[:300]):
        piece = text[: end.end()]
        if is_literal(piece.strip()):
            return "" if _GOES_ON.match(text, end.end()) else piece
    return ""
