"""What a failing test does not need is cut: claims that hold, and values that nothing uses.

A sixth of the tests that models write carry assertions that have nothing to do with the bug
(paper 001, requirement 4); each of them can break a right fix. That a failure stays the same
without a statement does not mean that the test does not need it: only a fixed project would tell.
So what may change something that the rest looks at goes on running: of ``assert items.pop(0) == 1``
there stays ``items.pop(0)``. A test passes cut wherever it passes whole, as long as functions that
are given nothing but values keep no count of their calls.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace

from pytest_brt.codec import content_id
from pytest_brt.execute.engine import Engine, Row, TestTarget
from pytest_brt.oracle.facts import Facts, matches
from pytest_brt.oracle.judge import failing_line, failure_key, refusal, run_tests
from pytest_brt.reproduce.model_tests.split import crowded, split_tests
from pytest_brt.syntax.parse import Function, first_line, parse
from pytest_brt.types import CandidateTest, JudgedTest, TestRun

#: Statements that are tried one by one, and seconds for that.
_MOST, _SECONDS = 16, 15.0
#: Statements of a test that is left alone when it has a single assertion.
_SHORT = 6
#: Characters of a text that does not stand in a report by chance.
_SPELLED = 3
#: Calls that claim something of what they are given.
_CLAIM = re.compile(r"(?:^|\.)assert\w+$")
#: Functions that change nothing, whatever they are given.
_PURE = frozenset({"callable", "isinstance", "issubclass", "len", "type"})
#: What is as it is, if its parts are.
_PLAIN = (
    *(ast.Name, ast.Constant, ast.Attribute, ast.Starred, ast.keyword, ast.JoinedStr),
    *(ast.FormattedValue, ast.Compare, ast.BoolOp, ast.UnaryOp, ast.IfExp),
    *(ast.List, ast.Tuple, ast.Set, ast.Dict),
    *(ast.expr_context, ast.cmpop, ast.boolop, ast.unaryop),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Cut:
    """A statement that goes, but for what it calls."""

    node: ast.stmt
    #: Expressions that stay in its place, in their order: what they change, something else uses.
    left: tuple[str, ...] = ()


def made_small(item: JudgedTest, engine: Engine, repeat: int, facts: Facts) -> JudgedTest:
    """Return the candidate `item` without what its failure does not need.

    The failing statement stays as it is, and so does what comes after it, and what the report
    spells. The shorter test is run and held against the rules again; the longer one stays where
    they refuse it, or where its failure does not match the report any more.
    """
    test = item.test
    source = test.source or ""
    run = item.judgement.runs[0] if item.judgement.runs else None
    line = failing_line(test, run) if run else 0
    if run is None or not item.judgement.candidate or not line:
        return item
    small = _shrunk(test, run, cuts_of(source, line, facts.text), engine)
    if small == source:
        return item
    shorter = replace(
        test,
        id=content_id(test.issue, test.path, small),
        source=small,
        origin=replace(test.origin, parent=test.id),
    )
    runs = run_tests([shorter], engine, repeat)[shorter.id]
    if refusal(shorter, runs, facts) or matches(facts, small, runs[0].raised) != matches(
        facts, source, run.raised
    ):
        return item
    return JudgedTest(test=shorter, judgement=replace(item.judgement, runs=runs))


def cuts_of(source: str, line: int, report: str) -> list[Cut]:
    """Return the statements that can go of the test which fails at `line`, all of them before it.

    They are claims, and values that nothing uses which stays; not those that hold a text of the
    `report`.
    """
    inside = (node for node in ast.walk(parse(source)) if isinstance(node, Function))
    test = next((n for n in inside if n.name.startswith("test") and _has(n, line)), None)
    if test is None:
        return []
    claims = [n for n in ast.walk(test) if _is_claim(n) and not isinstance(n, ast.Expr)]
    if len(test.body) <= _SHORT and len(claims) < 2:
        return []
    at = next((n for n, node in enumerate(test.body) if _has(node, line)), 0)
    # What shares a line with another statement cannot go alone.
    lines = crowded(test.body)
    before = [node for node in test.body[:at] if id(node) not in lines]
    gone = [node for node in before if _is_claim(node) and not _bound(node)]
    running = [part for node in gone for part in _running(node)]
    modules = {name for node in ast.walk(parse(source)) for name in _modules(node)}
    stays: list[ast.AST] = [node for node in test.body if node not in gone]
    for _ in running:
        used = {name for other in stays for name in _read(other)} - modules
        stays += [part for part in running if part not in stays and _given(part) & used]
    for node in reversed(before):
        used = {name for other in stays if other is not node for name in _read(other)}
        if _is_idle(node, used - modules) and not _spells(node, report):
            gone.append(node)
            stays.remove(node)
    return [
        Cut(node=node, left=tuple(ast.unparse(part) for part in _running(node) if part in stays))
        for node in gone
    ]


def _has(node: ast.stmt, line: int) -> bool:
    return node.lineno <= line <= (node.end_lineno or node.lineno)


def _is_claim(node: ast.AST) -> bool:
    node = node.value if isinstance(node, ast.Expr) else node
    called = isinstance(node, ast.Call) and _CLAIM.search(ast.unparse(node.func))
    return isinstance(node, ast.Assert) or bool(called)


def _is_pure(node: ast.AST) -> bool:
    """Say whether working out an expression changes nothing that could be seen afterwards."""
    if isinstance(node, ast.Call):
        pure = isinstance(node.func, ast.Name) and node.func.id in _PURE
    else:
        pure = isinstance(node, _PLAIN)
    return pure and all(map(_is_pure, ast.iter_child_nodes(node)))


def _running(node: ast.AST) -> Iterator[ast.AST]:
    """Yield the parts of a claim that do something, in the order in which they do it."""
    match node:
        case ast.Assert():
            parts = [node.test]
        case ast.Expr(value=ast.Call() as call):
            parts = [*call.args, *(keyword.value for keyword in call.keywords)]
        case ast.Compare(ops=[_]):
            parts = [node.left, *node.comparators]
        case ast.UnaryOp(op=ast.Not()):
            parts = [node.operand]
        case _:
            # What is not reached here may be reached on another tree: it stays as it is.
            if not _is_pure(node):
                yield node
            return
    for part in parts:
        yield from _running(part)


def _is_idle(node: ast.stmt, used: Collection[str]) -> bool:
    """Say whether a statement gives a name to a value, and changes nothing that is `used`."""
    if not isinstance(node, ast.Assign) or not all(isinstance(t, ast.Name) for t in node.targets):
        return False
    still = _is_pure(node.value) or _given(node.value).isdisjoint(used)
    return still and _bound(node).isdisjoint(used)


def _spells(node: ast.stmt, report: str) -> bool:
    """Say whether a statement has a text in it that the report has."""
    texts = (inner.value for inner in ast.walk(node) if isinstance(inner, ast.Constant))
    return any(isinstance(text, str) and len(text) >= _SPELLED and text in report for text in texts)


def _bound(node: ast.AST) -> set[str]:
    names = (inner for inner in ast.walk(node) if isinstance(inner, ast.Name))
    return {name.id for name in names if isinstance(name.ctx, ast.Store)}


def _given(node: ast.AST) -> set[str]:
    """Return the names in an expression, but for those of functions that it calls."""
    called = {
        inner.func
        for inner in ast.walk(node)
        if isinstance(inner, ast.Call) and isinstance(inner.func, ast.Name)
    }
    return {
        inner.id for inner in ast.walk(node) if isinstance(inner, ast.Name) and inner not in called
    }


def _modules(node: ast.AST) -> Iterator[str]:
    """Yield the names of modules that a statement imports whole."""
    for alias in node.names if isinstance(node, ast.Import) else ():
        yield alias.asname or alias.name.partition(".")[0]


def _read(node: ast.AST) -> set[str]:
    names = (inner for inner in ast.walk(node) if isinstance(inner, ast.Name))
    return {name.id for name in names if not isinstance(name.ctx, ast.Store)}


def _shrunk(test: CandidateTest, run: TestRun, spare: Sequence[Cut], engine: Engine) -> str:
    """Return the test without as many of some statements as can go, failing as `run` does.

    All are tried together; where they cannot all go, each alone, and then what could.
    """
    source = test.source or ""

    def fail_alike(choices: Sequence[Sequence[Cut]]) -> list[bool]:
        targets = tuple(
            TestTarget(id=str(n), path=test.path, source=without(source, gone), node=test.name)
            for n, gone in enumerate(choices)
        )
        wanted = (run.verdict, failure_key(run))
        runs = engine.run(Row(targets=targets)).runs if targets else ()
        alike = {one.test for one in runs if (one.verdict, failure_key(one)) == wanted}
        return [target.id in alike for target in targets]

    if not spare or fail_alike([spare])[0]:
        return without(source, spare)
    alone = spare[: min(_MOST, int(_SECONDS / max(run.seconds, 0.01)))]
    fitting = [node for node, ok in zip(alone, fail_alike([[n] for n in alone]), strict=True) if ok]
    return without(source, fitting) if fitting and fail_alike([fitting])[0] else source


def without(source: str, gone: Sequence[Cut]) -> str:
    """Return the module without some statements, comments on them, and imports for them."""
    if not gone:
        return source
    lines = source.split("\n")
    for cut in sorted(gone, key=lambda cut: -cut.node.lineno):
        node = cut.node
        first, last = first_line(node) - 1, node.end_lineno or node.lineno
        indent = " " * node.col_offset
        while lines[first - 1].lstrip().startswith("#"):
            first -= 1
        while not cut.left and not lines[last].strip():
            last += 1
        lines[first:last] = [f"{indent}{text}" for text in cut.left]
    return split_tests("\n".join(lines), "")[0].source
