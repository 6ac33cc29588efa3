"""Finds definitions by words of their names and code, and calls by the name of what is called.

Of what is looked for, a whole identifier counts more than its parts, a name more than what stands
in a body, and words on one line more than words that are far apart. What has all of them comes
first.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from rapidfuzz import fuzz

from pytest_brt.code.entries import Definition
from pytest_brt.code.facts import DefinitionKind, LocalDefinition, read_facts
from pytest_brt.code.index import Index
from pytest_brt.code.layout import is_beside, is_test_path
from pytest_brt.code.relevance import files_about
from pytest_brt.code.words import IDENTIFIER, split_identifier, stem, terms_of
from pytest_brt.syntax import called_name, parse

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
#: Who says one of them looks for tests.
_TESTS = frozenset({"test", "tests"})


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
class _Query:
    """What is looked for, and what is known of its words in the whole project."""

    wanted: tuple[Sought, ...]
    #: How much each word says: the more, the fewer files have it.
    weights: Mapping[str, float]
    #: Words that no file has: what is almost alike is taken for them.
    unknown: frozenset[str]

    @property
    def words(self) -> tuple[str, ...]:
        return tuple(self.weights)

    def in_names(self, word: str, names: Iterable[str]) -> bool:
        """Say whether a word is one of some names."""
        known = tuple(names)
        if stem(word) in {stem(name) for name in known}:
            return True
        fuzzy = word in self.unknown and len(word) > _SHORTEST
        return fuzzy and any(fuzz.ratio(word, name) >= _ALIKE for name in known)


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
    for name in IDENTIFIER.findall(text):
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
    query = _query(wanted, index)
    others = frozenset(changed)
    hits: list[Found] = []
    for path in _files(query, index, others):
        text = read(path)
        known: Sequence[Definition | LocalDefinition]
        known = read_facts(text).definitions if path in others else index.definitions_in(path)
        hits += _in_file(path, text, known, query)
    if _TESTS.isdisjoint(query.words):
        hits = [_less(hit) if is_test_path(hit.path) else hit for hit in hits]
    hits.sort(key=_order)
    best = max((hit.score for hit in hits), default=0.0)
    return tuple(hit for hit in hits if hit.complete or hit.score >= _LEAST * best)[:limit]


def _less(hit: Found) -> Found:
    """Return a hit in a test, where tests are not what is looked for."""
    return replace(hit, score=hit.score * _IN_TEST, complete=False)


def _order(hit: Found) -> tuple[bool, float, str, int]:
    return not hit.complete, -hit.score, hit.path, hit.definition.line


def _query(wanted: Sequence[Sought], index: Index) -> _Query:
    total = len(index.layout.files)
    words = dict.fromkeys(word for one in wanted for word in one.words)
    files = {word: len(index.files_with(word)) for word in words}
    return _Query(
        wanted=tuple(wanted),
        weights={word: math.log(1 + total / (1 + count)) for word, count in files.items()},
        unknown=frozenset(word for word, count in files.items() if not count),
    )


def _files(query: _Query, index: Index, changed: frozenset[str]) -> Iterator[str]:
    terms = terms_of(*query.words)
    paths = [
        *files_about(terms, index, tests=False)[:_FILES],
        *files_about(terms, index, tests=True)[:_FILES],
    ]
    for one in query.wanted:
        whole = sorted(index.files_with(one.whole), key=lambda path: (is_test_path(path), path))
        paths += whole[:_OF_ONE]
    named = (path for path in sorted(index.layout.files) if _in_path(query, path))
    every = [*paths, *[path for path, _ in zip(named, range(_NAMED), strict=False)], *changed]
    yield from (
        path for path in dict.fromkeys(every) if path.endswith(".py") and not is_beside(path)
    )


def _in_path(query: _Query, path: str) -> list[str]:
    names = split_identifier(path.removesuffix(".py"))
    return [word for word in query.words if query.in_names(word, names)]


def _in_file(
    path: str,
    text: str,
    known: Sequence[Definition | LocalDefinition],
    query: _Query,
) -> Iterator[Found]:
    weights = query.weights
    lower = text.lower()
    here = [word for word in query.words if word in lower]
    lines = [frozenset(w for w in here if w in line) for line in lower.split("\n")] if here else []
    near = 0.5 * sum(weights[word] for word in _in_path(query, path))
    for one in known:
        own = [(number, lines[number - 1]) for number in _own(one, known) if number <= len(lines)]
        body = frozenset[str]().union(*(has for _, has in own))
        score, found, complete = _judged(one, body, query)
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
            score=score,
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
    query: _Query,
) -> tuple[float, tuple[str, ...], bool]:
    """Return the score of a definition, what it has of what is wanted, and whether it is all."""
    score = 0.0
    found: list[str] = []
    complete = True
    for item in query.wanted:
        worth = {word: _worth(word, one, body, query) * query.weights[word] for word in item.words}
        if worth[item.whole]:
            score += worth[item.whole]
            found.append(item.text)
            continue
        has = [part for part in item.parts if worth[part]]
        score += sum(worth[part] for part in has) * _PARTS
        found += has
        complete = complete and bool(has) and len(has) == len(item.parts)
    return score, tuple(dict.fromkeys(found)), complete


def _worth(
    word: str, one: Definition | LocalDefinition, body: frozenset[str], query: _Query
) -> float:
    if word == one.name.lower():
        return _EQUAL
    names = (*split_identifier(one.qualname), *one.qualname.lower().split("."))
    if query.in_names(word, names):
        return _NAME
    return _BODY if word in body else 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """A place where something of some name is called."""

    path: str
    line: int
    #: The source of the call, on one line.
    text: str
    #: Qualified name of the function around it, or "".
    caller: str


def find_calls(name: str, index: Index, *, path: str = "", limit: int = 200) -> tuple[Call, ...]:
    """Return the calls of anything called `name` (``name(…)``, ``x.name(…)``).

    Args:
        name: a simple name.
        index: knows which files have the word.
        path: only within this file.
        limit: how many at most; the product's come before the tests'.
    """
    files = [path] if path else sorted(index.files_with(name), key=lambda p: (is_test_path(p), p))
    found: list[Call] = []
    for file in files:
        found.extend(_calls_in(file, name, index))
        if len(found) >= limit:
            break
    return tuple(found[:limit])


def _calls_in(path: str, name: str, index: Index) -> list[Call]:
    try:
        text = index.source(path)
        if f"{name}(" not in text and f"{name} (" not in text:
            return []
        tree = parse(text)
    except (OSError, SyntaxError):
        return []
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and called_name(node) == name:
            around = index.definition_at(path, node.lineno)
            source = ast.get_source_segment(text, node) or ast.unparse(node)
            found.append(
                Call(
                    path=path,
                    line=node.lineno,
                    text=" ".join(source.split()),
                    caller=around.qualname if around else "",
                )
            )
    return sorted(found, key=lambda call: call.line)
