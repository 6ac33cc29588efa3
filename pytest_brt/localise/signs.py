"""What points at a place beside the words that it shares with a report.

Tracebacks, files that the report names, and what its code does: which functions it ran on this
tree, and which definitions it names, each class with its bases.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from pytest_brt.code.file_facts import Definition, DefinitionKind, Passage
from pytest_brt.code.index import Index
from pytest_brt.code.layout import is_product, is_test_path
from pytest_brt.code.words import IDENTIFIER, split_identifier, stem
from pytest_brt.issue.tracebacks import read_tracebacks
from pytest_brt.types import BlockKind, Clue, Frame, Issue
from pytest_brt.types.clue import (
    BaseOfUsed,
    CalledWrongly,
    FileNamed,
    LacksMethod,
    OnTraceback,
    RunByReport,
    SpokenOf,
    UsedByReport,
)

#: What it is worth that a traceback ends here, that the report names the file, that its code names
#: the definition or what that is derived from: this is enough for a place among the suspects.
_TRACEBACK, _NAMED_FILE, _USED, _BASE = 2.0, 0.3, 0.05, 0.5
#: What it is worth, for each weight of a word in the report, that it speaks of the module or the
#: class around the place.
_MODULE, _CLASS = 0.1, 0.05
#: What it is worth that the report's code ran it, where it ran no more than so many functions: the
#: more there are, the less it says of each.
_RAN, _FEW = 0.5, 40
#: What it is worth that Python says that it was called with the wrong arguments.
_MISCALLED = 1.0
#: How much less each frame says than the one below it.
_FRAME_DECAY = 0.75
#: What it is worth that a class lacks the method for a class that the report's code names, where it
#: has one for so many others.
_LACKS, _FAMILY = 0.3, 5
#: A name that so many definitions share says of none of them that it is meant.
_SHARED = 3

#: A function, as its path and qualified name.
Key = tuple[str, str]


class Sign(NamedTuple):
    """What points at a place, and how much."""

    score: float
    clue: Clue
    #: Of the place, those that it points at.
    lines: tuple[int, ...] = ()


def signs_of_report(
    issue: Issue,
    query: Mapping[str, float],
    index: Index,
    having: Collection[int],
    ran: Collection[Key],
) -> Mapping[int, list[Sign]]:
    """Return what a report has that points at each passage, by its number.

    Those `having` terms of `query`, the report's, may be in a file that it names, or in a module
    or class that it speaks of; `ran` are the functions that the report's code ran.
    """
    found: defaultdict[int, list[Sign]] = defaultdict(list)
    named = _named_files(issue.text, index)
    share = _RAN * min(1.0, (_FEW / max(len(ran), 1)) ** 0.5)
    meant = _meant_by_code(issue, index)
    used = dict([*_lacking(meant, query, index), *_used(meant, index)])
    for number, passage in index.passages.items():
        key = (passage.path, passage.function)
        if number in having:
            if passage.path in named:
                found[number].append(Sign(_NAMED_FILE, named[passage.path]))
            found[number] += _spoken_of(passage, query, index)
        if key in ran:
            found[number].append(Sign(share, RunByReport()))
        if key in used:
            found[number].append(used[key])
    for number, sign in (*_traced(issue.text, index).items(), *miscalled(issue.text, index)):
        found[number].append(sign)
    return found


def _spoken_of(passage: Passage, query: Mapping[str, float], index: Index) -> Iterator[Sign]:
    """Yield the module and the class around a passage, as far as the report speaks of them."""
    *above, module = index.layout.module_of(passage.path).split(".")
    if above and (weight := _weight_of(module, query)):  # the project itself is always spoken of
        yield Sign(_MODULE * weight, SpokenOf(name=module))
    classes = passage.function.split(".")[:-1]
    best = max(classes, key=lambda name: _weight_of(name, query), default="")
    if weight := _weight_of(best, query):
        yield Sign(_CLASS * weight, SpokenOf(name=best))


def _weight_of(name: str, query: Mapping[str, float]) -> float:
    """Return what a name weighs in a report: as a whole, or its word that weighs least."""
    words = [stem(word) for word in split_identifier(name) if len(word) > 1]
    parts = min((query.get(word, 0.0) for word in words), default=0.0)
    return max(parts, query.get(stem(name.lower().strip("_")), 0.0))


def _lacking(
    used: Sequence[Definition], query: Mapping[str, float], index: Index
) -> Iterator[tuple[Key, Sign]]:
    """Yield the classes that have a method for each of many classes, but for none of those `used`.

    A printer is one: `_print_Add`, `_print_Mul` and so on. Only modules are looked at that the
    report speaks of.
    """
    classes = {one.name for one in used if one.kind is DefinitionKind.CLASS}
    for path in filter(is_product, index.layout.files if classes else ()):
        if not _weight_of(index.layout.module_of(path).rpartition(".")[2], query):
            continue
        for (around, prefix), has in _families(path, index).items():
            for name in sorted(classes - has):
                others = sorted({d.path for d in index.definitions(f"{prefix}{name}")})
                clue = LacksMethod(name=f"{prefix}{name}", defined_in=tuple(others[:_SHARED]))
                yield (path, around), Sign(_LACKS, clue)


def _families(path: str, index: Index) -> dict[tuple[str, str], set[str]]:
    """Return the names of classes that methods of a file end in, by their class and beginning."""
    found: defaultdict[tuple[str, str], set[str]] = defaultdict(set)
    for definition in index.definitions_in(path):
        around, _, method = definition.qualname.rpartition(".")
        prefix, line, about = method.rpartition("_")
        is_method = definition.kind is DefinitionKind.METHOD and about[:1].isupper()
        if is_method and any(d.kind is DefinitionKind.CLASS for d in index.definitions(about)):
            found[around, prefix + line].add(about)
    return {family: about for family, about in found.items() if len(about) >= _FAMILY}


def _meant_by_code(issue: Issue, index: Index) -> list[Definition]:
    """Return the functions and classes that the code of a report names."""
    shown = [b.text for b in issue.blocks if b.kind in (BlockKind.PYTHON, BlockKind.REPL)]
    names = dict.fromkeys(name for text in shown for name in IDENTIFIER.findall(text))
    return [one for name in names for one in _meant(name, index)]


def _used(used: Sequence[Definition], index: Index) -> Iterator[tuple[Key, Sign]]:
    """Yield the bases of classes that the report's code names, and then what it names itself."""
    for one in used:
        for base in _bases(one, index):
            yield (base.path, base.qualname), Sign(_BASE, BaseOfUsed(name=one.name))
    for one in used:
        yield (one.path, one.qualname), Sign(_USED, UsedByReport(name=one.name))


