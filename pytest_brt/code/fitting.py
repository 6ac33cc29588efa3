"""Lines of a test that are too long, broken inside of brackets, one element a line."""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Iterator
from itertools import pairwise

from pytest_brt.pysource.parse import parse, parse_or_empty

#: Of a line: what the strictest of linters allows. A method may have four more.
WIDTH = 79
#: What brackets hold at least that are broken.
_LEAST = 20
#: From Python 3.12 on an f-string is taken apart, and older ones do not break it.
_F_STRING = re.compile(r"\b[rR]?[fF][rR]?[\"']")


def fitted(text: str) -> str:
    """Return a module whose long lines are broken, as far as its syntax tree stays the same."""
    tree = ast.dump(parse_or_empty(text))
    lines = text.split("\n")
    for at in reversed(range(len(lines))):
        tried = [*lines[:at], *broken_line(lines[at]), *lines[at + 1 :]]
        if len(tried) > len(lines) and _dumped("\n".join(tried)) == tree:
            lines = tried
    return "\n".join(lines)


def _dumped(text: str) -> str:
    try:
        return ast.dump(parse(text))
    except SyntaxError:
        return ""  # brackets of a comprehension, or of a string, were broken


def broken_line(line: str) -> list[str]:
    """Return a line of code in lines that fit, as far as it has brackets to break.

    >>> broken_line("assert f(1) == [" + "1234567, " * 10 + "]")[:2]
    ['assert f(1) == [', '    1234567,']
    """
    text = line.lstrip()
    margin = line[: len(line) - len(text)]
    if len(line) <= WIDTH or _F_STRING.search(line):
        return [line]
    lines, at, before = [], 0, margin
    for left, right in pairwise(_outside(text)):
        start, end = left.end[1], right.start[1]
        if left.string in ("(", "[", "{") and end - start > _LEAST:
            lines.append(before + text[at:start])
            for part in _elements(text[start:end]):
                lines += broken_line(f"{margin}    {part}")
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


#: Tokens that may go over several lines; Python 3.12 takes f-strings apart.
_TEXTS = frozenset({tokenize.STRING, getattr(tokenize, "FSTRING_MIDDLE", tokenize.STRING)})
_DEEPER = re.compile(r"^(?: {4})+")


def indented(source: str, margin: str = "    ") -> str:
    """Return statements one level deeper; lines that begin in a string stay as they are.

    What is deeper still goes by the same `margin`, where that of `source` is four blanks.
    """
    inside: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type in _TEXTS:
            inside.update(range(token.start[0] + 1, token.end[0] + 1))
    lines = source.split("\n")
    return "\n".join(
        line
        if number in inside or not line.strip()
        else margin + _DEEPER.sub(lambda blanks: (margin or "    ") * (len(blanks[0]) // 4), line)
        for number, line in enumerate(lines, 1)
    )
