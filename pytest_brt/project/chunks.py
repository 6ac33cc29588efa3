"""What a file is divided into for a search, and the terms of each part.

A chunk is a function, a class without its methods, or what is left of the module. A line belongs to
one chunk only, so that what a method says is not held to be said by its class as well.
"""

from __future__ import annotations

import keyword
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from pytest_brt.project.definitions import Definition, DefinitionKind
from pytest_brt.project.words import IDENTIFIER, terms_in


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
    """Yield the chunks of a file whose `definitions` are in order, with their terms.

    These are those of the name, of the names around it with the path, and of the text.
    """
    lines = text.split("\n")
    owners = [Chunk(path)] * len(lines)
    # Outer definitions come first, so that the inner ones take their lines from them.
    for one in definitions:
        if one.kind is not DefinitionKind.VARIABLE:
            chunk = Chunk(path, one.qualname, one.line, one.end_line)
            owners[one.line - 1 : one.end_line] = [chunk] * (one.end_line - one.line + 1)
    texts: dict[Chunk, set[str]] = {}
    for chunk, line in zip(owners, lines, strict=False):
        texts.setdefault(chunk, set()).update(IDENTIFIER.findall(line))
    for chunk, words in texts.items():
        *outer, name = chunk.function.split(".")
        around = [*outer, *IDENTIFIER.findall(path.removesuffix(".py"))]
        # "import" in a report means something else.
        fields = [name], around, words.difference(keyword.kwlist)
        yield chunk, [" ".join(terms_in(field)) for field in fields]