def _meant(name: str, index: Index) -> list[Definition]:
    """Return the functions and classes of the product that `name` stands for, if they are few."""
    found = [
        definition
        for definition in index.definitions(name)
        if definition.top
        and definition.kind is not DefinitionKind.VARIABLE
        and is_product(definition.path)
    ]
    return found if len(found) < _SHARED else []


def _bases(one: Definition, index: Index) -> Iterator[Definition]:
    """Yield the classes of the product that a class is derived from, not those of its bases."""
    if one.kind is DefinitionKind.CLASS:
        for name in IDENTIFIER.findall(one.signature):
            yield from (d for d in _meant(name, index) if d.kind is DefinitionKind.CLASS)


def _traced(text: str, index: Index) -> dict[int, Sign]:
    """Return the passages on the tracebacks of a report, the deepest scoring most."""
    found: dict[int, Sign] = {}
    for raised in read_tracebacks(text):
        frames = [f for f in (_placed(f, index) for f in raised.frames) if f.project]
        for depth, frame in enumerate(reversed(frames)):
            number = _passage_of(frame, index)
            score = _TRACEBACK * _FRAME_DECAY**depth
            if number is not None and (number not in found or found[number].score < score):
                clue = OnTraceback(function=frame.function, depth=depth)
                found[number] = Sign(score, clue)
    return found


def _placed(frame: Frame, index: Index) -> Frame:
    """Return a frame with the project's own path, if it lies in a file of the project.

    Files are renamed more often than functions: one that is not there by that name any more is
    the one file that defines the function.
    """
    path = index.paths.find(frame.path)
    if path:
        return replace(frame, path=path, project=not is_test_path(path))
    folders = set(frame.path.split("/")[:-1])
    if is_test_path(frame.path) or folders.isdisjoint(index.packages):
        return frame
    found = {
        definition.path
        for definition in index.definitions(frame.function)
        if definition.kind is not DefinitionKind.VARIABLE and is_product(definition.path)
    }
    return replace(frame, path=found.pop(), project=True) if len(found) == 1 else frame


def _passage_of(frame: Frame, index: Index) -> int | None:
    """Return the number of the passage of a frame's function; lines move, names stay."""
    named = [d.line for d in index.definitions_in(frame.path) if d.name == frame.function]
    line = min(named, key=lambda line: abs(line - frame.line), default=frame.line)
    return index.passage_at(frame.path, line) if named or frame.function.startswith("<") else None


#: What Python says of a call that does not fit the function.
_CALL = re.compile(
    r"\b([A-Za-z_][\w.]*)\(\) "
    r"(?:takes (?:no|from|exactly|at most|at least|\d)|missing \d|got an unexpected|got multiple)"
)


def miscalled(text: str, index: Index) -> Iterator[tuple[int, Sign]]:
    """Yield the numbers of the functions of which a text says so, if the names are not usual."""
    for name in dict.fromkeys(_CALL.findall(text)):
        found = [d for d in index.definitions(name) if is_product(d.path)]
        for one in found if len(found) < _SHARED else ():
            number = index.passage_at(one.path, one.line)
            if number is not None:
                yield number, Sign(_MISCALLED, CalledWrongly(name=name))


_PATH = re.compile(r"[\w./\\-]+\.py\b")
_DOTTED = re.compile(r"(?<![\w.])[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+")


def _named_files(text: str, index: Index) -> dict[str, FileNamed]:
    """Return the files that the text names by path or as a dotted module."""
    frames = {frame.path for raised in read_tracebacks(text) for frame in raised.frames}
    paths = [name for name in _PATH.findall(text) if name not in frames]
    found = {index.paths.find(name): FileNamed(name=name, is_module=False) for name in paths}
    for name in _DOTTED.findall(text):
        path = index.layout.path_of(name)
        if path and not path.endswith("__init__.py"):
            found[path] = FileNamed(name=name, is_module=True)
    return {path: named for path, named in found.items() if path}
