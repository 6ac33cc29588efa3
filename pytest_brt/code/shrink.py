"""Makes a failing test small while it still fails alike: delta debugging on its syntax.

Nothing is run here. The caller judges whole batches of variants, as many as it can run in one
row, so that a round costs about as much as one run.
"""

from __future__ import annotations

import ast
import copy
import itertools
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass

from pytest_brt.syntax import parse

#: Attribute of a statement that must stay.
_MARK = "pytest_brt_kept"
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
#: Statements that are judged by what is in them.
DEFINITIONS = (*_FUNCTIONS, ast.ClassDef)
#: Calls whose block is a claim.
_CLAIMING = ("raises", "warns", "deprecated_call", "assertRaises", "assertWarns")


def mark(tree: ast.Module, keep: Collection[int]) -> int:
    """Mark the statements that must stay, on the nodes themselves; return how many they are.

    These are the ones on the lines `keep`, or without any the last statement of each test, with
    all that is in them, and blocks that wait for an exception or a warning. Copies of a tree keep
    the marks.
    """
    chosen: list[ast.stmt] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.stmt) and not isinstance(node, DEFINITIONS):
            # Of a compound statement its head counts, what is in it speaks for itself.
            block: list[ast.stmt] = getattr(node, "body", [])
            last = block[0].lineno - 1 if block else node.end_lineno or node.lineno
            lines = range(node.lineno, max(last, node.lineno) + 1)
            if any(line in keep for line in lines) or _claims(node):
                chosen.append(node)
        if not keep and isinstance(node, _FUNCTIONS) and node.name.startswith("test"):
            chosen.append(node.body[-1])
    inside = [i for n in chosen for i in ast.walk(n) if isinstance(i, ast.stmt)]
    for node in inside:
        setattr(node, _MARK, True)
    return sum(1 for node in ast.walk(tree) if hasattr(node, _MARK))


def _claims(node: ast.stmt) -> bool:
    """Return whether a statement waits for an exception or a warning in its block."""
    if not isinstance(node, ast.With | ast.AsyncWith):
        return False
    calls = (item.context_expr for item in node.items)
    names = (ast.unparse(call.func) for call in calls if isinstance(call, ast.Call))
    return any(name.rpartition(".")[2] in _CLAIMING for name in names)


def is_needed(node: ast.stmt) -> bool:
    """Return whether `node` is, or holds, something that must stay."""
    return any(hasattr(inner, _MARK) for inner in ast.walk(node))


def keeps(tree: ast.Module, marked: int) -> bool:
    """Return whether all `marked` statements are still in `tree`."""
    return sum(1 for node in ast.walk(tree) if hasattr(node, _MARK)) == marked


#: Changes a copy of the tree that it was found in.
Change = Callable[[ast.Module], None]
#: Path to a node: names of fields and positions in lists.
_Path = tuple[str | int, ...]
Finder = Callable[[ast.Module], Iterator[Change]]


def _at(tree: ast.AST, path: _Path) -> object:
    value: object = tree
    for step in path:
        value = (
            value[step]
            if isinstance(step, int) and isinstance(value, list)
            else getattr(value, str(step))
        )
    return value


def _blocks(node: ast.AST, path: _Path = ()) -> Iterator[tuple[_Path, list[ast.stmt]]]:
    """Yield each list of statements with the path to it, outer ones first."""
    for name, value in ast.iter_fields(node):
        here = (*path, name)
        if isinstance(value, ast.AST):
            yield from _blocks(value, here)
        elif isinstance(value, list):
            if value and isinstance(value[0], ast.stmt):
                yield here, value
            for number, item in enumerate(value):
                if isinstance(item, ast.AST):
                    yield from _blocks(item, (*here, number))


def statement_runs(tree: ast.Module) -> Iterator[Change]:
    """Offer to drop whole halves, quarters and so on of each block."""
    for path, block in _blocks(tree):
        size = len(block) // 2
        while size > 1:
            for start in range(0, len(block), size):
                run = block[start : start + size]
                if not any(is_needed(node) for node in run):
                    yield _cut(path, start, start + size)
            size //= 2


