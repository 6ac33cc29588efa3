"""What a report quotes, compared with what came out."""

from __future__ import annotations

import ast
import re
from enum import IntEnum
from pprint import pformat

from pytest_brt.pysource.parse import is_literal, parse_or_empty

#: An address of memory.
ADDRESS = re.compile(r"\b0x[0-9a-fA-F]{4,}\b")
#: Characters of what may stand among others in a quotation.
_LONG = 8


class Match(IntEnum):
    """How well a quotation matches a result, the best last."""

    NONE = 0
    #: The same but for whitespace outside of strings, and quotes.
    SQUEEZED = 1
    #: The same value, or the same text but for whitespace at the ends of lines.
    EXACT = 2


def match_values(quoted: str, result: str) -> Match:
    """Say how well a quotation matches a result: of two values, whether they are equal.

    >>> match_values("f( 'a b' )", "f('a b')").name, match_values("f('a  b')", "f('a b')").name
    ('SQUEEZED', 'NONE')
    >>> match_values("'a b'", '"a b"').name, match_values("1", "'1'").name
    ('EXACT', 'NONE')
    """
    texts = [_trimmed(quoted), _trimmed(result)]
    if not all(texts):
        return Match.NONE
    if texts[0] == texts[1]:
        return Match.EXACT
    values = [ast.literal_eval(text.strip()) for text in (quoted, result) if is_literal(text)]
    if len(values) == 2:  # sets and dictionaries in one order; 1 is not True
        return Match.EXACT if pformat(values[0]) == pformat(values[1]) else Match.NONE
    if values and isinstance(values[0], str):
        text = result if is_literal(quoted) else quoted
        return Match.EXACT if values[0] in (text, text.removesuffix("\n")) else Match.NONE
    if _squeezed(quoted) != _squeezed(result):
        return Match.NONE
    # Of what is Python no other whitespace than that between its parts may differ.
    one, other = map(parse_or_empty, texts)
    is_text = not (one.body and other.body)
    return Match.SQUEEZED if is_text or ast.dump(one) == ast.dump(other) else Match.NONE


def quoted_in(result: str, text: str) -> Match:
    """Say how well `text` quotes `result`: as a whole, or as some consecutive lines of it.

    A literal quotes nothing but its own value. What is short must stand alone on its line.
    """
    match = match_values(text, result)
    if match or is_literal(text):
        return match
    key = _squeezed(result)
    alone = any(match_values(line, result) for line in text.split("\n"))
    is_part = len(key) >= _LONG and key in _squeezed(text)
    return Match.SQUEEZED if alone or is_part else Match.NONE


def _trimmed(text: str) -> str:
    """Return `text` without addresses, blank lines around it, and space at the ends of lines."""
    lines = [line.rstrip() for line in ADDRESS.sub("0x", text).strip("\n").split("\n")]
    return "\n".join(lines).strip()


def _squeezed(text: str) -> str:
    """Return `text` without whitespace and addresses, its quotes made alike."""
    return re.sub(r"\s+", "", ADDRESS.sub("0x", text)).replace('"', "'")


def is_steady(text: str) -> bool:
    """Say whether `text` can be compared at all: no memory addresses in it."""
    return not ADDRESS.search(text)


def messages_agree(reported: str, raised: str) -> bool:
    """Say whether two messages of an exception say the same, numbers and names aside.

    >>> messages_agree("line 3: `Name` at 0x7F2", "at line 14: 'name' at 0x1A0")
    True
    """
    short, long = sorted(map(_without_values, (reported, raised)), key=len)
    if not short:
        return not long
    words, others = set(short.split()), set(long.split())
    is_part = len(short) > _LONG and short in long
    return is_part or len(words & others) / len(words | others) >= 0.6


def _without_values(message: str) -> str:
    """Return the words of a message in lower case: numbers as 0, no quotes."""
    message = re.sub(r"0x[0-9a-f]+|\d+", "0", message.lower())
    return " ".join(re.sub(r"[`'\"\u201c\u201d]+", " ", message).split())
