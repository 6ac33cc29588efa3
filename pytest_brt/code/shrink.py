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

from pytest_brt.code.kept import keeps, mark
from pytest_brt.code.reductions import Finder, single_statements, statement_runs, unwrapped
from pytest_brt.syntax import parse

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
