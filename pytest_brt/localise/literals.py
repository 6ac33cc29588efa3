"""What a report spells as the source spells it: options, joined names, quoted texts, messages.

Such a literal says more than words that are alike, the more so the fewer places have it. Hyphen
and underscore count as the same: ``:some-option:`` in a report is ``some_option`` in the source.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import pairwise

from pytest_brt.code.facts import DefinitionKind
from pytest_brt.code.index import Index
from pytest_brt.code.layout import is_beside, is_product, is_test_path
from pytest_brt.types import BlockKind, Issue

#: A literal that more files of the product have says nothing, nor one that more test files have.
MOST_FILES, MOST_TEST_FILES = 8, 25
#: Literals that are looked for, and files that are read for each.
_MOST, _READ = 40, 60
#: How much less one plain word says than what is hardly there by chance.
_WORD = 0.5
_PLAIN = re.compile(r"[a-z]+")
_PROSE = (BlockKind.PROSE, BlockKind.HEADING)


class LiteralKind(StrEnum):
    """What is spelled."""

    #: ``--some-option``.
    OPTION = "option"
    #: Words joined by hyphens or underscores, or next to each other in the title.
    NAME = "name"
    #: A text between quotes, as a string of the source.
    QUOTED = "quoted"
    #: What an exception, a warning or a log says.
    MESSAGE = "message"


@dataclass(frozen=True, slots=True, kw_only=True)
class Literal:
    """Something that the report spells."""

    kind: LiteralKind
    #: As the report has it.
    text: str
    #: Finds it in a source.
    pattern: re.Pattern[str]
    #: Words that a file must have, as files are indexed; any of the groups will do.
    needs: tuple[tuple[str, ...], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Hits:
    """Where the files of a project have a literal."""

    literal: Literal
    #: Path and 1-based lines, in the order of paths.
    files: tuple[tuple[str, tuple[int, ...]], ...]

    @property
    def rarity(self) -> float:
        """How much it says that a file has it, in 0..1; a plain word may be there by chance."""
        plain = self.literal.kind is LiteralKind.QUOTED and _PLAIN.fullmatch(self.literal.text)
        share = 1 / len(self.files) if self.files else 0.0
        return share * _WORD if plain else share


_OPTION = re.compile(r"(?<![\w-])--([a-z][a-z0-9]*(?:[-_][a-z0-9]+)*)")
_CODE = re.compile(r"`+([^`\n]+)`+")
_QUOTED = re.compile(r"""(?<![\w'"])(?:"([^"\n]{3,80})"|'([^'\n]{3,80})')(?![\w'"])""")
_STRESSED = re.compile(r"(?<![\w*])(?:_([^_\n]{3,40})_|\*{1,2}([^*\n]{3,40})\*{1,2})(?![\w*])")
_JOINED = re.compile(r"[A-Za-z][A-Za-z0-9]+(?:_[A-Za-z0-9]+)+")
_HYPHENED = re.compile(r"(?<![\w-])[A-Za-z][A-Za-z0-9]+(?:-[A-Za-z0-9]+)+(?![\w-])")
_ROLE = re.compile(r"(?<!\w):([a-z][a-z0-9]+(?:[-_][a-z0-9]+)+):")
#: Of an exception or a log, or what a tool says of a line of a file; "in f" is a traceback's.
_SAID = re.compile(
    r"^[^\S\n]*(?:E\s+)?(?:[\w.]*(?:Error|Exception|Warning)|WARNING|ERROR"
    r"|[\w./\\-]+\.\w+:\d+(?::\d+)?):[^\S\n]*(?!in \S+$)(\S.+)$",
    re.M,
)
_TITLE_WORD = re.compile(r"[A-Za-z][a-z0-9]+")
#: What stands in a message for what differs from case to case.
_VARIES = re.compile(
    r"""'[^']*'|"[^"]*"|`[^`]*`|<[^>]*>|\d[\w.]*|[\w.]*[/\\][\w./\\]*|[{}%()\[\]]"""
)


def literals_of(issue: Issue) -> tuple[Literal, ...]:
    """Return what `issue` spells, the surest kinds first, each once."""
    prose = "\n".join(block.text for block in issue.blocks if block.kind in _PROSE)
    prose = f"{issue.title}\n{prose if issue.blocks else issue.text}"
    found: dict[str, Literal] = {}
    for literal in (
        *(_option(name) for name in _OPTION.findall(issue.text)),
        *_names(issue, prose),
        *(_message(text) for text in _fragments(issue.text)),
        *(_quoted(text) for text in _texts(prose)),
    ):
        found.setdefault(literal.text.lower(), literal)
    return tuple(found.values())[:_MOST]


def find_literal(literal: Literal, index: Index, *, tests: bool = False) -> Hits:
    """Return where the product (or the tests) has `literal`; nothing when too many files may."""
    paths: dict[str, None] = {}
    for words in literal.needs:
        sets = [frozenset(index.files_with(word)) for word in words]
        paths |= dict.fromkeys(sorted(frozenset.intersection(*sets)) if sets else ())
    found = [path for path in paths if is_test_path(path) is tests and not is_beside(path)]
    if len(found) > _READ:
        return Hits(literal=literal, files=())
    hits = ((path, _lines(literal, path, index)) for path in found)
    return Hits(literal=literal, files=tuple((path, lines) for path, lines in hits if lines))


def _lines(literal: Literal, path: str, index: Index) -> tuple[int, ...]:
    try:
        text = index.source(path)
    except OSError:
        return ()  # deleted since
    return lines_with(text, (literal,))


def lines_with(text: str, literals: Iterable[Literal]) -> tuple[int, ...]:
    """Return the 1-based lines of `text` that have one of `literals`."""
    found: set[int] = set()
    for literal in literals:
        for match in literal.pattern.finditer(text):
            found.add(text.count("\n", 0, match.start()) + 1)
    return tuple(sorted(found))


def _option(name: str) -> Literal:
    words = re.split(r"[-_]", name)
    inner = "[-_]?".join(map(re.escape, words))
    # The option itself, or the name that its value has in the code.
    bare = rf"|\b{inner}\b" if len(words) > 1 else ""
    return Literal(
        kind=LiteralKind.OPTION,
        text=f"--{name}",
        pattern=re.compile(rf"--{inner}(?![\w-]){bare}"),
        needs=(tuple(words), ("".join(words),)),
    )


def _names(issue: Issue, prose: str) -> Iterator[Literal]:
    """Yield names of several words; hyphens also stand in plain English, so only some count."""
    spelled = [*_ROLE.findall(issue.text), *_HYPHENED.findall(issue.title)]
    for inline in _CODE.findall(prose):
        spelled += _HYPHENED.findall(inline)
    spelled += _JOINED.findall(prose)
    for name in dict.fromkeys(spelled):
        yield _name(name, re.split(r"[-_]", name))
    words = _TITLE_WORD.findall(issue.title)
    for first, second in pairwise(words):
        apart = re.search(rf"\b{first} {second}\b", issue.title)
        if apart and min(len(first), len(second)) > 2:
            yield _name(f"{first} {second}", (first.lower(), second.lower()))


def _name(text: str, words: Sequence[str]) -> Literal:
    inner = "[-_]".join(map(re.escape, words))
    camel = "".join(word[:1].upper() + word[1:] for word in words)
    return Literal(
        kind=LiteralKind.NAME,
        text=text,
        pattern=re.compile(rf"(?<![A-Za-z0-9])(?:(?i:{inner})(?![A-Za-z0-9])|{camel})"),
        needs=(tuple(word.lower() for word in words if len(word) > 1),),
    )


def _texts(prose: str) -> Iterator[str]:
    for pattern in (_CODE, _QUOTED, _STRESSED):
        for match in pattern.finditer(prose):
            text = next(group for group in match.groups() if group).strip().strip("'\"")
            if len(text) > 2 and re.search(r"[A-Za-z]{3}", text):
                yield text


def _words(text: str) -> tuple[str, ...]:
    """Return the words that a file with `text` in it is indexed by."""
    return tuple(word.lower() for word in re.findall(r"[A-Za-z_][A-Za-z_0-9]+", text))


def _quoted(text: str) -> Literal:
    words = _words(text)
    return Literal(
        kind=LiteralKind.QUOTED,
        text=text,
        pattern=re.compile(rf"""(?<=['"]){re.escape(text)}(?=['"])"""),
        needs=(words,) if words else (),
    )


def _fragments(text: str) -> Iterator[str]:
    """Yield the longest part of each message that does not differ from case to case."""
    for said in _SAID.findall(text):
        parts = [part.strip(" .,:;!?-") for part in _VARIES.split(said)]
        longest = max(parts, key=len, default="")
        if len(longest) >= 10 and len(longest.split()) > 1:
            yield longest


def _message(text: str) -> Literal:
    return Literal(
        kind=LiteralKind.MESSAGE,
        text=text,
        # A text that is written over several lines has quotes in between.
        pattern=re.compile(r"""(?:\s|["']\s*["'])+""".join(map(re.escape, text.split()))),
        needs=(_words(text),),
    )


def find_literals(issue: Issue, index: Index, *, tests: bool = False) -> tuple[Hits, ...]:
    """Return where the product (or the tests) has what `issue` spells.

    What very many files have is left out, and so is what the product defines: that is found
    by its name.
    """
    most = MOST_TEST_FILES if tests else MOST_FILES
    new = (one for one in literals_of(issue) if not _is_defined(one.text, index))
    found = (find_literal(literal, index, tests=tests) for literal in new)
    return tuple(hits for hits in found if 0 < len(hits.files) <= most)


def _is_defined(name: str, index: Index) -> bool:
    return any(
        found.kind is not DefinitionKind.VARIABLE and is_product(found.path)
        for found in index.definitions(name)
    )
