"""Texts and identifiers → the terms by which code is found, and the chunks that it is divided into.

A chunk is a function, a class without its methods, or what is left of the module. A line belongs to
one chunk only, so that what a method says is not held to be said by its class as well.
"""

from __future__ import annotations

import keyword
import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple

from pytest_brt.project.definitions import Definition

#: A name, a number, a short string.
TOKEN = re.compile(r"""[^\W\d]\w*|\d[\w.]*|'[^'\n]*'|"[^"\n]*\"""")
#: An identifier, or a word.
IDENTIFIER = re.compile(r"[^\W\d]\w*")
_PART = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
#: The usual endings of English, with what stands in their place, one after the other.
_ENDINGS = (
    (re.compile(r"(?<=\w\w)ies$"), "y"),
    (re.compile(r"(?<=ss)es$|(?<=\w\w[^su])s$"), ""),
    (re.compile(r"(?<=\w{4})(?:ing|ed)$"), ""),
    (re.compile(r"(?<=\w{4})e$"), ""),
)


def split_identifier(name: str) -> tuple[str, ...]:
    """Return the words of an identifier, lower case: split on camelCase, underscore, period.

    >>> split_identifier("HTTPServer.get_allByName2")
    ('http', 'server', 'get', 'all', 'by', 'name', '2')
    """
    return tuple(part.lower() for part in _PART.findall(name))


def stem(word: str) -> str:
    """Return `word`, in lower case, without the usual endings of English.

    >>> [stem(word) for word in ("classes", "properties", "rendering", "rendered", "use", "css")]
    ['class', 'property', 'render', 'render', 'use', 'css']
    """
    for ending, instead in _ENDINGS:
        word = ending.sub(instead, word)
    return word


def terms_of(*texts: str) -> frozenset[str]:
    """Return the terms of all identifiers and words in `texts`.

    Of each these are the whole, its words, and what underscores part.

    >>> sorted(terms_of("check_forB026()"))
    ['026', 'check', 'check_forb026', 'for', 'forb026']
    """
    names = {name for text in texts for name in IDENTIFIER.findall(text)}
    return frozenset().union(*map(_terms_of_name, names))


@lru_cache(2**14)  # code has the same ones again and again
def _terms_of_name(name: str) -> frozenset[str]:
    lower = name.lower()
    words = {lower.strip("_"), *lower.split("_"), *split_identifier(name)}
    return frozenset(stem(word) for word in words if len(word) > 1)


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
        if not one.is_variable:
            chunk = Chunk(path, one.qualname, one.line, one.end_line)
            owners[one.line - 1 : one.end_line] = [chunk] * (one.end_line - one.line + 1)
    texts: dict[Chunk, set[str]] = {}
    for chunk, line in zip(owners, lines, strict=False):
        texts.setdefault(chunk, set()).update(IDENTIFIER.findall(line))
    for chunk, words in texts.items():
        around, _, name = chunk.function.rpartition(".")
        # "import" in a report means something else.
        own = words.difference(keyword.kwlist)
        fields = terms_of(name), terms_of(around, path.removesuffix(".py")), terms_of(*own)
        yield chunk, [" ".join(terms) for terms in fields]
