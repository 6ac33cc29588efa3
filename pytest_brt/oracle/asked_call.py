"""The call that a bug test asks about: what it gives on patches, and a test of what is right.

That a value is no longer what the reporter complains about, or that nothing is raised any more, is
true of many patches that give different values. What they give is shown, and decides nothing; a
person may say which is right.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import replace

from pytest_brt.codec import content_id
from pytest_brt.edit.source_text import indented
from pytest_brt.pysource.parse import is_constant, is_literal, parse_or_empty
from pytest_brt.types import (
    CandidateTest,
    Given,
    JudgedTest,
    OracleKind,
    Review,
    Variation,
)


def call_of(test: CandidateTest) -> Variation | None:
    """Return what a test asks about: its set-up, and the expression that its last line looks at.

    None for methods, for tests with fixtures or marks, and for those that end in something else.
    """
    tree = parse_or_empty(test.source or "")
    above = [n for n in tree.body if not getattr(n, "name", "").lower().startswith("test")]
    for function in tree.body:
        if isinstance(function, ast.FunctionDef) and function.name == test.name:
            *body, last = [node for node in function.body if not is_constant(node)] or [ast.Pass()]
            while isinstance(last, ast.With | ast.Try):
                last = last.body[-1]
            expression, takes = _asked(last, body), ast.unparse(function.args)
            lines = [ast.unparse(node) for node in (*above, *body)]
            setup = [line for line in lines if not line.startswith("capsys.")]
            is_plain = takes in ("", "capsys") and not function.decorator_list
            if expression and is_plain and "capsys" not in expression:
                return Variation(test=test.id, statements=(*setup, expression))
    return None


def _asked(last: ast.stmt, body: list[ast.stmt]) -> str:
    """Return the expression that a statement looks at; what is printed is taken from `body`."""
    if not isinstance(last, ast.Assert | ast.Expr) or is_constant(last):
        return ""
    asked = last.test if isinstance(last, ast.Assert) else last.value
    if isinstance(asked, ast.Compare):
        asked = asked.comparators[0] if isinstance(asked.left, ast.Constant) else asked.left
    match asked, body:
        case ast.Call(func=ast.Name(id="repr"), args=[shown]), _:
            return ast.unparse(shown)
        case ast.Attribute(attr="out"), [*_, ast.Expr(ast.Call(ast.Name("print"), [shown], []))]:
            body.pop()
            return f"str({ast.unparse(shown)})"
    return ast.unparse(asked)


def stating(judged: JudgedTest, statements: Sequence[str], given: Given) -> JudgedTest:
    """Return the test that wants what a call gives on some patches, which a person calls right.

    `judged` is the bug test that asks about the call, or about one that was varied.
    """
    *lines, expression = statements
    if given.raised:
        module, _, name = given.raised.removeprefix("builtins.").rpartition(".")
        lines += ["import pytest", *([f"import {module}"] if module else [])]
        kind = f"{module}.{name}" if module else name
        lines.append(f"with pytest.raises({kind}):\n{indented(expression)}")
    elif is_literal(given.text):
        lines.append(f"assert {expression} == {given.text}")
    else:
        lines.append(f"assert repr({expression}) == {given.text!r}")
    name = f"{judged.test.name}_as_you_said"
    body = "\n".join(map(indented, lines))
    source = f"def {name}():\n{body}\n"
    right = "You said that this is right."
    test = replace(
        judged.test,
        id=content_id(judged.test.path, source),
        name=name,
        oracle=replace(judged.test.oracle, kind=OracleKind.EQUALS, sentence=right),
        source=source,
        expects=None,
    )
    return replace(judged, test=test, review=Review.ACCEPTED)
