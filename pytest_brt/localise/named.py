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
from pytest_brt.localise.query import names_in_sentences
from pytest_brt.localise.sign import Key, Sign
from pytest_brt.syntax.parse import called_names, parse_or_empty
from pytest_brt.types import BlockKind, Issue
from pytest_brt.types.clue import CalledByNamed, UsedByReport

#: What it is worth that the report's code names the definition, and that it is called by what the
#: report's sentences name.
_USED, _CALLED = 0.05, 0.3
#: A name that so many definitions share says of none of them that it is meant.
_SHARED = 3
#: Functions that a report names and whose code is read.
_CALLERS = 40


def signs_of_names(issue: Issue, index: Index) -> Mapping[Key, list[Sign]]:
    """Return the functions and classes that a report has names for, or leads to by names."""
    found: defaultdict[Key, list[Sign]] = defaultdict(list)
    for key, sign in (*_called(issue, index), *_used(_of_code(issue, index))):
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


def _used(used: Sequence[Definition]) -> Iterator[tuple[Key, Sign]]:
    """Yield what the report's code names."""
    for one in used:
        yield (one.path, one.qualname), Sign(_USED, UsedByReport(name=one.name))


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
