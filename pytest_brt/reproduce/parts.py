"""The parts of a long file that have most to do with a report."""

from __future__ import annotations

import ast
import math
import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Self

from pytest_brt.code.words import split_identifier, words_of
from pytest_brt.reproduce.outline import Function, Least, Outline, one_gap
from pytest_brt.reproduce.slices import GAP, sliced
from pytest_brt.syntax import first_line, parse

#: Share of the room that functions shown in full may take; the rest is for first lines.
_FULL = 0.7
#: What a function that is suspected is worth beside any number of words, and how much less
#: each is worth than the one before it.
_SUSPECT, _LESS = 1000.0, 10.0
#: What a function is worth whose own name stands in the report, and what its words are worth
#: when that of its class does.
_NAMED, _OF_NAMED = 100.0, 2.0
#: What a literal of the report is worth, shared among the functions that have it.
_LITERAL = 60.0
#: From which worth on a function that is too long is shown in part, and in how much room.
_SLICED, _LEAST_SLICE = 10.0, 400
#: How much more room the likeliest function may take than is there for all of them.
_FIRST = 1.25
#: Characters that a function costs besides its own: the head of its class, gaps.
_AROUND = 25
#: Part of the room that the names of what is left out may take.
_NAMES = 10
#: A shorter name without an underscore may be a plain word.
_NAME = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class _Part:
    """A function or method of a file."""

    name: str
    text: str
    words: frozenset[str]
    #: Whole names in it.
    names: frozenset[str]
    node: Function


def parts_of(
    text: str,
    *,
    wanted: Collection[str],
    about: str,
    most: int,
    tests: bool,
    literals: Sequence[re.Pattern[str]] = (),
) -> str:
    """Return the parts of the module `text` that count, in at most about `most` characters.

    Functions in `wanted`, the likeliest first, those that `about` names or that have what it
    spells (`literals`), and those that share rare words with it are shown in full, or in part
    where they are too long. Of the others the first line is shown where there is room, of tests
    not even that; what is not there is said, by name as far as there is room.

    Raises:
        SyntaxError: `text` is not Python.
    """
    tree = parse(text)
    lines = text.split("\n")
    parts = list(_functions(tree.body, lines, ""))
    report = _Report.of(parts, wanted=wanted, about=about, literals=literals)
    ranked = sorted(parts, key=lambda part: (-report.worth(part), part.name))
    full, sliced_ = _chosen(ranked, report, lines, int(most * _FULL))
    if tests:
        full |= _used(parts, full, int(most * (1 - _FULL)))
    bodies = [*(p.text for p in parts if p.name in full), *("\n".join(t) for t in sliced_.values())]
    view = Outline(
        lines=lines,
        full=full,
        part=sliced_,
        named=frozenset(wanted) | report.named,
        used=frozenset(re.findall(r"\w+", "\n".join(bodies))),
        told=frozenset(_lines_with(text, literals)),
        tests=tests,
        least=Least.FIRST_LINES,
    )
    return _fitting(view, tree, [part.name for part in ranked], most)


