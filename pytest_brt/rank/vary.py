"""Lifts the literals of a candidate test: the same test on inputs near the reported one."""

from __future__ import annotations

import ast
import keyword
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TypeGuard

from pytest_brt.codec import content_id
from pytest_brt.rank.rename import new_names, own_names, renamed
from pytest_brt.rank.telling import LONGEST, TOLD, observing, the_test
from pytest_brt.syntax import is_constant, parse
from pytest_brt.types import CandidateTest, HoldsFor, OracleKind

#: Names of a test that are changed.
MOST_NAMES = 3
#: What is changed when nothing is; and when that is done again.
REPORTED = "the reported input"
AGAIN = f"{REPORTED}, again"

Literal = int | float | str


@dataclass(frozen=True, slots=True, kw_only=True)
class Variant:
    """A candidate test with one of its literals, or a name that it gives, changed."""

    id: str
    #: What is changed, and the change, as in "5" and "5 → 6"; or "the name g", and that.
    literal: str
    change: str
    source: str
    #: Whether the test decides by itself; else it only says what value it saw.
    decides: bool
    #: How far the change goes; smaller is easier to read.
    distance: float
    #: The old name and the new one, when nothing else is changed.
    renamed: tuple[str, str] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Lifted:
    """A candidate test whose literals can be changed, and names that it gives."""

    test: CandidateTest
    #: Each once: a literal that occurs several times is changed everywhere.
    literals: tuple[Literal, ...]
    names: tuple[str, ...]
    decides: bool

    def reported(self) -> tuple[Variant, ...]:
        """Return the test that tells the last value of the reported input, twice; or nothing.

        What is different the second time is a value of chance.
        """
        if self.test.oracle.kind is not OracleKind.NO_RAISE:
            return ()
        tree = observing(parse(self.test.source or ""), self.test, decides=True)
        source = ast.unparse(tree) + "\n"
        if TOLD not in source:
            return ()
        return tuple(
            Variant(
                id=content_id(self.test.id, text),
                literal=REPORTED,
                change=change,
                source=text,
                decides=True,
                distance=0.0,
            )
            for change, text in ((REPORTED, source), (AGAIN, f"{source}# once more\n"))
        )

    def renamings(self) -> Iterator[Variant]:
        """Yield the test with other names for what it defines; it decides, whatever it asks."""
        source = self.test.source or ""
        tree = parse(source)
        for old in self.names[:MOST_NAMES]:
            for new in new_names(old, source):
                changed = ast.unparse(renamed(tree, old, new)) + "\n"
                yield Variant(
                    id=content_id(self.test.id, changed),
                    literal=f"the name {old}",
                    change=f"the name {old} → {new}",
                    source=changed,
                    decides=True,
                    distance=1.0,
                    renamed=(old, new),
                )

    def variant(self, old: Literal, new: Literal) -> Variant:
        """Return the test with `old` replaced by `new`."""
        tree = observing(parse(self.test.source or ""), self.test, decides=self.decides)
        for node in _constants(tree, self.test):
            if type(node.value) is type(old) and node.value == old:
                node.value = new
        source = ast.unparse(ast.fix_missing_locations(tree)) + "\n"
        return Variant(
            id=content_id(self.test.id, source),
            literal=_shown(old),
            change=f"{_shown(old)} → {_shown(new)}",
            source=source,
            decides=self.decides,
            distance=_distance(old, new),
        )


def lift(test: CandidateTest) -> Lifted | None:
    """Return `test` with the literals of its inputs lifted; None when there is nothing to change.

    Expected values are no inputs, nor are docstrings, names given as keyword arguments, and
    texts that name something which the test defines or uses, as a field of its class.
    """
    kind = test.oracle.kind
    if test.source is None or kind.holds_for is HoldsFor.UNKNOWN:
        return None
    decides = kind.holds_for is HoldsFor.MANY
    try:
        tree = parse(test.source)
        own = own_names(tree, the_test(tree, test))
    except (SyntaxError, ValueError):
        return None
    values = _values(tree, test, decides=decides)
    found = Lifted(test=test, literals=values, names=own, decides=decides)
    return found if values or own or found.reported() else None


def _values(tree: ast.Module, test: CandidateTest, *, decides: bool) -> tuple[Literal, ...]:
    try:
        tree = observing(tree, test, decides=decides)
    except ValueError:
        return ()
    literals = dict.fromkeys(
        (type(node.value).__name__, node.value) for node in _constants(tree, test)
    )
    names = _names(tree)
    return tuple(value for _, value in literals if can_change(value) and value not in names)


def _constants(tree: ast.Module, test: CandidateTest) -> Iterator[ast.Constant]:
    function = the_test(tree, test)
    for number, statement in enumerate(function.body):
        if number == 0 and is_constant(statement):
            continue
        for node in ast.walk(_inputs(statement)):
            if isinstance(node, ast.Constant):
                yield node


def _inputs(statement: ast.stmt) -> ast.AST:
    """Return the argument of ``repr`` in a statement that tells a value; else all of it."""
    telling = isinstance(statement, ast.Raise | ast.Try)
    for node in ast.walk(statement) if telling else ():
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "repr":
            return node.args[0]
    return ast.Pass() if isinstance(statement, ast.Raise) else statement


def _names(tree: ast.Module) -> frozenset[str]:
    """Return the names of variables, fields, parameters and attributes in a module."""
    found: set[str | None] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Name):
            found.add(node.id)
        elif isinstance(node, ast.Attribute):
            found.add(node.attr)
        elif isinstance(node, ast.arg | ast.keyword):
            found.add(node.arg)
        elif isinstance(node, ast.FunctionDef | ast.ClassDef):
            found.add(node.name)
    return frozenset(name for name in found if name)


def can_change(value: object) -> TypeGuard[Literal]:
    """Say whether a literal is data that can be varied."""
    if isinstance(value, bool):
        return False
    if isinstance(value, str):
        return 0 < len(value) <= 500 and not _is_word(value)
    return isinstance(value, int | float)


def _is_word(text: str) -> bool:
    """A bare lower-case word is nearly always the name of an option, not data."""
    return text.isidentifier() and text.islower() and (len(text) > 2 or keyword.iskeyword(text))


def _distance(old: Literal, new: Literal) -> float:
    if isinstance(old, str) and isinstance(new, str):
        same = sum(one == other for one, other in zip(old, new, strict=False))
        return max(len(old), len(new)) - same + abs(len(old) - len(new)) / 10
    return abs(float(new) - float(old))


def _shown(value: Literal) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}…{text[-1]}"


def outcome_words(text: str) -> str:
    """Return what a run did, comparable between trees: on one line, without addresses."""
    lines = filter(None, map(str.strip, text.splitlines()))
    return re.sub(r"0x[0-9a-fA-F]{4,}", "0x…", " ".join(lines))[:LONGEST]


def smallest_first(variants: Sequence[Variant]) -> tuple[Variant, ...]:
    """Order variants by how little is changed."""
    return tuple(sorted(variants, key=lambda v: (v.distance, len(v.change), v.change)))
