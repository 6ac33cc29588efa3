"""A failing test made smaller by running variants of it: what goes must not change the failure.

What the failing statement depends on, by the names that statements share, must not go either.
"""

from __future__ import annotations

import ast
import re
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import replace

from pytest_brt.code.shrink import shrink
from pytest_brt.codec import content_id
from pytest_brt.execute.engine import Engine
from pytest_brt.execute.row import Row, TestTarget
from pytest_brt.syntax import parse
from pytest_brt.types import CandidateTest, TestRun

#: Variants of one test that are run, and wall-clock seconds for them.
_BUDGET, _SECONDS = 48, 15.0

#: Says of two runs whether they failed in the same way.
Alike = Callable[[TestRun, TestRun], bool]


def shrunk_by_running(
    test: CandidateTest,
    run: TestRun,
    engine: Engine,
    *,
    alike: Alike,
    keep: Collection[int] = (),
    allowed: Callable[[str], bool] = lambda _: True,
) -> str:
    """Return a smaller source of `test` whose run is alike to `run`, or the one that it has.

    Args:
        test: the test.
        run: how it fails.
        engine: runs the variants.
        alike: which failures are the same.
        keep: see `shrink`.
        allowed: which variants are worth being run.
    """
    source = test.source or ""
    until = time.monotonic() + _SECONDS

    def fails_alike(variants: Sequence[str]) -> list[bool]:
        if time.monotonic() > until:
            return [False] * len(variants)
        targets = tuple(
            TestTarget(id=str(number), path=test.path, source=variant, node=test.name)
            for number, variant in enumerate(variants)
            if allowed(variant)
        )
        runs = {found.test: found for found in engine.run(Row(targets=targets)).runs}
        return [
            str(number) in runs and alike(run, runs[str(number)]) for number in range(len(variants))
        ]

    return shrink(source, fails_alike, budget=_BUDGET, keep=keep)


def with_source(test: CandidateTest, source: str) -> CandidateTest:
    """Return the test that `source`, made from that of `test`, is."""
    return replace(
        test,
        id=content_id(test.issue, test.path, source),
        source=source,
        origin=replace(test.origin, parent=test.id),
    )


def is_same_error(one: TestRun, other: TestRun) -> bool:
    """Return whether two runs have the same verdict, exception and message."""
    if one.verdict is not other.verdict:
        return False
    if one.raised is None or other.raised is None:
        return one.raised is other.raised
    same = one.raised.type == other.raised.type
    return same and _steady(one.raised.message) == _steady(other.raised.message)


def is_same_place(one: TestRun, other: TestRun) -> bool:
    """Return whether two runs raised in the same function of the project, or both outside."""
    return _place(one) == _place(other)


def _place(run: TestRun) -> tuple[str, str] | None:
    last = run.raised.in_project if run.raised else None
    return (last.path, last.function) if last else None


def _steady(message: str) -> str:
    return re.sub(r"0x[0-9a-f]+", "0x", message)


_Function = ast.FunctionDef | ast.AsyncFunctionDef
_CLAIM = re.compile(r"(?:^|\.)(?:assert\w+|fail)$")


def needed(source: str, line: int) -> frozenset[str]:
    """Return the statements that the one at `line` depends on, as `ast.dump` writes them.

    These are the inputs of what failed. That a failure stays the same without one of them does
    not mean that the test does not need it: only a fixed project would tell. A statement counts
    when it speaks of a variable that the failing one speaks of, or that such a statement does.
    """
    test = next(
        (
            node
            for node in ast.walk(parse(source))
            if isinstance(node, _Function) and _has(node, line) and node.name.startswith("test")
        ),
        None,
    )
    if test is None:
        return frozenset()
    own = _bound(test)
    used = {name for part in _around(test.body, line) for name in _names(part)} & own
    open_ones = list(_others(test.body, line))
    found: list[ast.stmt] = []
    while True:
        more = [node for node in open_ones if used & _names(node)]
        if not more:
            return frozenset(ast.dump(node) for node in found)
        found += more
        open_ones = [node for node in open_ones if node not in more]
        used |= {name for node in more for name in _names(node)} & own


def still_has(source: str, statements: frozenset[str]) -> bool:
    """Say whether all of `statements` stand in `source` as they were."""
    there = {ast.dump(node) for node in ast.walk(parse(source)) if isinstance(node, ast.stmt)}
    return statements <= there


def _has(node: ast.stmt, line: int) -> bool:
    return node.lineno <= line <= (node.end_lineno or node.lineno)


def _bound(test: _Function) -> set[str]:
    """Return the names that belong to the test: its arguments, variables and inner functions."""
    found = {node.arg for node in ast.walk(test) if isinstance(node, ast.arg)}
    for node in ast.walk(test):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            found.add(node.id)
        elif isinstance(node, _Function | ast.ClassDef) and node is not test:
            found.add(node.name)
    return found


def _names(node: ast.AST) -> set[str]:
    found = {inner.id for inner in ast.walk(node) if isinstance(inner, ast.Name)}
    return found | {
        inner.name for inner in ast.walk(node) if isinstance(inner, _Function | ast.ClassDef)
    }


def _blocks(node: ast.stmt) -> list[Sequence[ast.stmt]]:
    blocks: list[Sequence[ast.stmt]] = [
        getattr(node, field, []) for field in ("body", "orelse", "finalbody")
    ]
    return [*blocks, *(handler.body for handler in getattr(node, "handlers", []))]


def _around(body: Sequence[ast.stmt], line: int) -> Iterator[ast.AST]:
    """Yield the failing statement, and the heads of what it stands in."""
    for node in body:
        if not _has(node, line):
            continue
        inner = [block for block in _blocks(node) if any(_has(part, line) for part in block)]
        if not inner:
            yield node
            continue
        for field, value in ast.iter_fields(node):
            if field not in ("body", "orelse", "finalbody", "handlers"):
                values = value if isinstance(value, list) else [value]
                yield from (part for part in values if isinstance(part, ast.AST))
        for block in inner:
            yield from _around(block, line)


def _others(body: Sequence[ast.stmt], line: int) -> Iterator[ast.stmt]:
    """Yield the statements that the failing one does not stand in, claims left out."""
    for node in body:
        if not _has(node, line):
            if not _is_claim(node):
                yield node
            continue
        for block in _blocks(node):
            yield from _others(block, line)


def _is_claim(node: ast.stmt) -> bool:
    if isinstance(node, ast.Assert):
        return True
    call = node.value if isinstance(node, ast.Expr) else None
    return isinstance(call, ast.Call) and bool(_CLAIM.search(ast.unparse(call.func)))