def single_statements(tree: ast.Module) -> Iterator[Change]:
    """Offer to drop each statement, the last of a block first."""
    for path, block in _blocks(tree):
        for start in range(len(block) - 1, -1, -1):
            if not is_needed(block[start]):
                yield _cut(path, start, start + 1)


def _cut(path: _Path, start: int, end: int) -> Change:
    def change(tree: ast.Module) -> None:
        block = _at(tree, path)
        assert isinstance(block, list)
        del block[start:end]
        if not block and path[-1] == "body" and len(path) > 1:
            block.append(ast.Pass())

    return change


def unwrapped(tree: ast.Module) -> Iterator[Change]:
    """Offer to put the body of a compound statement in its place, and to drop clauses."""
    for path, block in _blocks(tree):
        for number, node in enumerate(block):
            if isinstance(node, DEFINITIONS):
                continue
            for name in ("body", "orelse", "finalbody"):
                if isinstance(getattr(node, name, None), list) and getattr(node, name):
                    yield _lift(path, number, name)


def _lift(path: _Path, number: int, name: str) -> Change:
    def change(tree: ast.Module) -> None:
        block = _at(tree, path)
        assert isinstance(block, list)
        block[number : number + 1] = getattr(block[number], name)

    return change


#: Says for each variant whether it still fails in the same way.
JudgeBatch = Callable[[Sequence[str]], Sequence[bool]]

#: Variants that are judged together.
BATCH = 16


def shrink(
    source: str,
    judge_batch: JudgeBatch,
    *,
    budget: int = 200,
    keep: Collection[int] = (),
) -> str:
    """Return a smaller module that `judge_batch` accepts, or `source` when there is none.

    Statements go, in halves and then one by one, and compound ones give way to their bodies;
    what stays is as it was. The result depends on `source` and the judge's answers only.

    Args:
        source: a test module that stands alone.
        judge_batch: answers in the order asked; it is never asked about a variant twice.
        budget: how many variants it judges at most.
        keep: 1-based lines of `source`; statements on them stay as they are. Without any,
            the last statement of each test function is what must stay.

    Raises:
        SyntaxError: `source` is not Python.
    """
    tree = parse(source)
    marked = mark(tree, frozenset(keep))
    state = _State(
        judge=judge_batch, budget=budget, best=tree, seen={ast.unparse(tree)}, marked=marked
    )
    for find in (statement_runs, single_statements, unwrapped, single_statements):
        _exhaust(state, find)
    if not state.changed:
        return source
    return ast.unparse(state.best) + "\n"


@dataclass(slots=True, kw_only=True)
class _State:
    judge: JudgeBatch
    budget: int
    best: ast.Module
    seen: set[str]
    #: How many statements must stay.
    marked: int
    changed: bool = False


def _exhaust(state: _State, find: Finder) -> None:
    """Take changes of one kind until none is accepted any more, or the budget is spent."""
    while state.budget > 0:
        variants = _variants(state, find)
        accepted = False
        while state.budget > 0:
            batch = list(itertools.islice(variants, min(BATCH, state.budget)))
            if not batch:
                break
            state.budget -= len(batch)
            answers = state.judge([text for text, _ in batch])
            good = [tree for (_, tree), ok in zip(batch, answers, strict=True) if ok]
            if good:
                # The smallest of those that came first: the same for every run.
                state.best = min(good, key=lambda tree: len(ast.unparse(tree)))
                state.changed = accepted = True
                break
        if not accepted:
            return


def _variants(state: _State, find: Finder) -> Iterator[tuple[str, ast.Module]]:
    """Yield variants of the best tree that were not seen yet and keep what must stay."""
    for change in find(state.best):
        tree = copy.deepcopy(state.best)
        change(tree)
        text = ast.unparse(tree)
        if text not in state.seen and keeps(tree, state.marked):
            state.seen.add(text)
            yield text, tree
