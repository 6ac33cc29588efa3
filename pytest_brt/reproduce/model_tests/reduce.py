"""Claims that hold before the failing one are cut from a test.

A sixth of the tests that models write carry assertions that have nothing to do with the bug
(paper 001, requirement 4); each of them can break a right fix. What such a claim calls goes on
running: of ``assert items.pop(0) == 1`` there stays ``items.pop(0)``. A test passes cut wherever
it passes whole, as long as functions that are given nothing but values keep no count of calls.
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace

from pytest_brt.codec import content_id
from pytest_brt.execute.engine import Engine
from pytest_brt.oracle.facts import Facts, matches
from pytest_brt.oracle.judge import failing_line, failure_key, refusal, run_tests
from pytest_brt.reproduce.model_tests.split import split_tests
from pytest_brt.syntax.parse import Function, covers, parse
from pytest_brt.types import JudgedTest

#: Functions that change nothing, whatever they are given.
_PURE = frozenset({"callable", "isinstance", "issubclass", "len", "type"})
#: What is as it is, if its parts are.
_PLAIN = (
    *(ast.Name, ast.Constant, ast.Attribute, ast.JoinedStr, ast.FormattedValue, ast.Compare),
    *(ast.BoolOp, ast.UnaryOp, ast.List, ast.Tuple, ast.Set, ast.Dict),
    *(ast.expr_context, ast.cmpop, ast.boolop, ast.unaryop),
)


def reduce_test(item: JudgedTest, engine: Engine, repeat: int, facts: Facts) -> JudgedTest:
    """Return the candidate `item` without claims that its failure does not need.

    The failing statement stays as it is, and so does what comes after it. The shorter test is run
    and held against the rules; the longer one stays where it fails otherwise.
    """
    test, runs = item.test, item.judgement.runs
    source = test.source or ""
    line = failing_line(test, runs[0]) if runs else 0
    if not item.judgement.candidate or not line:
        return item
    short = without_claims(source, line)
    if short == source:
        return item
    shorter = replace(
        test,
        id=content_id(test.issue, test.path, short),
        source=short,
        origin=replace(test.origin, parent=test.id),
    )
    again = run_tests([shorter], engine, repeat)[shorter.id]
    if refusal(shorter, again, facts) or failure_key(again[0]) != failure_key(runs[0]):
        return item
    if matches(facts, short, again[0].raised) != matches(facts, source, runs[0].raised):
        return item
    return JudgedTest(test=shorter, judgement=replace(item.judgement, runs=again))


def without_claims(source: str, line: int) -> str:
    """Return the test that fails at `line` without the claims before it, and imports for them."""
    tree = parse(source)
    functions = (node for node in ast.walk(tree) if isinstance(node, Function))
    test = next((n for n in functions if n.name.startswith("test") and covers(n, line)), None)
    if test is None:
        return source
    imports = (node for node in ast.walk(tree) if isinstance(node, ast.Import))
    modules = {
        alias.asname or alias.name.partition(".")[0] for node in imports for alias in node.names
    }
    lines = source.split("\n")
    short = list(lines)
    for node in reversed(test.body):
        is_before = isinstance(node, ast.Assert) and (node.end_lineno or line) < line
        if is_before and _stands_alone(node, lines) and not _binds(node):
            _replace(node, [ast.unparse(part) for part in _running(node, modules)], short)
    return source if short == lines else split_tests("\n".join(short), "")[0].source


def _stands_alone(node: ast.stmt, lines: Sequence[str]) -> bool:
    """Return whether no other statement is on the lines of this one."""
    before = lines[node.lineno - 1][: node.col_offset]
    after = lines[(node.end_lineno or node.lineno) - 1].encode()[node.end_col_offset :]
    return not before.strip() and after.strip()[:1] in (b"", b"#")


def _binds(node: ast.AST) -> bool:
    return any(isinstance(inner, ast.NamedExpr) for inner in ast.walk(node))


def _replace(node: ast.stmt, left: Sequence[str], lines: list[str]) -> None:
    """Put what is `left` of a statement in its place; comments on it go where nothing is."""
    first, last = node.lineno - 1, node.end_lineno or node.lineno
    while not left and lines[first - 1].lstrip().startswith("#"):
        first -= 1
    while not left and not lines[last].strip():
        last += 1
    lines[first:last] = [f"{' ' * node.col_offset}{text}" for text in left]


def _running(node: ast.AST, modules: Collection[str]) -> Iterator[ast.AST]:
    """Yield the parts of a claim that do something, in the order in which they do it."""
    match node:
        case ast.Assert():
            parts = [node.test]
        case ast.Compare(ops=[_]):
            parts = [node.left, *node.comparators]
        case ast.UnaryOp(op=ast.Not()):
            parts = [node.operand]
        case _:
            # What is not reached here may be reached on another tree: it stays as it is.
            if not _is_pure(node, modules):
                yield node
            return
    for part in parts:
        yield from _running(part, modules)


def _is_pure(node: ast.AST, modules: Collection[str]) -> bool:
    """Say whether working out an expression changes nothing that could be seen afterwards."""
    children = ast.iter_child_nodes(node)
    if not isinstance(node, ast.Call):
        return isinstance(node, _PLAIN) and all(_is_pure(child, modules) for child in children)
    given = [*node.args, *(keyword.value for keyword in node.keywords)]
    if not all(_is_pure(value, modules) for value in given):
        return False
    if isinstance(node.func, ast.Name) and node.func.id in _PURE:
        return True
    names = {
        inner.id for value in given for inner in ast.walk(value) if isinstance(inner, ast.Name)
    }
    return not names and _is_function(node.func, modules)


def _is_function(node: ast.expr, modules: Collection[str]) -> bool:
    """Return whether what is called is a plain name, or an attribute of a module."""
    if isinstance(node, ast.Attribute):
        return isinstance(node.value, ast.Name) and node.value.id in modules
    return isinstance(node, ast.Name)
