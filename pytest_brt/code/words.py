"""Texts and identifiers → the words by which files are found."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable

_WORD = re.compile(r"[A-Za-z_][A-Za-z_0-9]+")
_PART = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
#: How often a word counts in one file: further uses say nothing new (BM25 saturates anyway).
_MOST_COUNTED = 6


def split_identifier(name: str) -> tuple[str, ...]:
    """Return the words of an identifier, lower case: split on camelCase, underscore, period.

    >>> split_identifier("HTTPServer.get_allByName2")
    ('http', 'server', 'get', 'all', 'by', 'name', '2')
    """
    return tuple(part.lower() for part in _PART.findall(name))


class WordCounter:
    """Counts the words of files; remembers how identifiers are split."""

    def __init__(self) -> None:
        self._parts: dict[str, tuple[str, ...]] = {}

    def words(self, text: str) -> str:
        """Return the words of `text` for a full-text index, each as often as it counts."""
        counts: Counter[str] = Counter()
        for name, times in Counter(_WORD.findall(text)).items():
            for word in self._of(name):
                counts[word] += times
        return " ".join(
            " ".join([word] * min(times, _MOST_COUNTED)) for word, times in counts.items()
        )

    def _of(self, name: str) -> tuple[str, ...]:
        known = self._parts.get(name)
        if known is None:
            whole = name.lower()
            parts = [part for part in split_identifier(name) if len(part) > 1]
            known = (whole,) if parts == [whole] else (whole, *parts)
            self._parts[name] = known
        return known


def words_of(texts: Iterable[str]) -> tuple[str, ...]:
    """Return the distinct words of `texts` in the form in which files are indexed."""
    counter = WordCounter()
    return tuple(dict.fromkeys(word for text in texts for word in counter.words(text).split()))
