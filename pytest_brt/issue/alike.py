"""What a report quotes, compared with what was seen."""

from __future__ import annotations

import ast
import re
from enum import IntEnum

from pytest_brt.pysource.parse import is_literal, parse_or_empty

#: An address of memory.
ADDRESS = re.compile(r"\b0x[0-9a-fA-F]{4,}\b")
_BOX = re.compile(r"[\u2500-\u257f\u2580-\u259f\u23a1-\u23ad\u239b-\u23b3\u2571-\u2573]")
#: What a notebook puts around formulas.
_MATH = re.compile(r"^\$+(?:\\displaystyle)?|\$+$")
#: What a reporter points at in a quotation.
_BOLD = re.compile(r"\*\*(\w[^*\n]*)\*\*")
_NO_PYTHON = ast.dump(parse_or_empty(""))
_CLASS = re.compile(r"<class '([\w.]+)'>")


class Likeness(IntEnum):
    """How alike two texts are, strongest last."""

    NONE = 0
    #: The same but for whitespace outside of strings, quotes and drawing.
    SQUEEZED = 1
    #: The same value, or the same text but for whitespace at the ends of lines.
    EXACT = 2


def likeness(quoted: str, seen: str) -> Likeness:
    """Say how alike a quotation and what was seen are: of two values, whether they are equal.

    >>> likeness("f( 'a b' )", "f('a b')").name, likeness("f('a  b')", "f('a b')").name
    ('SQUEEZED', 'NONE')
    >>> likeness("'a b'", '"a b"').name, likeness("'a  b'", "a b").name
    ('EXACT', 'NONE')
    """
    if not quoted.strip() or not seen.strip():
        return Likeness.NONE
    if trimmed(quoted) == trimmed(seen):
        return Likeness.EXACT
    literals = [text for text in (quoted, seen) if is_literal(text)]
    forms = {ast.dump(parse_or_empty(text.strip())) for text in (quoted, seen)}
    if len(literals) == 2:
        one, other = (ast.literal_eval(text.strip()) for text in (quoted, seen))
        # Sets and dictionaries are equal in any order.
        equal = len(forms) == 1 or (isinstance(one, set | dict) and one == other)
        return Likeness.EXACT if equal else Likeness.NONE
    if literals and isinstance(ast.literal_eval(literals[0].strip()), str):
        return _is_text_of(literals[0], seen if literals[0] == quoted else quoted)
    one, other = squeezed(quoted), squeezed(seen)
    if one and one == other:
        # Of what is Python no other white space than that between its parts may differ.
        return Likeness.SQUEEZED if len(forms) == 1 or _NO_PYTHON in forms else Likeness.NONE
    if _BOLD.search(quoted) and not _BOLD.search(seen):
        return likeness(_BOLD.sub(r"\1", quoted), seen)
    return Likeness.NONE


def _is_text_of(literal: str, text: str) -> Likeness:
    """Say whether a string is what a text has, a newline that printing adds aside."""
    value = ast.literal_eval(literal.strip())
    return Likeness.EXACT if value in (text, text.removesuffix("\n")) else Likeness.NONE


def quoted_in(seen: str, text: str) -> Likeness:
    """Say how well `text` quotes `seen`: as a whole, or as some consecutive lines of it.

    A literal quotes nothing but its own value. What is short must stand alone on its line.
    """
    best = likeness(text, seen)
    if best is not Likeness.NONE or is_literal(text):
        return best
    key = squeezed(seen)
    alone = any(likeness(line, seen) for line in text.split("\n"))
    if alone or (len(key) >= 8 and key in squeezed(text)):
        return Likeness.SQUEEZED
    return Likeness.NONE


def is_same(stated: str, shown: str) -> bool:
    """Say whether a value that is stated is the one shown; of two literals that is known.

    >>> is_same("1", "'1'"), is_same("a-b", "'a-b'")
    (False, True)
    """
    return bool(quoted_in(stated, shown) or quoted_in(shown, stated))


def trimmed(text: str) -> str:
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
