"""Makes a failing test small while it still fails alike: delta debugging on its syntax.

Nothing is run here. The caller judges whole batches of variants, as many as it can run in one
row, so that a round costs about as much as one run.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass

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
    loose: bool = False,
) -> str:
    """Return a smaller module that `judge_batch` accepts, or `source` when there is none.

    Statements go first, in halves and then one by one, compound ones give way to their
    bodies; then arguments, elements and operands; then literals become simpler. The result
    depends on `source` and the judge's answers only.

    Args:
        source: a test module that stands alone.
        judge_batch: answers in the order asked; it is never asked about a variant twice.
        budget: how many variants it judges at most.
        keep: 1-based lines of `source`; statements on them stay as they are. Without any,
            the last statement of each test function is what must stay.
        loose: what must stay may become smaller inside: right where the oracle is that a
            call raises nothing, wrong where a value is expected of it.

    Raises:
        SyntaxError: `source` is not Python.
    """
    tree = parse(source)
    marked = _mark(tree, frozenset(keep), frozen=not loose)
    state = _State(
        judge=judge_batch, budget=budget, best=tree, seen={ast.unparse(tree)}, marked=marked
    )
    for find in (_statement_runs, _single_statements, _unwrapped, _arguments, _literals):
        _exhaust(state, find)
    # What was an argument may have been the last use of a statement above.
    _exhaust(state, _single_statements)
    if not state.changed:
        return source
    return ast.unparse(state.best) + "\n"


#: Changes a tree in place, or raises LookupError when its place is gone.
_Change = Callable[[ast.Module], None]
#: Path to a node: names of fields and positions in lists.
_Path = tuple[str | int, ...]
_Finder = Callable[[ast.Module], Iterator[_Change]]


@dataclass(slots=True, kw_only=True)
class _State:
    judge: JudgeBatch
    budget: int
    best: ast.Module
    seen: set[str]
    #: How many statements must stay.
    marked: int
    changed: bool = False


def _mark(tree: ast.Module, keep: Collection[int], *, frozen: bool) -> int:
    """Mark the statements that must stay, on the nodes themselves; return how many they are.

    Copies of a tree keep the marks. With `frozen`, nothing inside may change either.
    """
    chosen: list[ast.stmt] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.stmt) and not isinstance(node, _DEFINITIONS):
            # Of a compound statement its head counts, what is in it speaks for itself.
            block: list[ast.stmt] = getattr(node, "body", [])
            last = block[0].lineno - 1 if block else node.end_lineno or node.lineno
            if any(line in keep for line in range(node.lineno, max(last, node.lineno) + 1)):
                chosen.append(node)
        if not keep and isinstance(node, _FUNCTIONS) and node.name.startswith("test"):
            chosen.append(node.body[-1])
    marked = {id(node): node for node in chosen}
    if frozen:
        inside = [i for n in chosen for i in ast.walk(n) if isinstance(i, ast.stmt)]
        marked |= {id(node): node for node in inside}
    for node in marked.values():
        setattr(node, _MARK, frozen)
    return len(marked)


#: Attribute of a statement that must stay: whether it must stay as it is.
_MARK = "pytest_brt_frozen"
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


def _exhaust(state: _State, find: _Finder) -> None:
    """Take changes of one kind until none is accepted any more, or the budget is spent."""
    while state.budget > 0:
        variants = _variants(state, find)
        accepted = False
        while state.budget > 0:
            batch = [
                pair for _, pair in zip(range(min(BATCH, state.budget)), variants, strict=False)
            ]
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


def _variants(state: _State, find: _Finder) -> Iterator[tuple[str, ast.Module]]:
    """Yield variants of the best tree that were not seen yet and keep what must stay."""
    for change in find(state.best):
        tree = copy.deepcopy(state.best)
        change(tree)
        text = ast.unparse(tree)
        if text not in state.seen and _keeps(tree, state.marked):
            state.seen.add(text)
            yield text, tree


def _keeps(tree: ast.Module, marked: int) -> bool:
    return sum(1 for node in ast.walk(tree) if hasattr(node, _MARK)) == marked


# -- places in a tree -------------------------------------------------------------------------


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


def _is_needed(node: ast.stmt) -> bool:
    """Return whether `node` is, or holds, something that must stay."""
    return any(hasattr(inner, _MARK) for inner in ast.walk(node))


# -- statements -------------------------------------------------------------------------------


def _statement_runs(tree: ast.Module) -> Iterator[_Change]:
    """Offer to drop whole halves, quarters and so on of each block."""
    for path, block in _blocks(tree):
        size = len(block) // 2
        while size > 1:
            for start in range(0, len(block), size):
                run = block[start : start + size]
                if not any(_is_needed(node) for node in run):
                    yield _cut(path, start, start + size)
            size //= 2


def _single_statements(tree: ast.Module) -> Iterator[_Change]:
    for path, block in _blocks(tree):
        for start in range(len(block) - 1, -1, -1):
            if not _is_needed(block[start]):
                yield _cut(path, start, start + 1)


def _cut(path: _Path, start: int, end: int) -> _Change:
    def change(tree: ast.Module) -> None:
        block = _at(tree, path)
        assert isinstance(block, list)
        del block[start:end]
        if not block and path[-1] == "body" and len(path) > 1:
            block.append(ast.Pass())

    return change


def _unwrapped(tree: ast.Module) -> Iterator[_Change]:
    """Offer to put the body of a compound statement in its place, and to drop clauses."""
    for path, block in _blocks(tree):
        for number, node in enumerate(block):
            if isinstance(node, _DEFINITIONS):
                continue
            for name in ("body", "orelse", "finalbody"):
                if isinstance(getattr(node, name, None), list) and getattr(node, name):
                    yield _lift(path, number, name)


def _lift(path: _Path, number: int, name: str) -> _Change:
    def change(tree: ast.Module) -> None:
        block = _at(tree, path)
        assert isinstance(block, list)
        block[number : number + 1] = getattr(block[number], name)

    return change


# -- expressions ------------------------------------------------------------------------------


def _expressions(node: ast.AST, path: _Path = ()) -> Iterator[tuple[_Path, ast.expr]]:
    """Yield the expressions that may change, with their paths, outer ones first."""
    if getattr(node, _MARK, False):
        return
    if isinstance(node, ast.expr):
        yield path, node
    for name, value in ast.iter_fields(node):
        here = (*path, name)
        if isinstance(value, ast.AST):
            yield from _expressions(value, here)
        elif isinstance(value, list):
            for number, item in enumerate(value):
                if isinstance(item, ast.AST):
                    yield from _expressions(item, (*here, number))


def _arguments(tree: ast.Module) -> Iterator[_Change]:
    """Offer to drop arguments and elements, and to take an operand for its operation."""
    for path, node in _expressions(tree):
        if isinstance(node, ast.Call):
            for number in range(len(node.keywords) - 1, -1, -1):
                yield _remove((*path, "keywords"), number)
            for number in range(len(node.args) - 1, -1, -1):
                yield _remove((*path, "args"), number)
        elif isinstance(node, ast.List | ast.Tuple | ast.Set) and isinstance(
            getattr(node, "ctx", ast.Load()), ast.Load
        ):
            for number in range(len(node.elts) - 1, -1, -1):
                if len(node.elts) > 1 or isinstance(node, ast.List):
                    yield _remove((*path, "elts"), number)
        elif isinstance(node, ast.Dict):
            for number in range(len(node.keys) - 1, -1, -1):
                yield _remove_item(path, number)
        elif isinstance(node, ast.BinOp):
            yield _replace(path, node.left)
            yield _replace(path, node.right)
        elif isinstance(node, ast.UnaryOp):
            yield _replace(path, node.operand)


def _remove(path: _Path, number: int) -> _Change:
    def change(tree: ast.Module) -> None:
        items = _at(tree, path)
        assert isinstance(items, list)
        del items[number]

    return change


def _remove_item(path: _Path, number: int) -> _Change:
    def change(tree: ast.Module) -> None:
        node = _at(tree, path)
        assert isinstance(node, ast.Dict)
        del node.keys[number]
        del node.values[number]

    return change


def _replace(path: _Path, new: ast.expr) -> _Change:
    def change(tree: ast.Module) -> None:
        holder = _at(tree, path[:-1])
        step = path[-1]
        if isinstance(step, int):
            assert isinstance(holder, list)
            holder[step] = copy.deepcopy(new)
        else:
            setattr(holder, step, copy.deepcopy(new))

    return change


def _literals(tree: ast.Module) -> Iterator[_Change]:
    for path, node in _expressions(tree):
        if isinstance(node, ast.Constant) and "values" not in path:
            for value in _simpler(node.value):
                yield _replace(path, ast.Constant(value=value))


def _simpler(value: object) -> Iterator[str | bytes | int | float]:
    """Yield simpler values of the same type, the simplest first."""
    if isinstance(value, bool):
        return
    if isinstance(value, int):
        simpler: list[int] = [0, 1, 2, value // 10, value // 2, value - 1]
        yield from (v for v in dict.fromkeys(simpler) if 0 <= v < value)
    elif isinstance(value, float):
        yield from (
            v for v in (0.0, 1.0, 0.5, float(int(value) if abs(value) < 1e9 else 0)) if v < value
        )
    elif isinstance(value, str | bytes):
        yield from (
            v
            for v in (value[:0], value[:1], value[: len(value) // 2], value[len(value) // 2 :])
            if len(v) < len(value)
        )
