"""What a test asks for: of the project at all, or just what the report complains about."""

from __future__ import annotations

import ast
import sys
from collections.abc import Collection, Iterator, Sequence
from copy import copy

from pytest_brt.issue.alike import Likeness, likeness
from pytest_brt.syntax.names import names_of, needed
from pytest_brt.syntax.parse import Function, bodies, parse, parse_or_empty
from pytest_brt.types import CandidateTest

#: Modules through which a test sees what the project did elsewhere: in files, in its process.
_LEFT_IN = frozenset(
    {"subprocess", "runpy", "importlib", "os", "pathlib", "glob", "shutil", "tempfile", "sqlite3"}
    | {"sys", "logging", "warnings", "gc", "threading", "signal", "atexit", "locale", "contextvars"}
)
_Headed = ast.With | ast.AsyncWith | ast.For | ast.AsyncFor | ast.If | ast.While


def is_about_python(source: str, line: int) -> bool:
    r"""Say whether the statement at `line` speaks of nothing but Python and its library.

    Followed are the names in it, to what binds them and may change them before it; of one that only
    fails, as ``assert False``, those in what decides whether it is reached. What a test is
    given as an argument, and whatever is imported from elsewhere, may be the project's.

    >>> is_about_python("def test_a():\n    x = max(2, 3)\n    assert x == 2\n", 3)
    True
    >>> is_about_python("from pkg import f\n\ndef test_a():\n    assert f(2) == 2\n", 4)
    False
    """
    try:
        body = parse(source).body
    except SyntaxError:
        return False
    before = list(_until(body, line))
    last = len(before) - 1
    if last < 0 or before[last].lineno > line:
        return False
    asked = [last]
    if _claims_nothing(before[last]):
        deciding = [(node.lineno, node.end_lineno or 0) for node in _deciding(body, line)]
        asked = [
            at
            for at, node in enumerate(before[:last])
            if any(first <= node.lineno <= end for first, end in deciding)
        ]
    sources = [_with_changes(node) for node in before[:last]] + [ast.unparse(before[last])]
    followed = {at for end in asked for at in (*needed(sources, end), end)}
    names = [names_of(sources[at]) for at in followed]
    bound = frozenset[str]().union(*(one.bound for one in names))
    used = frozenset[str]().union(*(one.used for one in names))
    imports = (n for at in followed if isinstance(n := before[at], ast.Import | ast.ImportFrom))
    opens = any("open" in one.builtin for one in names)
    known = used <= bound and not opens
    return known and all(_is_standard(node, used) for node in imports)


def _with_changes(node: ast.stmt) -> str:
    """Return a statement with a second one, which changes what this one may change besides."""
    lines = [ast.unparse(node)]
    if isinstance(node, ast.Assign | ast.AugAssign):
        lines.append(ast.unparse(node.value))  # whose arguments it may change
    if isinstance(node, ast.With | ast.AsyncWith):
        lines += [
            ast.unparse(item.context_expr) for item in node.items
        ]  # as `redirect_stdout(out)`
    for call in (inner for inner in ast.walk(node) if isinstance(inner, ast.Call)):
        methods = (argument for argument in call.args if isinstance(argument, ast.Attribute))
        # As of `f(seen.append)`.
        lines += [f"_({m.value.id})" for m in methods if isinstance(m.value, ast.Name)]
    return "\n".join(lines)


def _claims_nothing(node: ast.stmt) -> bool:
    """Say whether a statement fails whatever there is: ``assert False``, ``pytest.fail()``."""
    match node:
        case ast.Assert(test=ast.Constant()):
            return True
        case ast.Raise(exc=ast.Call(func=ast.Name(id="AssertionError"))):
            return True
        case ast.Expr(value=ast.Call(func=func)):
            return ast.unparse(func).rpartition(".")[2] == "fail"
    return False


def _deciding(body: Sequence[ast.stmt], line: int) -> Iterator[ast.stmt]:
    """Yield the statements that decide whether the one at `line` is reached.

    It stands inside of them, or below one that may return.
    """
    for node in body:
        inside = node.lineno < line <= (node.end_lineno or 0)
        if inside and isinstance(node, Function | ast.ClassDef):
            yield from _deciding(node.body, line)
        elif inside or (node.lineno < line and _may_return(node)):
            yield node


