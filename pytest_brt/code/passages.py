"""A module → its passages: the stretches of code that are found by the terms in them.

A passage is a function with all that is defined inside of it, a class without its methods, or
what is left of the module. A line belongs to one passage only, so that what a method says is not
held to be said by its class as well.
"""

from __future__ import annotations

import keyword
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from pytest_brt.code.facts import DefinitionKind, LocalDefinition
from pytest_brt.code.words import Splitter

#: Where a term may stand: in the name, in the names around it and the path, in docstrings and
#: comments, in strings, in code.
FIELDS = ("name", "scope", "doc", "string", "body")

_DOC, _STRING, _COMMENT = 1, 2, 3
_LEXEME = re.compile(
    r'((?:[rbuRBU]{0,2})(?:"""(?:[^\\]|\\.)*?"""|\'\'\'(?:[^\\]|\\.)*?\'\'\'))'
    r'|([rbufRBUF]{0,2}(?:"(?:[^"\\\n]|\\.)*"|\'(?:[^\'\\\n]|\\.)*\'))'
    r"|(#[^\n]*)"
    r"|([^\W\d]\w*)",
    re.S,
)
_WORD = re.compile(r"[^\W\d]\w*")


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalPassage:
    """A passage as its own file tells it."""

    #: Place of its definition among those of the file; -1 for what is left of the module.
    definition: int
    #: By field.
    terms: Mapping[str, frozenset[str]]

    @property
    def size(self) -> int:
        """How many terms it has, wherever they stand."""
        return len(self.terms["doc"] | self.terms["string"] | self.terms["body"])


def read_passages(
    path: str, text: str, definitions: Sequence[LocalDefinition], splitter: Splitter
) -> Iterator[LocalPassage]:
    """Yield the passages of the file `path`, whose text and definitions are given."""
    lines = text.split("\n")
    around = _WORD.findall(path.removesuffix(".py"))
    for number, own in _lines_of(lines, definitions).items():
        qualname = definitions[number].qualname if number >= 0 else ""
        outer, _, name = qualname.rpartition(".")
        found = _read("\n".join(own))
        yield LocalPassage(
            definition=number,
            terms={
                "name": splitter.terms([name] if name else []),
                "scope": splitter.terms([*around, *_WORD.findall(outer)]),
                **{field: splitter.terms(names) for field, names in found.items()},
            },
        )


def _lines_of(lines: Sequence[str], definitions: Sequence[LocalDefinition]) -> dict[int, list[str]]:
    """Return the lines of each passage, by the place of its definition."""
    owners = [-1] * len(lines)
    # Outer definitions come first, so that the inner ones take their lines from them.
    order = sorted(range(len(definitions)), key=lambda n: _span(definitions[n]))
    end = 0
    found: dict[int, list[str]] = {-1: []}
    for number in order:
        one = definitions[number]
        if one.kind is DefinitionKind.VARIABLE or one.line <= end:
            continue  # the latter is inside of a function
        if one.kind is not DefinitionKind.CLASS:
            end = one.end_line
        found[number] = []
        last = min(one.end_line, len(lines))
        owners[one.line - 1 : last] = [number] * (last - one.line + 1)
    for owner, line in zip(owners, lines, strict=True):
        found[owner].append(line)
    return found


def _span(definition: LocalDefinition) -> tuple[int, int]:
    return definition.line, -definition.end_line


def _read(text: str) -> dict[str, set[str]]:
    """Return the words in docstrings and comments, in strings and in code.

    What code spells with a keyword is not about what the keyword means elsewhere: "import" in a
    report says nothing of the modules that import something.
    """
    found: dict[str, set[str]] = {"doc": set(), "string": set(), "body": set()}
    for match in _LEXEME.finditer(text):
        if match.lastindex in (_DOC, _COMMENT):
            found["doc"].update(_WORD.findall(match.group()))
        elif match.lastindex == _STRING:
            found["string"].update(_WORD.findall(match.group()))
        elif not keyword.iskeyword(match.group()):
            found["body"].add(match.group())
    return found
