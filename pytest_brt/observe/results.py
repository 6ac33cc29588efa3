"""The forms in which a statement of a report shows its result."""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass
from enum import StrEnum

from pytest_brt.observe.run_snippets import Observation
from pytest_brt.pysource.parse import is_literal, parse
from pytest_brt.report.match import Match, is_steady, quoted_in

_ENVIRONMENT = re.compile(
    r"__version__|show_versions|\bplatform\.|sys\.version|\.version\b|print_versions|__file__"
)
#: Characters of a result that is compared.
_LONGEST = 4000


class Form(StrEnum):
    """How a test gets hold of a result."""

    VALUE = "value"
    STR = "str"
    STDOUT = "stdout"


@dataclass(frozen=True, slots=True)
class Result:
    """One form of the result of one statement."""

    form: Form
    #: The expression whose value it is; for STDOUT the statement that prints it.
    expression: str
    #: What it looks like on the unpatched tree.
    text: str
    #: The value survives eval(repr(value)) == value.
    evaluable: bool = False
    type: str = ""

    @property
    def can_compare(self) -> bool:
        """Whether it is the same in every run and not too long."""
        return is_steady(self.text) and len(self.text) <= _LONGEST

    def quoted_by(self, text: str) -> Match:
        """Say how well a text quotes it; of a string, a literal quotes the value alone."""
        if self.form is Form.STR and self.type == "str" and is_literal(text):
            return Match.NONE
        return quoted_in(self.text, text)


def results_of(one: Observation, *, blank: bool = False) -> tuple[Result, ...]:
    """Return what a statement showed on the unpatched tree, most natural form first.

    With `blank` also what nobody sees: None, and blank lines.
    """
    source, did = one.source, one.result
    if did is None or did.raised is not None or _ENVIRONMENT.search(source):
        return ()
    expression, printed, value = shown_expression(source), printed_argument(source), did.value
    results: list[Result] = []
    if value and not value.is_none:
        kind = value.type
        results.append(Result(Form.VALUE, expression, value.repr, value.evaluable, kind))
        if value.text != value.repr:
            results.append(Result(Form.STR, expression, value.text, type=kind))
    elif value and not did.stdout and (blank or one.statement.is_inline):
        results.append(Result(Form.VALUE, expression, "None", evaluable=True))
    if printed and did.stdout:
        results.append(Result(Form.STR, printed, did.stdout.removesuffix("\n")))
    elif did.stdout:
        results.append(Result(Form.STDOUT, expression or source, did.stdout))
    return tuple(result for result in results if blank or result.text.strip())


def shown_expression(source: str) -> str:
    """Return the expression that a statement shows, "" when there is none."""
    node = parse(source).body[-1]
    return _segment(source, node.value) if isinstance(node, ast.Expr) else ""


def evaluated_expression(source: str) -> str:
    """Return the expression that a statement evaluates: shown, or bound to a name."""
    match parse(source).body[-1]:
        case ast.Assign(targets=[ast.Name() | ast.Tuple() | ast.List()], value=value):
            return _segment(source, value)
    return shown_expression(source)


def printed_argument(source: str) -> str:
    """Return X for `print(X)`, "" for anything else."""
    match parse(source).body[-1]:
        case ast.Expr(ast.Call(ast.Name("print"), [argument], [])):
            return "" if isinstance(argument, ast.Starred) else _segment(source, argument)
    return ""


def _segment(source: str, node: ast.expr) -> str:
    return ast.get_source_segment(source, node) or ast.unparse(node)
