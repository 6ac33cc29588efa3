"""What a model searches a project for: definitions by words, and calls by a name."""

from __future__ import annotations

import ast
from dataclasses import dataclass

from pytest_brt.project.index import Index
from pytest_brt.project.layout import is_test_path
from pytest_brt.project.words import IDENTIFIER, split_identifier, terms_of
from pytest_brt.pysource.parse import called_name, tree_of

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


@dataclass(frozen=True, slots=True, kw_only=True)
class Hit:
    """A function, class or module that has what is looked for."""

    path: str
    #: Qualified name, "" for the module.
    name: str
    line: int
    #: Terms that it has.
    words: tuple[str, ...]


def find_definitions(text: str, index: Index, *, limit: int = 20) -> tuple[Hit, ...]:
    """Return what has the words of a text, that which has most of them first, then tests."""
    terms = terms_of(*identifiers_in(text))
    hits: list[tuple[int, float, Hit]] = []
    for tests in (False, True):
        found = index.relevance(dict.fromkeys(terms, 1.0), tests=tests)
        every = index.other_chunks if tests else index.chunks
        for number, score in found.chunks.items():
            chunk, words = every[number], found.reasons(number, len(terms))
            hit = Hit(path=chunk.path, name=chunk.function, line=chunk.line, words=words)
            hits.append((len(words) - len(terms) * tests, score, hit))
    hits.sort(key=lambda item: item[:2], reverse=True)
    return tuple(hit for *_, hit in hits[:limit])


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
    """Return the calls of anything called `name`: ``name(…)``, ``x.name(…)``.

    With `path` only those in this file; the product's come before the tests'.
    """
    files = [path] if path else sorted(index.layout.files, key=lambda p: (is_test_path(p), p))
    found: list[Call] = []
    for file in files:
        found.extend(_calls_in(file, name, index))
        if len(found) >= limit:
            break
    return tuple(found[:limit])


def _calls_in(path: str, name: str, index: Index) -> list[Call]:
    try:
        text = index.source(path)
        nodes = list(ast.walk(tree_of(text))) if f"{name}(" in text else []
    except (OSError, SyntaxError):
        return []
    calls = [n for n in nodes if isinstance(n, ast.Call) and called_name(n) == name]
    found = []
    for node in sorted(calls, key=lambda node: node.lineno):
        around = index.definition_at(path, node.lineno)
        source = ast.get_source_segment(text, node) or ast.unparse(node)
        caller = around.qualname if around else ""
        line = " ".join(source.split())
        found.append(Call(path=path, line=node.lineno, text=line, caller=caller))
    return found
