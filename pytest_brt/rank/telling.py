"""Has a test tell the value that it saw, in the message of an error that it ends with."""

from __future__ import annotations

import ast
import copy

from pytest_brt.syntax import parse
from pytest_brt.types import CandidateTest, OracleKind

#: What a test says in front of the value that it saw.
SAW = "saw "
#: Characters of a value that are compared and kept.
LONGEST = 2000
#: A name that no report uses.
TOLD = "brt_told"


def observing(tree: ast.Module, test: CandidateTest, *, decides: bool) -> ast.Module:
    """Return the module, its assertion replaced by telling the value where it is to be told.

    Of a test that decides, and that only asks for no exception, the last value is told.

    Raises:
        ValueError: the test is of another form.
    """
    tree = copy.deepcopy(tree)
    function = the_test(tree, test)
    if decides:
        if test.oracle.kind is OracleKind.NO_RAISE:
            function.body[-1:] = _telling_last(function.body[-1])
        return tree
    raising = test.oracle.kind is OracleKind.MUST_RAISE
    for place, statement in enumerate(function.body):
        if raising and isinstance(statement, ast.With):
            function.body[place:] = _telling(statement)
            return tree
        if not raising and isinstance(statement, ast.Assert):
            seen = _subject(statement.test)
            told = f"raise AssertionError({SAW!r} + repr({ast.unparse(seen)})[:{LONGEST}])"
            function.body[place:] = parse(told).body
            return tree
    raise ValueError("no assertion at the top level of the test")


def _telling_last(statement: ast.stmt) -> list[ast.stmt]:
    """Return a statement and what tells its value; the statement alone when it has none."""
    if isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Name):
        kept, value = ast.unparse(statement), statement.targets[0].id
    elif isinstance(statement, ast.Expr) and not isinstance(statement.value, ast.Constant):
        kept, value = "pass", ast.unparse(_printed(statement.value))
    else:
        return [statement]
    return parse(
        f"{kept}\n{TOLD} = {value}\n"
        f"try:\n    {TOLD} = repr({TOLD})[:{LONGEST}]\n"
        f"except Exception:\n    {TOLD} = 'a value without repr'\n"
        f"raise AssertionError({SAW!r} + {TOLD})"
    ).body


def _printed(value: ast.expr) -> ast.expr:
    """Return what is printed as a text, where nothing else is done; else the value itself."""
    if (
        isinstance(value, ast.Call)
        and ast.unparse(value.func) == "print"
        and len(value.args) == 1
        and not isinstance(value.args[0], ast.Starred)
        and not value.keywords
    ):
        return ast.Call(func=ast.Name("str", ast.Load()), args=value.args, keywords=[])
    return value


def _telling(block: ast.With) -> list[ast.stmt]:
    """Return what tells, instead of ``with pytest.raises(E): f()``, what f() gives, or that E came.

    Messages are left out: patches that refuse an input do so in their own words.
    """
    call = block.items[0].context_expr
    inner = block.body[0]
    if (
        len(block.items) > 1
        or len(block.body) > 1
        or not isinstance(inner, ast.Expr)
        or not isinstance(call, ast.Call)
        or not ast.unparse(call.func).endswith("raises")
        or not call.args
    ):
        raise ValueError("no call that is to raise")
    kind = ast.unparse(call.args[0])
    return parse(
        f"try:\n    seen = repr({ast.unparse(inner.value)})[:{LONGEST}]\n"
        f"except {kind}:\n    seen = {'raises ' + kind!r}\n"
        f"raise AssertionError({SAW!r} + seen)"
    ).body


def _subject(test: ast.expr) -> ast.expr:
    """Return the side of an assertion that calls something: what is asked about."""
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        return _subject(test.operand)
    if isinstance(test, ast.Compare) and len(test.comparators) == 1:
        sides = [test.left, test.comparators[0]]
        calling = [side for side in sides if any(isinstance(n, ast.Call) for n in ast.walk(side))]
        return (calling or sides)[0]
    return test


def the_test(tree: ast.Module, test: CandidateTest) -> ast.FunctionDef:
    """Return the function of a module that is the test.

    Raises:
        ValueError: there is none.
    """
    name = test.name.rpartition("::")[2].partition("[")[0]
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef) and node.name == name:
            return node
    raise ValueError(f"no function {name!r}")
