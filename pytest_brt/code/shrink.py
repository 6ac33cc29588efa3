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

from pytest_brt.syntax import bodies, parse

#: Attribute of a statement: its number, which copies of a tree keep.
_NUMBER = "pytest_brt_number"
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
#: Statements that are judged by what is in them.
DEFINITIONS = (*_FUNCTIONS, ast.ClassDef)
#: Calls whose block is a claim.
_CLAIMING = ("raises", "warns", "deprecated_call", "assertRaises", "assertWarns")
#: Numbers of statements.
Numbers = frozenset[int]


def number(tree: ast.Module, keep: Collection[int]) -> Numbers:
    """Number the statements of `tree` and return the numbers of those that must stay.

    These are the ones on the lines `keep`, or without any the last statement of each test, with
    all that is in them, and blocks that wait for an exception or a warning.
    """
    chosen: list[ast.stmt] = []
    for at, node in enumerate(ast.walk(tree)):
        if not isinstance(node, ast.stmt):
            continue
        setattr(node, _NUMBER, at)
        if not isinstance(node, DEFINITIONS):
            # Of a compound statement its head counts, what is in it speaks for itself.
            block: list[ast.stmt] = getattr(node, "body", [])
            last = block[0].lineno - 1 if block else node.end_lineno or node.lineno
            lines = range(node.lineno, max(last, node.lineno) + 1)
            if any(line in keep for line in lines) or _claims(node):
                chosen.append(node)
        if not keep and isinstance(node, _FUNCTIONS) and node.name.startswith("test"):
            chosen.append(node.body[-1])
    return frozenset().union(*map(_numbers, chosen))


def _numbers(tree: ast.AST) -> Numbers:
    return frozenset(getattr(n, _NUMBER) for n in ast.walk(tree) if hasattr(n, _NUMBER))


def _claims(node: ast.stmt) -> bool:
    if not isinstance(node, ast.With | ast.AsyncWith):
        return False
    calls = (item.context_expr for item in node.items)
    names = (ast.unparse(call.func) for call in calls if isinstance(call, ast.Call))
    return any(name.rpartition(".")[2] in _CLAIMING for name in names)


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """What makes a tree smaller."""

    #: Statements that go.
    gone: Numbers = frozenset()
    #: A compound statement, and the name of its block that takes its place.
    lifted: tuple[int, str] = (-1, "")

    def of(self, tree: ast.Module) -> ast.Module:
        """Return a changed copy of `tree`."""
        changed = _Smaller(self).visit(copy.deepcopy(tree))
        assert isinstance(changed, ast.Module)
        return changed


class _Smaller(ast.NodeTransformer):
    def __init__(self, change: Change) -> None:
        self._change = change

    def visit(self, node: ast.AST) -> ast.AST | list[ast.stmt] | None:
        at = getattr(node, _NUMBER, None)
        if at in self._change.gone:
            return None
        if at == self._change.lifted[0]:
            block: list[ast.stmt] = getattr(node, self._change.lifted[1])
            return block
        self.generic_visit(node)
        if getattr(node, "body", None) == [] and not isinstance(node, ast.Module):
            setattr(node, "body", [ast.Pass()])  # noqa: B010
        return node


#: Offers changes of a tree in which some statements must stay.
Finder = Callable[[ast.Module, Numbers], Iterator[Change]]


def _blocks(tree: ast.Module) -> Iterator[list[ast.stmt]]:
    yield tree.body
    for node in ast.walk(tree):
        if isinstance(node, ast.stmt):
            yield from bodies(node)


def statement_runs(tree: ast.Module, kept: Numbers) -> Iterator[Change]:
    """Offer to drop whole halves, quarters and so on of each block."""
    for block in _blocks(tree):
        size = len(block) // 2
        while size > 1:
            for start in range(0, len(block), size):
                gone = frozenset().union(*map(_numbers, block[start : start + size]))
                if gone.isdisjoint(kept):
                    yield Change(gone=gone)
            size //= 2


def single_statements(tree: ast.Module, kept: Numbers) -> Iterator[Change]:
    """Offer to drop each statement, the last of a block first."""
    for block in _blocks(tree):
        every = map(_numbers, reversed(block))
        yield from (Change(gone=gone) for gone in every if gone and gone.isdisjoint(kept))


def unwrapped(tree: ast.Module, _kept: Numbers) -> Iterator[Change]:
    """Offer to put the body of a compound statement in its place, and to drop clauses."""
    for block in _blocks(tree):
        for node in block:
            for name in ("body", "orelse", "finalbody"):
                if getattr(node, name, None) and not isinstance(node, DEFINITIONS):
                    yield Change(lifted=(getattr(node, _NUMBER), name))


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
    kept = number(tree, frozenset(keep))
    state = _State(judge=judge_batch, budget=budget, best=tree, seen={ast.unparse(tree)}, kept=kept)
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
    #: Statements that must stay.
    kept: Numbers
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
    for change in find(state.best, state.kept):
        tree = change.of(state.best)
        text = ast.unparse(tree)
        if text not in state.seen and state.kept <= _numbers(tree):
            state.seen.add(text)
            yield text, tree