def _fitting(view: Outline, tree: ast.Module, ranked: Sequence[str], most: int) -> str:
    """Return the largest view of a module that has at most `most` characters, or the smallest."""
    found = ""
    for least in Least:
        view = replace(view, least=least, left=[])
        shown = view.module(tree)
        left = set(view.left)
        if left:
            shown.append(_left_out([name for name in ranked if name in left], most // _NAMES))
        found = one_gap("\n".join(shown))
        if len(found) <= most:
            break
    return found


def _left_out(names: Sequence[str], room: int) -> str:
    """Return the line that says what is not shown, the likeliest names first."""
    told: list[str] = []
    for name in names:
        room -= len(name) + 2
        if room < 0:
            break
        told.append(name)
    end = ", …" if told and len(told) < len(names) else ""
    which = f": {', '.join(told)}{end}" if told else ""
    what = "function" if len(names) == 1 else "functions"
    return f"{GAP} and {len(names)} more {what}{which}"


def _lines_with(text: str, literals: Sequence[re.Pattern[str]]) -> Iterator[int]:
    for pattern in literals:
        for match in pattern.finditer(text):
            yield text.count("\n", 0, match.start()) + 1


def _named(about: str) -> frozenset[str]:
    """Return the names in a report that are hardly plain words."""
    found = frozenset(re.findall(r"[A-Za-z_]\w*", about))
    called = frozenset(re.findall(r"([A-Za-z_]\w*)\(", about))
    return frozenset(
        name
        for name in found
        if name in called or "_" in name.strip("_") or (name != name.lower() and len(name) >= _NAME)
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Report:
    """What a report says of the functions of one file."""

    words: frozenset[str]
    named: frozenset[str]
    literals: Sequence[re.Pattern[str]]
    #: Rank of what is suspected.
    ranks: Mapping[str, int]
    parts: int
    #: How many functions have a word, a name, or a literal.
    spread: Counter[str]
    using: Counter[str]
    having: Counter[str]

    @classmethod
    def of(
        cls,
        parts: Sequence[_Part],
        *,
        wanted: Collection[str],
        about: str,
        literals: Sequence[re.Pattern[str]],
    ) -> Self:
        named = _named(about)
        return cls(
            words=frozenset(words_of([about])),
            named=named,
            literals=literals,
            ranks=_ranks(parts, wanted),
            parts=len(parts),
            spread=Counter(word for part in parts for word in part.words),
            using=Counter(name for part in parts for name in part.names & named),
            having=Counter(
                one.pattern for part in parts for one in literals if one.search(part.text)
            ),
        )

    def worth(self, part: _Part) -> float:
        """Return how much a function has to do with the report."""
        near = self.common(part.text, part.words, part.names)
        near /= math.sqrt(10 + part.text.count("\n"))
        around, _, name = part.name.rpartition(".")
        if part.name in self.ranks:
            # Words never change the order of what is suspected.
            return _SUSPECT - _LESS * min(self.ranks[part.name], 50) + min(near, _LESS - 1)
        if around in self.ranks or self.named.intersection(around.split(".")):
            near *= _OF_NAMED
        spelled = (one for one in self.literals if one.search(part.text))
        literal = sum(_LITERAL / self.having[one.pattern] for one in spelled)
        return _NAMED * (name in self.named) + literal + near

    def common(self, text: str, words: Collection[str], names: Collection[str]) -> float:
        """Return what the words and names count that a text shares with the report."""
        common = sum(
            math.log(1 + self.parts / max(1, self.spread[word])) for word in self.words & set(words)
        )
        # That it uses what the report names says more than the same words apart.
        return common + sum(
            2 * math.log(1 + self.parts / max(1, self.using[name]))
            for name in self.named & set(names)
        )

    def line_worth(self, text: str) -> float:
        """Return how much a statement has to do with the report."""
        words = frozenset(split_identifier(text))
        names = frozenset(re.findall(r"[A-Za-z_]\w*", text))
        spelled = sum(_LITERAL for one in self.literals if one.search(text))
        return spelled + self.common(text, words, names) / math.sqrt(2 + text.count("\n"))


def _ranks(parts: Sequence[_Part], wanted: Collection[str]) -> dict[str, int]:
    """Return the ranks of what is suspected; what a function has inside counts for it."""
    own = {part.name for part in parts}
    ranks: dict[str, int] = {}
    for rank, name in enumerate(wanted):
        outer = name
        while outer not in own and "." in outer:
            outer = outer.rpartition(".")[0]
        ranks.setdefault(outer if outer in own else name, rank)
    return ranks


def _chosen(
    ranked: Sequence[_Part], report: _Report, lines: Sequence[str], room: int
) -> tuple[frozenset[str], dict[str, list[str]]]:
    """Return the names of the functions that are shown in full, and the lines of others."""
    found: set[str] = set()
    sliced_: dict[str, list[str]] = {}
    least = 0.0
    for part in ranked:
        worth, size = report.worth(part), len(part.text) + _AROUND
        if worth < least or worth <= 0:
            break
        first = part.name in report.ranks and not found and not sliced_
        if size <= room * (_FIRST if first else 1.0):
            found.add(part.name)
            room -= size
        elif room >= _LEAST_SLICE and (worth >= _SLICED or not found):
            some = room if first else room // 2
            shown = sliced(part.node, lines, report.line_worth, some - _AROUND)
            if shown:
                sliced_[part.name] = shown
                room -= len("\n".join(shown)) + _AROUND
        elif first:
            found.add(part.name)
            room -= size
        if part.name not in found and worth >= _NAMED:
            # Its first line says more than the whole of one that nothing speaks of.
            least = _SLICED if part.name in sliced_ else _NAMED
    return frozenset(found), sliced_


def _used(parts: Sequence[_Part], full: Collection[str], room: int) -> frozenset[str]:
    """Return the helpers and fixtures that the functions shown in full use."""
    text = "\n".join(part.text for part in parts if part.name in full)
    names = set(re.findall(r"\w+", text))
    found: set[str] = set()
    for part in parts:
        is_helper = part.name in names and not part.name.startswith("test")
        if is_helper and part.name not in full and len(part.text) <= room:
            found.add(part.name)
            room -= len(part.text)
    return frozenset(found)


def _functions(body: Sequence[ast.stmt], lines: Sequence[str], around: str) -> Iterator[_Part]:
    for node in body:
        if isinstance(node, Function):
            text = "\n".join(lines[first_line(node) - 1 : node.end_lineno])
            yield _Part(
                name=f"{around}{node.name}",
                text=text,
                words=frozenset(split_identifier(text)),
                names=frozenset(re.findall(r"[A-Za-z_]\w*", text)),
                node=node,
            )
        elif isinstance(node, ast.ClassDef):
            yield from _functions(node.body, lines, f"{around}{node.name}.")
