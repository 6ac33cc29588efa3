"""The definitions that have what is looked for, as a model asks for it.

A whole identifier counts more than its parts, a name more than what stands in a body, and words on
one line more than words that are far apart. What has all of them comes first.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from pytest_brt.code.file_facts import Definition, DefinitionKind, read_facts
from pytest_brt.code.index import Index
from pytest_brt.code.layout import is_test_path
from pytest_brt.code.relevance import files_about
from pytest_brt.code.words import IDENTIFIER, split_identifier, stem, terms_of

#: Parts of identifiers that are shorter are everywhere.
_SHORTEST = 3
#: So many words are a sentence.
_SENTENCE = 6
#: What an identifier has and no English word: an underscore, a digit, a capital inside.
_NO_WORD = re.compile(r"[_\d]|[a-z][A-Z]")
#: Files of the product, and of the tests, that are looked into.
_FILES = 40
#: How much it says that a name is what is looked for, has it as a word, or a body has it.
_EQUAL, _NAME, _BODY = 4.0, 2.5, 1.0
#: How much less the parts of an identifier say, and what stands on one line.
_PARTS, _ON_A_LINE = 0.5, 0.5
#: Identifiers that are looked for, as they were asked for, each with its parts in lower case.
Wanted = Mapping[str, Sequence[str]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Hit:
    """A definition, and what of that which is looked for it has."""

    definition: Definition
    words: tuple[str, ...]
    #: The line of the body that has most of it; 0 when only the name has any.
    line: int
    score: float
    #: Whether it has everything.
    complete: bool


def wanted_in(text: str) -> Wanted:
    """Return what `text` asks for, each once; of a sentence its identifiers, if it has any.

    >>> wanted_in("parseDate, the utils.to_text")
    {'parseDate': ('parse', 'date'), 'the': (), 'utils': (), 'to_text': ('text',)}
    >>> wanted_in("Find the function that calls to_text for a date")
    {'to_text': ('text',)}
    """
    found: dict[str, tuple[str, ...]] = {}
    names = IDENTIFIER.findall(text)
    if len(names) >= _SENTENCE:
        names = [name for name in names if _NO_WORD.search(name)] or names
    for name in dict.fromkeys(names):
        every = dict.fromkeys(split_identifier(name))
        parts = tuple(p for p in every if len(p) >= _SHORTEST and p != name.lower())
        if len(name) >= _SHORTEST or parts:
            found[name] = parts
    return found


def find_definitions(
    wanted: Wanted,
    index: Index,
    *,
    read: Callable[[str], str],
    changed: Iterable[str] = (),
    limit: int = 20,
) -> dict[str, list[Hit]]:
    """Return the definitions that have what is wanted, best first, by their files.

    `read` gives the text of a file as it is now; `changed` are those that the index does not know.
    """
    others = frozenset(changed)
    weights = _weights(wanted, index)
    terms = terms_of(*weights)
    of_both = (files_about(terms, index, tests=tests)[:_FILES] for tests in (False, True))
    paths = dict.fromkeys([*(path for some in of_both for path in some), *sorted(others)])
    hits: list[tuple[str, Hit]] = []
    for path in paths:
        text = read(path)
        known = read_facts(text).definitions if path in others else index.definitions_in(path)
        hits += ((path, hit) for hit in _in_file(text, known, wanted, weights))
    asks_tests = not {"test", "tests"}.isdisjoint(weights)
    hits.sort(
        key=lambda hit: (
            not asks_tests and is_test_path(hit[0]),
            not hit[1].complete,
            -hit[1].score,
            hit[0],
            hit[1].definition.line,
        )
    )
    found: dict[str, list[Hit]] = {}
    for path, one in hits[:limit]:
        found.setdefault(path, []).append(one)
    return found


def _weights(wanted: Wanted, index: Index) -> dict[str, float]:
    total = len(index.layout.files)
    return {
        word: math.log(1 + total / (1 + len(index.files_with(word))))
        for name, parts in wanted.items()
        for word in (name.lower(), *parts)
    }


def _in_file(
    text: str, known: Sequence[Definition], wanted: Wanted, weights: Mapping[str, float]
) -> Iterator[Hit]:
    lower = text.lower()
    here = [word for word in weights if word in lower]
    lines = [[word for word in here if word in line] for line in lower.split("\n")] if here else []
    for one in known:
        own = {number: lines[number - 1] for number in _own(one, known) if number <= len(lines)}
        body = {word for has in own.values() for word in has}
        score, found, complete = _judged(one, body, wanted, weights)
        on = {number: sum(weights[word] for word in has) for number, has in own.items() if has}
        line = max(on, key=lambda number: (on[number], -number), default=0)
        if found:
            score += _ON_A_LINE * on.get(line, 0.0)
            yield Hit(definition=one, words=found, line=line, score=score, complete=complete)


def _own(one: Definition, known: Sequence[Definition]) -> Iterator[int]:
    """Yield the lines of a definition; of a class without those of what it defines."""
    inner: set[int] = set()
    if one.kind is DefinitionKind.CLASS:
        for other in known:
            if other.qualname.startswith(f"{one.qualname}."):
                inner.update(range(other.line, other.end_line + 1))
    yield from (n for n in range(one.line, one.end_line + 1) if n not in inner)


def _judged(
    one: Definition, body: set[str], wanted: Wanted, weights: Mapping[str, float]
) -> tuple[float, tuple[str, ...], bool]:
    """Return the score of a definition, what it has of what is wanted, and whether it is all."""
    names = {*split_identifier(one.qualname), *one.qualname.lower().split(".")}
    stems = {stem(name) for name in names}

    def worth(word: str) -> float:
        if word == one.name.lower():
            return _EQUAL * weights[word]
        return weights[word] * (_NAME if stem(word) in stems else _BODY * (word in body))

    score = 0.0
    found: list[str] = []
    complete = True
    for name, parts in wanted.items():
        whole = worth(name.lower())
        has = [part for part in parts if not whole and worth(part)]
        score += whole or sum(map(worth, has)) * _PARTS
        found += [name] if whole else has
        complete = complete and bool(whole or (parts and len(has) == len(parts)))
    return score, tuple(dict.fromkeys(found)), complete
