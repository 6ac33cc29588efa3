"""The comparisons by which a patch singles out the reported input."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from pathlib import Path

from pytest_brt.pysource.parse import called_name, parse_or_empty, tree_of
from pytest_brt.types import FileChange, JudgedTest

_EQUALITY = ast.Eq | ast.NotEq | ast.In | ast.NotIn
#: Shorter texts and smaller numbers are in every test, which tells nothing.
_SHORTEST, _SMALLEST = 4, 3


def singled_out(
    changes: Iterable[FileChange], root: Path, tests: Sequence[JudgedTest]
) -> tuple[str, ...]:
    """Return the new comparisons of a patch that hold for the reported input only.

    Such a one asks whether something equals a fixed value that its file did not hold before: a
    value that a bug test holds, or a text that the value has when it is printed.

    `changes` are what the patch makes of the tree at `root`, and `tests` the candidates and others
    that were made from the report.
    """
    found: dict[str, None] = {}
    reported = _Reported(tests)
    for change in changes:
        before = root / change.path
        if change.content is None or before.suffix != ".py" or not before.is_file():
            continue
        try:
            old, new = tree_of(before.read_bytes()), tree_of(change.content)
        except SyntaxError:
            continue
        found.update(dict.fromkeys(_special(old, new, reported)))
    return tuple(found)


class _Reported:
    """The values of tests, and their texts: what they quote and fail with, too."""

    def __init__(self, tests: Sequence[JudgedTest]) -> None:
        self._values: set[str] = set()
        self._text = ""
        for judged in tests:
            source = judged.test.source or ""
            runs = judged.judgement.runs[:1]
            self._text += _squeezed(f"{source} {judged.test.oracle.sentence}")
            self._text += "".join(_squeezed(run.raised.message) for run in runs if run.raised)
            self._values |= {repr(value) for value in _constants(parse_or_empty(source))}

    def has(self, value: object) -> bool:
        """Whether `value` is one of the tests', or a part of their text."""
        if isinstance(value, bytes):
            value = value.decode("utf-8", "replace")
        if isinstance(value, str) and len(value) >= _SHORTEST:
            return _squeezed(value) in self._text or repr(value) in self._values
        is_small = isinstance(value, int | float | complex) and abs(value) < _SMALLEST
        return not is_small and repr(value) in self._values


def _special(old: ast.Module, new: ast.Module, reported: _Reported) -> Iterator[str]:
    known, counted = _known(old)
    caught = {node.name for node in ast.walk(new) if isinstance(node, ast.ExceptHandler)}
    before = counted.copy()
    for text, value, fixed in _comparisons(new):
        if before[text]:
            before[text] -= 1
            continue
        # What an exception says is compared for want of anything better; not so what a value is.
        names = {node.id for node in ast.walk(value) if isinstance(node, ast.Name)}
        printed = caught.isdisjoint(names) and _is_printed(value)
        unknown = [item for item in _constants(fixed) if repr(item) not in known]
        if any(reported.has(item) or (printed and isinstance(item, str)) for item in unknown):
            yield text


@lru_cache(maxsize=4)  # most patches of a run change the same file
def _known(old: ast.Module) -> tuple[frozenset[str], Counter[str]]:
    """Return the values that a module holds, and how often it makes each comparison."""
    values = frozenset(map(repr, _constants(old)))
    return values, Counter(text for text, _, _ in _comparisons(old))


def _comparisons(tree: ast.AST) -> Iterator[tuple[str, ast.AST, ast.AST]]:
    """Yield what is compared for equality with a fixed value: the text, the one, the other."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Compare):
            sides = [node.left, *node.comparators]
            for left, operator, right in zip(sides, node.ops, sides[1:], strict=False):
                # Whether a fixed text is a part of another asks for more than one value.
                is_part = _is_fixed(left) and isinstance(operator, ast.In | ast.NotIn)
                if isinstance(operator, _EQUALITY) and not is_part:
                    value, fixed = (right, left) if _is_fixed(left) else (left, right)
                    if _is_fixed(fixed) and not _is_fixed(value):
                        yield ast.unparse(node), value, fixed
        elif isinstance(node, ast.Match):
            for case in node.cases:
                if isinstance(case.pattern, ast.MatchValue):
                    yield ast.unparse(case.pattern), node.subject, case.pattern


def _is_fixed(node: ast.AST) -> bool:
    if isinstance(node, ast.Tuple | ast.List | ast.Set):
        return bool(node.elts) and all(map(_is_fixed, node.elts))
    return isinstance(node.operand if isinstance(node, ast.UnaryOp) else node, ast.Constant)


def _is_printed(node: ast.AST) -> bool:
    calls = (inner for inner in ast.walk(node) if isinstance(inner, ast.Call))
    return any(called_name(call) in ("repr", "str") for call in calls)


def _constants(tree: ast.AST) -> Iterator[object]:
    """Yield the numbers and texts of a tree that are not empty."""
    for node in ast.walk(tree):
        value = node.value if isinstance(node, ast.Constant) else None
        if value and not isinstance(value, bool) and value is not ...:
            yield value


def _squeezed(text: str) -> str:
    return "".join(text.split())