def _may_return(node: ast.stmt) -> bool:
    leaves = any(isinstance(inner, ast.Return) for inner in ast.walk(node))
    return leaves and not isinstance(node, Function | ast.ClassDef)


def _until(body: Sequence[ast.stmt], line: int) -> Iterator[ast.stmt]:
    """Yield the statements up to the one at `line`; of what that stands in the head alone."""
    for node in body:
        if node.lineno > line:
            return
        around = [b for b in bodies(node) if b[0].lineno <= line <= (b[-1].end_lineno or 0)]
        if not around:
            yield node
        elif isinstance(node, _Headed):
            head = copy(node)
            # What a block records, such as warnings, the statements in it have made.
            made = isinstance(node, ast.With | ast.AsyncWith)
            earlier = [n for n in node.body if made and (n.end_lineno or 0) < line]
            head.body = earlier or [ast.Pass()]
            yield head
        elif isinstance(node, ast.Try) and node.body not in around:
            yield from node.body
        for block in around:
            yield from _until(block, line)


def _is_standard(node: ast.Import | ast.ImportFrom, used: Collection[str]) -> bool:
    """Say whether an import takes what is used from Python's library, or from pytest."""
    if isinstance(node, ast.ImportFrom):
        modules = ["" if node.level else node.module or ""]
    else:
        names = ((alias.asname or alias.name.partition(".")[0], alias.name) for alias in node.names)
        modules = [module for name, module in names if name in used]
    standard = {*sys.stdlib_module_names, "pytest"} - _LEFT_IN
    return all(module.partition(".")[0] in standard for module in modules)


def pinned(test: CandidateTest, wrong: Collection[str], raised: Collection[str]) -> str:
    """Return what of the reported wrong behaviour the test demands, "" when nothing.

    `wrong` are the values that the report complains about, `raised` the simple names of exceptions.
    What stands in other tests of its file is not its demand.
    """
    tree = _function_of(test)
    for text in _demanded(tree):
        for value in wrong:
            if likeness(value, text) >= Likeness.SQUEEZED:
                return f"asserts the value that the report calls wrong: {text[:80]}"
    for name in _wanted_exceptions(tree):
        if name in raised:
            return f"asserts the exception that the report calls wrong: {name}"
    return ""


def _function_of(test: CandidateTest) -> ast.AST:
    """Return the function that a test is, where its file has others; else all of the file."""
    tree = parse_or_empty(test.source or "")
    functions = (node for node in ast.walk(tree) if isinstance(node, Function))
    tests = [node for node in functions if node.name.startswith("test")]
    name = test.name.partition("[")[0].rpartition("::")[2]
    own = [node for node in tests if node.name == name]
    return own[0] if own and len(tests) > 1 else tree


def _demanded(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Assert) and isinstance(node.test, ast.Compare):
            for operator, right in zip(node.test.ops, node.test.comparators, strict=True):
                if isinstance(operator, ast.Eq | ast.Is):
                    yield from _texts(right)
                    yield from _texts(node.test.left)
        elif isinstance(node, ast.Call) and _name(node.func) in ("assertEqual", "assertIs"):
            for argument in node.args[:2]:
                yield from _texts(argument)


def _texts(node: ast.expr) -> Iterator[str]:
    if isinstance(node, ast.Constant | ast.List | ast.Tuple | ast.Dict | ast.Set | ast.UnaryOp):
        yield ast.unparse(node)
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value
    elif isinstance(node, ast.BinOp):
        yield ast.unparse(node)


def _wanted_exceptions(tree: ast.AST) -> Iterator[str]:
    """Yield the exceptions that are asked for, but for those that are to say something."""
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call) or any(word.arg == "match" for word in node.keywords):
            continue
        if _name(node.func) in ("raises", "assertRaises"):
            for argument in node.args[:1]:
                parts = argument.elts if isinstance(argument, ast.Tuple) else [argument]
                yield from (_name(part) for part in parts)


def _name(node: ast.expr) -> str:
    return ast.unparse(node).rsplit(".", 1)[-1]
