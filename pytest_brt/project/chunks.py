"""What a file is divided into for a search, and the terms of each part.

A chunk is a function, a class without its methods, or what is left of the module. A line belongs to
one chunk only, so that what a method says is not held to be said by its class as well.
"""

from __future__ import annotations

import keyword
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from pytest_brt.project.definitions import Definition, DefinitionKind
from pytest_brt.project.words import IDENTIFIER, terms_in

#: Where a term may stand, with how much it says there: in the name, in the names around it and the
#: path, in docstrings and comments, in strings, in code.
FIELDS: Mapping[str, float] = {
    "name": 3.0,
    "scope": 1.0,
    "doc": 0.25,
    "string": 1.5,
    "body": 1.0,
}
#: Keywords are left out: "import" in a report means something else.
_LEXEME = re.compile(
    r'(?P<doc>[rbuRBU]{0,2}(?:"""(?:[^\\]|\\.)*?"""|\'\'\'(?:[^\\]|\\.)*?\'\'\')|#[^\n]*)'
    r'|(?P<string>[rbufRBUF]{0,2}(?:"(?:[^"\\\n]|\\.)*"|\'(?:[^\'\\\n]|\\.)*\'))'
    rf"|(?P<body>\b(?!(?:{'|'.join(keyword.kwlist)})\b){IDENTIFIER.pattern})",
    re.S,
)


class Chunk(NamedTuple):
    """A stretch of code that is found by its terms."""

    path: str
    #: Qualified name of the function, or of the class that it is the rest of; "" for what is
    #: left of the module.
    function: str = ""
    #: 1-based, inclusive; (1, 0) for what is left of the module.
    line: int = 1
    end_line: int = 0


def read_chunks(
    path: str, text: str, definitions: Sequence[Definition]
) -> Iterator[tuple[Chunk, list[str]]]:
    """Yield the chunks of a file whose `definitions` are in order, with their terms by field."""
    lines = text.split("\n")
    owners = [Chunk(path)] * len(lines)
    # Outer definitions come first, so that the inner ones take their lines from them.
    for one in definitions:
        if one.kind is not DefinitionKind.VARIABLE:
            chunk = Chunk(path, one.qualname, one.line, one.end_line)
            owners[one.line - 1 : one.end_line] = [chunk] * (one.end_line - one.line + 1)
    texts: defaultdict[Chunk, list[str]] = defaultdict(list)
    for chunk, line in zip(owners, lines, strict=False):
        texts[chunk].append(line)
    for chunk, own in texts.items():
        *outer, name = chunk.function.split(".")
        around = {*IDENTIFIER.findall(path.removesuffix(".py")), *outer}
        words = defaultdict(set, name={name}, scope=around)
        for match in _LEXEME.finditer("\n".join(own)):
            words[match.lastgroup or ""].update(IDENTIFIER.findall(match.group()))
        yield chunk, [" ".join(terms_in(words[field])) for field in FIELDS]
