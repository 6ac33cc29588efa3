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
from pytest_brt.observe.run_snippets import Result
from pytest_brt.oracle.draft import comparison
from pytest_brt.pysource.parse import code_of, is_constant, is_literal, parse_or_empty
from pytest_brt.types import (
    CandidateTest,
    Given,
    Oracle,
    OracleKind,
    Variation,
)


def call_of(test: CandidateTest) -> Variation | None:
    """Return what a test asks about: its set-up, and the expression that its last line looks at.

    None for methods, for tests with fixtures or marks, and for those that end in something else.
    """
    above: list[str] = []
    for node in parse_or_empty(test.source or "").body:
        match node:
            case ast.FunctionDef(name=test.name, decorator_list=[]) if not code_of(
                node.args
            ):
                *body, last = [line for line in node.body if not is_constant(line)] or [
                    ast.Pass()
                ]
                statements = (*above, *map(code_of, body), _asked(last))
                return (
                    Variation(test=test.id, statements=statements)
                    if statements[-1]
                    else None
                )
            case ast.FunctionDef() | ast.ClassDef() if node.name.lower().startswith("test"):
                continue
            case ast.Expr(ast.Constant()) | ast.If(ast.Compare(ast.Name("__name__"))):
                continue
        above.append(code_of(node))
    return None


def _asked(last: ast.stmt) -> str:
    """Return the expression that the last statement of a test looks at, "" for none."""
    match last:
        case ast.With(body=[*_, inner]) | ast.Try(body=[*_, inner]):
            return _asked(inner)
        case (
            ast.Assert(ast.Compare(ast.Call(ast.Name("repr"), [asked])))
            | ast.Assert(ast.Compare(ast.Constant(), comparators=[asked]))
            | ast.Assert(ast.Compare(asked))
            | ast.Assert(asked)
            | ast.Expr(asked)
        ):
            return "" if isinstance(asked, ast.Constant) else code_of(asked)
    return ""


def stating(test: CandidateTest, statements: Sequence[str], given: Given) -> CandidateTest:
    """Return the test that wants what a call gives on some patches, which a person calls right.

    `test` is the one that asks about the call, or about one that was varied.
    """
    *lines, expression = statements
    if given.raised:
        kind = given.raised.removeprefix("builtins.")
        lines += [
            f"import {module}" for module in ("pytest", kind.rpartition(".")[0]) if module
        ]
        lines.append(f"with pytest.raises({kind}):\n{indented(expression)}")
    else:
        evaluable = is_literal(given.text)
        result = Result(expression=expression, text=given.text, evaluable=evaluable)
        lines += comparison(result, "", differs=False)
    name = f"{test.name}_as_you_said"
    body = "\n".join(map(indented, lines))
    source = f"def {name}():\n{body}\n"
    return replace(
        test,
        id=content_id(test.path, source),
        name=name,
        oracle=Oracle(kind=OracleKind.EQUALS, sentence="You said that this is right."),
        source=source,
        expects=None,
    )
