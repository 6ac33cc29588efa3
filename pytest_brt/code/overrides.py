"""Which methods of subclasses go before a method, by the names of the bases alone."""

from __future__ import annotations

import re

from pytest_brt.code.entries import Definition
from pytest_brt.code.facts import DefinitionKind
from pytest_brt.code.index import Index
from pytest_brt.code.layout import is_product

#: Bases that are followed from a class upwards.
_MOST_BASES = 40


def overrides_of(method: Definition, index: Index) -> tuple[Definition, ...]:
    """Return the methods of the product's subclasses that override `method`, by path."""
    owner = _owner(method)
    if not owner:
        return ()
    found = [
        other
        for other in index.definitions(method.name)
        if other.kind is DefinitionKind.METHOD
        and (other.path, other.qualname) != (method.path, method.qualname)
        and is_product(other.path)
        and owner in _bases(_owner(other), index)
    ]
    return tuple(sorted(found, key=lambda other: (other.path, other.line)))


def _owner(method: Definition) -> str:
    """Return the simple name of the class that `method` is defined in, or ""."""
    return method.qualname.rpartition(".")[0].rpartition(".")[2]


def _bases(name: str, index: Index) -> frozenset[str]:
    """Return the simple names of the classes above the class called `name`."""
    found: set[str] = set()
    todo = [name]
    while todo and len(found) < _MOST_BASES:
        for definition in index.definitions(todo.pop()):
            if definition.kind is not DefinitionKind.CLASS:
                continue
            new = set(_named(definition.signature)) - found
            found |= new
            todo += sorted(new)
    return frozenset(found - {name})


def _named(signature: str) -> list[str]:
    """Return the simple names of bases.

    >>> _named("(a.Base, Mixin[int], metaclass=Meta)")
    ['Base', 'Mixin']
    """
    text = re.sub(r"\[[^\]]*\]", "", signature.strip("()"))
    parts = [part.strip() for part in text.split(",") if part.strip() and "=" not in part]
    return [part.rpartition(".")[2] for part in parts]
