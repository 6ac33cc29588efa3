"""The forms in which a statement of a report shows its result."""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass
from enum import StrEnum

from pytest_brt.issue.alike import ADDRESS, Likeness, is_steady, quoted_in
from pytest_brt.observe.watch import Seen
from pytest_brt.pysource.parse import bodies, is_literal, parse

_ENVIRONMENT = re.compile(
    r"__version__|show_versions|\bplatform\.|sys\.version|\.version\b|print_versions|__file__"
)
#: What an object looks like that says nothing of itself.
_ADDRESS_ALONE = re.compile(rf"<[^<>]* at {ADDRESS.pattern}>")


class Form(StrEnum):
    """How a result is got hold of in a test."""

    VALUE = "value"
    STR = "str"
    STDOUT = "stdout"


@dataclass(frozen=True, slots=True, kw_only=True)
class Display:
    """One form of the result of one statement."""

    form: Form
    #: The expression whose value it is; for STDOUT the statement that prints it.
    expression: str
    #: What it looked like on the buggy tree.
    text: str
    #: The value survives eval(repr(value)) == value.
    evaluable: bool = False
    type: str = ""


def displays(seen: Seen, *, blank: bool = False) -> tuple[Display, ...]:
    """Return what the statement showed on the buggy tree, most natural form first.

    With `blank` also what nobody sees: None, and blank lines.
    """
    did = seen.did
    if did is None or did.raised is not None or _ENVIRONMENT.search(seen.step.source):
        return ()
    expression = shown_expression(seen.step.source)
    if not expression:
        return _printed_inside(seen.step.source, did.stdout)
    found: list[Display] = []
    printed = printed_argument(seen.step.source)
    if did.value is not None and not did.value.is_none:
        value = did.value
        found.append(
            Display(
                form=Form.VALUE,
                expression=expression,
                text=value.repr,
                evaluable=value.evaluable,
                type=value.type,
            )
        )
        if value.text != value.repr:
            found.append(
                Display(form=Form.STR, expression=expression, text=value.text, type=value.type)
            )
    elif did.value is not None and not did.stdout and (seen.step.inline or blank):
        found.append(Display(form=Form.VALUE, expression=expression, text="None", evaluable=True))
    if did.stdout.strip("\n") or (blank and did.stdout):
        if printed:
            found.append(
                Display(form=Form.STR, expression=printed, text=did.stdout.removesuffix("\n"))
            )
        else:
            found.append(Display(form=Form.STDOUT, expression=expression, text=did.stdout))
    return tuple(display for display in found if blank or display.text.strip())


def _printed_inside(source: str, stdout: str) -> tuple[Display, ...]:
    """Return what a loop, or another statement around others, printed; () where it did not."""
    is_compound = any(bodies(parse(source).body[-1]))
    if not is_compound or not stdout.strip():
        return ()
    return (Display(form=Form.STDOUT, expression=source, text=stdout),)


def shown_expression(source: str) -> str:
    """Return the expression that a statement shows or binds, "" when there is none."""
    node = parse(source).body[-1]
    if isinstance(node, ast.Expr):
        return ast.get_source_segment(source, node.value) or ast.unparse(node.value)
    return ""


def ran_expression(source: str) -> str:
    """Return the expression that a statement evaluates: shown, or bound to a name."""
    node = parse(source).body[-1]
    targets = [node.target] if isinstance(node, ast.AnnAssign) else getattr(node, "targets", [])
    plain = all(isinstance(target, ast.Name | ast.Tuple | ast.List) for target in targets)
    if isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None and plain:
        return ast.get_source_segment(source, node.value) or ast.unparse(node.value)
    return shown_expression(source)


def printed_argument(source: str) -> str:
    """Return X for `print(X)`, "" for anything else."""
    match parse(source).body[-1]:
        case ast.Expr(value=ast.Call(func=ast.Name(id="print"), args=[argument], keywords=[])):
            if not isinstance(argument, ast.Starred):
                return ast.get_source_segment(source, argument) or ast.unparse(argument)
    return ""


def quotes(text: str, display: Display) -> Likeness:
    """Say how well `text` quotes a result; of a string, a literal quotes the value alone."""
    if display.form is Form.STR and display.type == "str" and is_literal(text):
        return Likeness.NONE
    return quoted_in(display.text, text)


def can_compare(display: Display) -> bool:
    """Say whether the result says the same in every run, addresses aside, and is not too long."""
    steady = display.form is not Form.STDOUT or is_steady(display.text)
    alone = _ADDRESS_ALONE.fullmatch(display.text.strip())
    return steady and not alone and len(display.text) <= 4000
