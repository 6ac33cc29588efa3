"""What a file is divided into for a search, and the terms of each part.

A passage is a function with all that is defined inside of it, a class without its methods, or what
is left of the module. A line belongs to one passage only, so that what a method says is not held to
be said by its class as well.
"""

from __future__ import annotations

import keyword
import re
from collections.abc import Iterator, Mapping, Sequence

from pytest_brt.code.file_facts import Definition, DefinitionKind
from pytest_brt.code.words import IDENTIFIER, terms_in

#: Where a term may stand, with how much it says there: in the name, in the names around it and the
#: path, in docstrings and comments, in strings, in code.
FIELDS: Mapping[str, float] = {
    "name": 3.0,
    "scope": 1.0,
    "doc": 0.25,
    "string": 1.5,
    "body": 1.0,
}
_DOC, _STRING, _COMMENT = 1, 2, 3
_LEXEME = re.compile(
    r'((?:[rbuRBU]{0,2})(?:"""(?:[^\\]|\\.)*?"""|\'\'\'(?:[^\\]|\\.)*?\'\'\'))'
    r'|([rbufRBUF]{0,2}(?:"(?:[^"\\\n]|\\.)*"|\'(?:[^\'\\\n]|\\.)*\'))'
    r"|(#[^\n]*)"
    rf"|({IDENTIFIER.pattern})",
    re.S,
)


def read_passages(
    path: str, text: str, definitions: Sequence[Definition]
) -> Iterator[tuple[int, Mapping[str, frozenset[str]]]]:
    """Yield the passages of the file `path` with this `text`, whose `definitions` are in order.

    Each is told by the place of its definition among those of the file, -1 for what is left of
    the module, and by its terms in each field.
    """
    lines = text.split("\n")
    around = IDENTIFIER.findall(path.removesuffix(".py"))
    for number, own in _lines_of(lines, definitions).items():
        qualname = definitions[number].qualname if number >= 0 else ""
        outer, _, name = qualname.rpartition(".")
        words = _words_in("\n".join(own))
        words |= {"name": {name} - {""}, "scope": {*around, *IDENTIFIER.findall(outer)}}
        yield number, {field: terms_in(names) for field, names in words.items()}


def _lines_of(lines: Sequence[str], definitions: Sequence[Definition]) -> dict[int, list[str]]:
    owners = [-1] * len(lines)
    end = 0
    found: dict[int, list[str]] = {-1: []}
    # Outer definitions come first, so that the inner ones take their lines from them.
    for number, one in enumerate(definitions):
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


def _words_in(text: str) -> dict[str, set[str]]:
    """Return the words in docstrings and comments, in strings and in code.

    What code spells with a keyword is not about what the keyword means elsewhere: "import" in a
    report says nothing of the modules that import something.
    """
    found: dict[str, set[str]] = {"doc": set(), "string": set(), "body": set()}
    for match in _LEXEME.finditer(text):
        if match.lastindex in (_DOC, _COMMENT):
            found["doc"].update(IDENTIFIER.findall(match.group()))
        elif match.lastindex == _STRING:
            found["string"].update(IDENTIFIER.findall(match.group()))
        elif not keyword.iskeyword(match.group()):
            found["body"].add(match.group())
    return found
