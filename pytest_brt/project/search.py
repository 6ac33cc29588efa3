"""What a model searches a project for: definitions by words."""

from __future__ import annotations

from pytest_brt.project.chunks import Chunk
from pytest_brt.project.index import Index
from pytest_brt.project.words import IDENTIFIER, split_identifier, terms_of

#: So many words are a sentence.
_SENTENCE = 6


def identifiers_in(text: str) -> tuple[str, ...]:
    """Return the words of a text, each once; of a sentence its identifiers, if it has any.

    >>> identifiers_in("parseDate, the utils.to_text")
    ('parseDate', 'the', 'utils', 'to_text')
    >>> identifiers_in("Find the function that calls to_text for a date")
    ('to_text',)
    """
    names = tuple(name for name in dict.fromkeys(IDENTIFIER.findall(text)) if len(name) > 1)
    if len(names) < _SENTENCE:
        return names
    return tuple(name for name in names if len(split_identifier(name)) > 1) or names


def search_definitions(
    text: str, index: Index, *, limit: int = 20
) -> tuple[tuple[Chunk, tuple[str, ...]], ...]:
    """Return what has the words of a text, with these: most of them first, tests last."""
    terms = terms_of(*identifiers_in(text))
    hits: list[tuple[int, float, Chunk, tuple[str, ...]]] = []
    for tests in (False, True):
        found = index.relevance(dict.fromkeys(terms, 1.0), tests=tests)
        for chunk, score in found.chunks.items():
            words = found.reasons(chunk, len(terms))
            hits.append((len(words) - len(terms) * tests, score, chunk, words))
    hits.sort(reverse=True)
    return tuple((chunk, words) for *_, chunk, words in hits[:limit])
