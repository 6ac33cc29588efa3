"""Turns an assertion round without a model, where the report itself says that it is wrong."""

from __future__ import annotations

import ast

from pytest_brt.reading.compare import Likeness, likeness
from pytest_brt.reproduce.model_tests.layout import laid_out
from pytest_brt.syntax import parse


def flipped(source: str, wrong: tuple[str, ...], raised: tuple[str, ...]) -> str:
    """Return `source` without its demand for what the report complains about; "" when it has none.

    ``== wrong`` becomes ``!= wrong``; the body of ``pytest.raises`` is left to run. Either says
    less than the right value would: any other outcome passes.

    Args:
        source: a test module that passes on the buggy tree.
        wrong: values that the report complains about.
        raised: simple names of exceptions that it complains about.

    Raises:
        SyntaxError: `source` is not Python.
    """
    tree = parse(source)
    turner = _Turner(wrong, raised)
    body = ast.fix_missing_locations(turner.visit(tree)).body
    return laid_out(body, source, changed=body) if turner.changed else ""


class _Turner(ast.NodeTransformer):
    """Rewrites assertions of one module."""

    def __init__(self, wrong: tuple[str, ...], raised: tuple[str, ...]) -> None:
        self.changed = False
        self._wrong = wrong
        self._raised = raised

    def visit_Assert(self, node: ast.Assert) -> ast.AST:
        test = node.test
        if isinstance(test, ast.Compare) and len(test.ops) == 1:
            texts = [ast.unparse(side) for side in (test.left, *test.comparators)]
            texts += [
                side.value
                for side in (test.left, *test.comparators)
                if isinstance(side, ast.Constant) and isinstance(side.value, str)
            ]
            demanded = any(likeness(w, t) >= Likeness.SQUEEZED for w in self._wrong for t in texts)
            if demanded and isinstance(test.ops[0], ast.Eq | ast.Is):
                is_same = isinstance(test.ops[0], ast.Is)
                test.ops = [ast.IsNot() if is_same else ast.NotEq()]
                self.changed = True
        return node

    def visit_With(self, node: ast.With) -> ast.AST | list[ast.stmt]:
        self.generic_visit(node)
        if len(node.items) != 1 or node.items[0].optional_vars is not None:
            return node
        call = node.items[0].context_expr
        if not (isinstance(call, ast.Call) and ast.unparse(call.func).endswith("raises")):
            return node
        names = {ast.unparse(argument).rsplit(".", 1)[-1] for argument in call.args[:1]}
        if not names & set(self._raised):
            return node
        self.changed = True
        return node.body
