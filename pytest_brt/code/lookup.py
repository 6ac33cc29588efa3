"""Finds definitions by words of their names and code: rare words say more than usual ones.

Of what is looked for, a whole identifier counts more than its parts, a name more than what stands
in a body, and words on one line more than words that are far apart. What has all of them comes
first.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from rapidfuzz import fuzz

from pytest_brt.code.facts import DefinitionKind, LocalDefinition, read_facts, split_identifier
from pytest_brt.code.index import Definition, Index
from pytest_brt.code.layout import is_beside, is_test_path

#: Parts of identifiers that are shorter are everywhere.
_SHORTEST = 3
#: Files that are looked into: by all words, by one whole identifier, and by their path.
_FILES, _OF_ONE, _NAMED = 40, 20, 20
#: Words that are at least so alike are taken for each other, in 0..100.
_ALIKE = 85.0
#: How much it says that a name is what is looked for, has it as a word, or a body has it.
_EQUAL, _NAME, _BODY = 4.0, 2.5, 1.0
#: How much less the parts of an identifier say, and what tests have.
_PARTS, _IN_TEST = 0.5, 0.5
#: What is left out: what scores so much less than the best.
_LEAST = 0.3

_IDENTIFIER = re.compile(r"[^\W\d]\w*")


@dataclass(frozen=True, slots=True, kw_only=True)
class Sought:
    """One identifier or word that is looked for."""

    #: As it was asked for.
    text: str
    #: Its parts, lower case; none when it has just one, or none that is long enough.
    parts: tuple[str, ...]

    @property
    def whole(self) -> str:
        """The identifier in lower case."""
        return self.text.lower()

    @property
    def words(self) -> tuple[str, ...]:
        """All that it can be found by."""
        return (self.whole, *self.parts)


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """A definition, and what of that which is looked for it has."""

    path: str
    definition: Definition | LocalDefinition
    words: tuple[str, ...]
    #: The line of the body that has most of it; 0 when only the name has any.
    line: int
    score: float
    #: Whether it has everything.
    complete: bool


def sought(text: str) -> tuple[Sought, ...]:
    """Return what `text` asks for, each once.

    >>> [one.words for one in sought("parseDate, the utils.to_text")]
    [('parsedate', 'parse', 'date'), ('the',), ('utils',), ('to_text', 'text')]
    """
    found: dict[str, Sought] = {}
    for name in _IDENTIFIER.findall(text):
        every = split_identifier(name)
        parts = tuple(dict.fromkeys(p for p in every if len(p) >= _SHORTEST and p != name.lower()))
        if len(name) >= _SHORTEST or parts:
            found.setdefault(name.lower(), Sought(text=name, parts=parts))
    return tuple(found.values())


def find_definitions(
    wanted: Sequence[Sought],
    index: Index,
    *,
    read: Callable[[str], str],
    changed: Iterable[str] = (),
    limit: int = 20,
) -> tuple[Found, ...]:
    """Return the definitions that have what is wanted, best first.

    Args:
        wanted: what to look for.
        index: of the project.
        read: gives the text of a file as it is now.
        changed: files that are other than the index knows them.
        limit: how many at most.
    """
    weights = _weights(wanted, index)
    others = frozenset(changed)
    hits: list[Found] = []
    for path in _files(wanted, index, others):
        text = read(path)
        known: Sequence[Definition | LocalDefinition]
        known = read_facts(text).definitions if path in others else index.definitions_in(path)
        hits += _in_file(path, text, known, wanted, weights)
    hits.sort(key=_order)
    best = max((hit.score for hit in hits), default=0.0)
    return tuple(hit for hit in hits if hit.complete or hit.score >= _LEAST * best)[:limit]


def _order(hit: Found) -> tuple[bool, float, str, int]:
    product = not is_test_path(hit.path)
    return not (hit.complete and product), -hit.score, hit.path, hit.definition.line


def _weights(wanted: Sequence[Sought], index: Index) -> Mapping[str, float]:
    """Return how much each word says: the more, the fewer files have it."""
    total = len(index.layout.files)
    words = {word for one in wanted for word in one.words}
    return {word: math.log(1 + total / (1 + len(index.files_with(word)))) for word in words}


def _files(wanted: Sequence[Sought], index: Index, changed: frozenset[str]) -> Iterator[str]:
    words = [word for one in wanted for word in one.words]
    # One or many: what no file has may well be there in the other form.
    words += [_other(word) for word in words if not index.files_with(word)]
    paths = [found.path for found in index.files_by_words(words, limit=_FILES)]
    for one in wanted:
        whole = sorted(index.files_with(one.whole), key=lambda path: (is_test_path(path), path))
        paths += whole[:_OF_ONE]
    named = (p for p in sorted(index.layout.files) if any(_in_path(word, p) for word in words))
    every = [*paths, *[path for path, _ in zip(named, range(_NAMED), strict=False)], *changed]
    yield from (
        path for path in dict.fromkeys(every) if path.endswith(".py") and not is_beside(path)
    )


def _other(word: str) -> str:
    return word.removesuffix("s") if word.endswith("s") else f"{word}s"


def _in_path(word: str, path: str) -> bool:
    return _alike(word, split_identifier(path.removesuffix(".py")))


def _in_file(
    path: str,
    text: str,
    known: Sequence[Definition | LocalDefinition],
    wanted: Sequence[Sought],
    weights: Mapping[str, float],
) -> Iterator[Found]:
    words = tuple(dict.fromkeys(word for one in wanted for word in one.words))
    lower = text.lower()
    here = [word for word in words if word in lower]
    lines = [frozenset(w for w in here if w in line) for line in lower.split("\n")] if here else []
    near = 0.5 * sum(weights[word] for word in words if _in_path(word, path))
    for one in known:
        own = [(number, lines[number - 1]) for number in _own(one, known) if number <= len(lines)]
        body = frozenset[str]().union(*(has for _, has in own))
        score, found, complete = _judged(one, body, wanted, weights)
        if not found:
            continue
        line, most = max(
            ((number, sum(weights[word] for word in has)) for number, has in own),
            key=lambda item: (item[1], -item[0]),
            default=(0, 0.0),
        )
        score += near + 0.5 * most
        yield Found(
            path=path,
            definition=one,
            words=found,
            line=line if most else 0,
            score=score * (_IN_TEST if is_test_path(path) else 1.0),
            complete=complete,
        )


def _own(
    one: Definition | LocalDefinition, known: Sequence[Definition | LocalDefinition]
) -> Iterator[int]:
    """Yield the lines of a definition; of a class without those of what it defines."""
    inner: set[int] = set()
    if one.kind is DefinitionKind.CLASS:
        for other in known:
            if other.qualname.startswith(f"{one.qualname}."):
                inner.update(range(other.line, other.end_line + 1))
    yield from (n for n in range(one.line, one.end_line + 1) if n not in inner)


def _judged(
    one: Definition | LocalDefinition,
    body: frozenset[str],
    wanted: Sequence[Sought],
    weights: Mapping[str, float],
) -> tuple[float, tuple[str, ...], bool]:
    """Return the score of a definition, what it has of what is wanted, and whether it is all."""
    score = 0.0
    found: list[str] = []
    complete = True
    names = split_identifier(one.qualname)
    for item in wanted:
        whole = _worth(item.whole, one, names, body) * weights[item.whole]
        if whole:
            score += whole
            found.append(item.text)
            continue
        worth = {p: _worth(p, one, names, body) * weights[p] * _PARTS for p in item.parts}
        has = [part for part in item.parts if worth[part]]
        score += sum(worth.values())
        found += has
        complete = complete and bool(has) and len(has) == len(item.parts)
    return score, tuple(dict.fromkeys(found)), complete


def _worth(
    word: str, one: Definition | LocalDefinition, names: Sequence[str], body: frozenset[str]
) -> float:
    if word == one.name.lower():
        return _EQUAL
    if _alike(word, names) or word in one.qualname.lower().split("."):
        return _NAME
    return _BODY if word in body else 0.0


def _alike(word: str, parts: Iterable[str]) -> bool:
    return any(
        word == part or (len(word) > 3 and fuzz.ratio(word, part) >= _ALIKE) for part in parts
    )
