"""The forms in which a statement of a report shows its result."""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass
from enum import StrEnum

from pytest_brt.observe.run_snippets import Observation
from pytest_brt.pysource.parse import bodies, is_literal, parse
from pytest_brt.report.match import ADDRESS, Match, is_steady, quoted_in

_ENVIRONMENT = re.compile(
    r"__version__|show_versions|\bplatform\.|sys\.version|\.version\b|print_versions|__file__"
)
#: What an object looks like that says nothing of itself.
_ADDRESS_ALONE = re.compile(rf"<[^<>]* at {ADDRESS.pattern}>")
#: Characters of a result that is compared.
_LONGEST = 4000


class Form(StrEnum):
    """How a test gets hold of a result."""

    VALUE = "value"
    STR = "str"
    STDOUT = "stdout"


@dataclass(frozen=True, slots=True, kw_only=True)
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
        """Whether it is the same in every run, addresses aside, and not too long."""
        steady = self.form is not Form.STDOUT or is_steady(self.text)
        alone = _ADDRESS_ALONE.fullmatch(self.text.strip())
        return steady and not alone and len(self.text) <= _LONGEST

    def quoted_by(self, text: str) -> Match:
        """Say how well a text quotes it; of a string, a literal quotes the value alone."""
        if self.form is Form.STR and self.type == "str" and is_literal(text):
            return Match.NONE
        return quoted_in(self.text, text)


def results_of(observation: Observation, *, blank: bool = False) -> tuple[Result, ...]:
    """Return what a statement showed on the unpatched tree, most natural form first.

    With `blank` also what nobody sees: None, and blank lines.
    """
    source, did = observation.source, observation.result
    if did is None or did.raised is not None or _ENVIRONMENT.search(source):
        return ()
    expression, value = shown_expression(source), did.value
    results: list[Result] = []
    if not expression:
        is_compound = any(bodies(parse(source).body[-1]))
        if is_compound and did.stdout.strip():
            results.append(Result(form=Form.STDOUT, expression=source, text=did.stdout))
        return tuple(results)
    if value is not None and not value.is_none:
        shown = Result(
            form=Form.VALUE,
            expression=expression,
            text=value.repr,
            evaluable=value.evaluable,
            type=value.type,
        )
        results.append(shown)
        if value.text != value.repr:
            results.append(
                Result(form=Form.STR, expression=expression, text=value.text, type=value.type)
            )
    elif value is not None and not did.stdout and (observation.statement.is_inline or blank):
        results.append(Result(form=Form.VALUE, expression=expression, text="None", evaluable=True))
    if did.stdout.strip("\n") or (blank and did.stdout):
        printed = printed_argument(source)
        text = did.stdout.removesuffix("\n") if printed else did.stdout
        form = Form.STR if printed else Form.STDOUT
        results.append(Result(form=form, expression=printed or expression, text=text))
    return tuple(result for result in results if blank or result.text.strip())


def shown_expression(source: str) -> str:
    """Return the expression that a statement shows, "" when there is none."""
    node = parse(source).body[-1]
    return _segment(source, node.value) if isinstance(node, ast.Expr) else ""


def evaluated_expression(source: str) -> str:
    """Return the expression that a statement evaluates: shown, or bound to a name."""
    node = parse(source).body[-1]
    targets = [node.target] if isinstance(node, ast.AnnAssign) else getattr(node, "targets", [])
    plain = all(isinstance(target, ast.Name | ast.Tuple | ast.List) for target in targets)
    if isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None and plain:
        return _segment(source, node.value)
    return shown_expression(source)


def printed_argument(source: str) -> str:
    """Return X for `print(X)`, "" for anything else."""
    match parse(source).body[-1]:
        case ast.Expr(value=ast.Call(func=ast.Name(id="print"), args=[argument], keywords=[])):
            if not isinstance(argument, ast.Starred):
                return _segment(source, argument)
    return ""


def _segment(source: str, node: ast.expr) -> str:
    return ast.get_source_segment(source, node) or ast.unparse(node)
