"""What a report quotes, compared with what came out."""

from __future__ import annotations

import ast
import re
from enum import IntEnum

from pytest_brt.pysource.parse import is_literal, parse_or_empty

#: An address of memory.
ADDRESS = re.compile(r"\b0x[0-9a-fA-F]{4,}\b")
_BOX = re.compile(r"[\u2500-\u259f\u23a1-\u23ad\u239b-\u23b3\u2571-\u2573]")
#: What a notebook puts around formulas.
_MATH = re.compile(r"^\$+(?:\\displaystyle)?|\$+$")
#: What a reporter points at in a quotation.
_BOLD = re.compile(r"\*\*(\w[^*\n]*)\*\*")
_CLASS = re.compile(r"<class '([\w.]+)'>")
#: Characters of what may stand among others in a quotation.
_LONG = 8


class Match(IntEnum):
    """How well a quotation matches a result, the best last."""

    NONE = 0
    #: The same but for whitespace outside of strings, quotes and drawing.
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
    if len(values) == 2:
        return Match.EXACT if _canonical(values[0]) == _canonical(values[1]) else Match.NONE
    if values and isinstance(values[0], str):
        text = result if is_literal(quoted) else quoted
        return Match.EXACT if values[0] in (text, text.removesuffix("\n")) else Match.NONE
    if squeezed(quoted) == squeezed(result) != "":
        # Of what is Python no other whitespace than that between its parts may differ.
        one, other = map(parse_or_empty, texts)
        is_text = not (one.body and other.body)
        return Match.SQUEEZED if is_text or ast.dump(one) == ast.dump(other) else Match.NONE
    plain = _BOLD.sub(r"\1", quoted)
    return match_values(plain, result) if plain != quoted else Match.NONE


def _canonical(value: object) -> str:
    """Return what is the same for equal values: of sets and dictionaries in any order."""
    if isinstance(value, set | dict):
        value = type(value), sorted(value.items() if isinstance(value, dict) else value, key=repr)
    return repr(value)


def quoted_in(result: str, text: str) -> Match:
    """Say how well `text` quotes `result`: as a whole, or as some consecutive lines of it.

    A literal quotes nothing but its own value. What is short must stand alone on its line.
    """
    match = match_values(text, result)
    if match or is_literal(text):
        return match
    key = squeezed(result)
    alone = any(match_values(line, result) for line in text.split("\n"))
    is_part = len(key) >= _LONG and key in squeezed(text)
    return Match.SQUEEZED if alone or is_part else Match.NONE


def _trimmed(text: str) -> str:
    """Return `text` without addresses, blank lines around it, and space at the ends of lines."""
    lines = [line.rstrip() for line in ADDRESS.sub("0x", text).strip("\n").split("\n")]
    return "\n".join(lines).strip()


def squeezed(text: str) -> str:
    """Return `text` without whitespace, box drawing, addresses and outer quotes."""
    text = _CLASS.sub(r"\1", _BOX.sub("", ADDRESS.sub("0x", text)).strip())
    text = _MATH.sub("", text)
    if len(text) >= 2 and text[0] == text[-1] and text[0] in "\"'":
        text = text[1:-1].replace("\\n", "\n").replace("\\'", "'").replace('\\"', '"')
    return re.sub(r"\s+", "", text).replace('"', "'").replace("\\\\", "\\")


def is_steady(text: str) -> bool:
    """Say whether `text` can be compared at all: no memory addresses in it."""
    return not ADDRESS.search(text)


def without_values(message: str) -> str:
    """Return the words of a message in lower case: numbers as 0, no quotes.

    >>> without_values("line 3: `Name` at 0x7F2")
    'line 0: name at 0'
    """
    message = re.sub(r"0x[0-9a-f]+|\d+", "0", message.lower())
    return " ".join(re.sub(r"[`'\"\u201c\u201d]+", " ", message).split())


def messages_agree(reported: str, raised: str) -> bool:
    """Say whether two messages of an exception say the same, numbers and names aside."""
    short, long = sorted(map(without_values, (reported, raised)), key=len)
    if not short:
        return not long
    words, others = set(short.split()), set(long.split())
    is_part = len(short) > _LONG and short in long
    return is_part or len(words & others) / len(words | others) >= 0.6
