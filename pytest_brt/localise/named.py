"""Places that a report has names for, and those that these names lead to."""

from __future__ import annotations

import textwrap
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice

from pytest_brt.code.file_facts import Definition, DefinitionKind
from pytest_brt.code.index import Index
from pytest_brt.code.layout import is_product
from pytest_brt.code.words import IDENTIFIER
from pytest_brt.localise.query import names_in_sentences, weight_of
from pytest_brt.localise.sign import Key, Sign
from pytest_brt.syntax.parse import called_names, parse_or_empty
from pytest_brt.types import BlockKind, Issue
from pytest_brt.types.clue import BaseOfUsed, CalledByNamed, LacksMethod, UsedByReport

#: What it is worth that the report's code names the definition, or what that is derived from, and
#: that it is called by what the report's sentences name.
_USED, _BASE, _CALLED = 0.05, 0.5, 0.3
#: What it is worth that a class lacks the method for a class that the report's code names, where it
#: has one for so many others.
_LACKS, _FAMILY = 0.3, 5
#: A name that so many definitions share says of none of them that it is meant.
_SHARED = 3
#: Functions that a report names and whose code is read.
_CALLERS = 40


def signs_of_names(
    issue: Issue, query: Mapping[str, float], index: Index
) -> Mapping[Key, list[Sign]]:
    """Return the functions and classes that a report has names for, or leads to by names."""
    found: defaultdict[Key, list[Sign]] = defaultdict(list)
    used = _of_code(issue, index)
    for key, sign in (*_lacking(used, query, index), *_called(issue, index), *_used(used, index)):
        found[key].append(sign)
    return found


def meant(name: str, index: Index, *, top: bool = False) -> list[Definition]:
    """Return the functions and classes of the product that a name stands for, if they are few.

    With `top` only those of modules are looked at, and no methods.
    """
    found = [
        one
        for one in index.definitions(name)
        if one.kind is not DefinitionKind.VARIABLE and is_product(one.path)
        if one.top or not top
    ]
    return found if len(found) < _SHARED else []


def _of_code(issue: Issue, index: Index) -> list[Definition]:
    """Return the functions and classes that the code of a report names."""
    shown = [b.text for b in issue.blocks if b.kind in (BlockKind.PYTHON, BlockKind.REPL)]
    names = dict.fromkeys(name for text in shown for name in IDENTIFIER.findall(text))
    return [one for name in names for one in meant(name, index, top=True)]


def _used(used: Sequence[Definition], index: Index) -> Iterator[tuple[Key, Sign]]:
    """Yield what the report's code names, each class with its bases."""
    for one in used:
        yield (one.path, one.qualname), Sign(_USED, UsedByReport(name=one.name))
        for base in _bases(one, index):
            yield (base.path, base.qualname), Sign(_BASE, BaseOfUsed(name=one.name))


def _bases(one: Definition, index: Index) -> Iterator[Definition]:
    """Yield the classes of the product that a class is derived from, not those of its bases."""
    if one.kind is DefinitionKind.CLASS:
        for name in IDENTIFIER.findall(one.signature):
            yield from (d for d in meant(name, index, top=True) if d.kind is DefinitionKind.CLASS)


def _called(issue: Issue, index: Index) -> Iterator[tuple[Key, Sign]]:
    """Yield what the functions call that the report's sentences name, each once."""
    found: dict[Key, Sign] = {}
    every = ((name, one) for name in names_in_sentences(issue) for one in meant(name, index))
    callers = ((name, one) for name, one in every if one.kind is not DefinitionKind.CLASS)
    for name, caller in islice(callers, _CALLERS):
        for called in sorted(_calls(caller, index)):
            for one in meant(called, index):
                sign = Sign(_CALLED, CalledByNamed(name=name))
                found.setdefault((one.path, one.qualname), sign)
    yield from found.items()


def _calls(caller: Definition, index: Index) -> frozenset[str]:
    try:
        text = index.lines(caller.path, caller.line, caller.end_line)
    except OSError:
        return frozenset()  # it has just gone
    return called_names(parse_or_empty(textwrap.dedent(text)))


def _lacking(
    used: Sequence[Definition], query: Mapping[str, float], index: Index
) -> Iterator[tuple[Key, Sign]]:
    """Yield the classes that have a method for each of many classes, but for none of those `used`.

    A printer is one: `_print_Add`, `_print_Mul` and so on. Only modules are looked at that the
    report speaks of.
    """
    classes = {one.name for one in used if one.kind is DefinitionKind.CLASS}
    for path in filter(is_product, index.layout.files if classes else ()):
        if not weight_of(index.layout.module_of(path).rpartition(".")[2], query):
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
