"""Lines of a test that are too long, broken inside of brackets, one element a line."""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Iterator
from itertools import pairwise

from pytest_brt.edit.source_text import WIDTH
from pytest_brt.pysource.parse import parse, parse_or_empty

#: What brackets hold at least that are broken.
_LEAST = 20
#: From Python 3.12 on an f-string is taken apart, and older ones do not break it.
_F_STRING = re.compile(r"\b[rR]?[fF][rR]?[\"']")


def fitted(text: str, width: int = WIDTH) -> str:
    """Return a module in lines of a width, as far as its syntax tree stays the same."""
    tree = ast.dump(parse_or_empty(text))
    lines = text.split("\n")
    for at in reversed(range(len(lines))):
        tried = [*lines[:at], *broken_line(lines[at], width), *lines[at + 1 :]]
        if len(tried) > len(lines) and _dumped("\n".join(tried)) == tree:
            lines = tried
    return "\n".join(lines)


def _dumped(text: str) -> str:
    try:
        return ast.dump(parse(text))
    except SyntaxError:
        return ""  # brackets of a comprehension, or of a string, were broken


def broken_line(line: str, width: int = WIDTH) -> list[str]:
    """Return a line of code in lines that fit, as far as it has brackets to break.

    >>> broken_line("assert f(1) == [" + "1234567, " * 10 + "]")[:2]
    ['assert f(1) == [', '    1234567,']
    """
    text = line.lstrip()
    margin = line[: len(line) - len(text)]
    if len(line) <= width or _F_STRING.search(line):
        return [line]
    lines, at, before = [], 0, margin
    for left, right in pairwise(_outside(text)):
        start, end = left.end[1], right.start[1]
        if left.string in ("(", "[", "{") and end - start > _LEAST:
            lines.append(before + text[at:start])
            for part in _elements(text[start:end]):
                lines += broken_line(f"{margin}    {part}", width)
            at, before = end, margin
    return [*lines, before + text[at:]]


def _outside(text: str) -> Iterator[tokenize.TokenInfo]:
    """Yield the tokens of a line that are in no brackets, and the outer brackets."""
    depth = 0
    try:
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            depth -= token.string in (")", "]", "}")
            if not depth:
                yield token
            depth += token.string in ("(", "[", "{")
    except (SyntaxError, tokenize.TokenError):
        return  # a part of a statement, or of a string


def _elements(text: str) -> list[str]:
    """Return what stands between brackets, split at its commas."""
    ends = [token.end[1] for token in _outside(text) if token.string == ","]
    parts = [text[at:end].strip() for at, end in pairwise([0, *ends, len(text)])]
    return [part if part.endswith(",") or not ends else f"{part}," for part in parts if part]
