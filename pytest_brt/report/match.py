"""What a report quotes, compared with what came out."""

from __future__ import annotations

import ast
import re
from difflib import SequenceMatcher
from pprint import pformat

from pytest_brt.pysource.parse import is_literal, parse_or_empty

#: An address of memory.
ADDRESS = re.compile(r"\b0x[0-9a-fA-F]{4,}\b")
#: Characters of what may stand among others in a quotation.
_LONG = 8
#: Share of the words that two messages have in common which say the same.
_ALIKE = 0.75


def match_values(quoted: str, result: str) -> bool:
    """Say whether two texts show one value; of what is no literal, but for whitespace and quotes.

    >>> match_values("f( 'a b' )", "f('a b')"), match_values("f('a  b')", "f('a b')")
    (True, False)
    >>> match_values("'a b'", '"a b"'), match_values("1", "'1'")
    (True, False)
    """
    texts = [ADDRESS.sub("0x", text).strip() for text in (quoted, result)]
    if not all(texts):
        return False
    values = [ast.literal_eval(text) for text in texts if is_literal(text)]
    if len(values) == 2:  # sets and dictionaries in one order; 1 is not True
        return pformat(values[0]) == pformat(values[1])
    if values and isinstance(values[0], str):
        text = result if is_literal(quoted.strip()) else quoted
        return values[0] in (text, text.removesuffix("\n"))
    if _squeezed(quoted) != _squeezed(result):
        return False
    # Of what is Python no other whitespace than that between its parts may differ.
    one, other = map(parse_or_empty, texts)
    return not (one.body and other.body) or ast.dump(one) == ast.dump(other)


def quoted_in(result: str, text: str) -> bool:
    """Say whether `text` quotes `result`: as a whole, or as some consecutive lines of it.

    A literal quotes nothing but its own value. What is short must stand alone on its line.
    """
    if match_values(text, result):
        return True
    if is_literal(text):
        return False
    key = _squeezed(result)
    is_part = len(key) >= _LONG and key in _squeezed(text)
    return is_part or any(match_values(line, result) for line in text.split("\n"))


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
    is_part = len(short) > _LONG and short in long
    return is_part or SequenceMatcher(None, short.split(), long.split()).ratio() >= _ALIKE


def _without_values(message: str) -> str:
    """Return the words of a message in lower case: numbers as 0, no quotes."""
    message = re.sub(r"0x[0-9a-f]+|\d+", "0", message.lower())
    return " ".join(re.sub(r"[`'\"\u201c\u201d]+", " ", message).split())
