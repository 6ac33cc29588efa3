"""Texts and identifiers → the terms by which code is found."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache

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


def terms_in(names: Iterable[str]) -> frozenset[str]:
    """Return the terms of some identifiers: each whole, its words, and what underscores part.

    >>> sorted(terms_in(["check_forB026"]))
    ['026', 'check', 'check_forb026', 'for', 'forb026']
    """
    return frozenset().union(*map(_terms_of_name, names))


@lru_cache(2**14)  # code has the same ones again and again
def _terms_of_name(name: str) -> frozenset[str]:
    lower = name.lower()
    words = {lower.strip("_"), *lower.split("_"), *split_identifier(name)}
    return frozenset(stem(word) for word in words if len(word) > 1)


def terms_of(*texts: str) -> frozenset[str]:
    """Return the terms of all identifiers and words in `texts`."""
    return terms_in({name for text in texts for name in IDENTIFIER.findall(text)})
