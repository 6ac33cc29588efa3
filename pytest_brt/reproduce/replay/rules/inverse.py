"""Oracles about functions that belong together: round trips, and doing it twice."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from pytest_brt.oracle.priors import PRIORS
from pytest_brt.reproduce.replay.display import Form, displays
from pytest_brt.reproduce.replay.draft import Draft
from pytest_brt.reproduce.replay.rules.view import View
from pytest_brt.syntax import parse
from pytest_brt.types import OracleKind

_ROUND_TRIP = re.compile(r"\bround[- ]?trip|\binverse\b|\bback (?:to|into|again)\b", re.IGNORECASE)
_TWICE = re.compile(
    r"\bidempoten|\btwice\b|\bsecond (?:time|call|run|pass)\b|\bagain\b|\brepeated(?:ly)?\b",
    re.IGNORECASE,
)
_PAIRS = (
    ("dumps", "loads"), ("dump", "load"), ("encode", "decode"), ("serialize", "deserialize"),
    ("pack", "unpack"), ("quote", "unquote"), ("escape", "unescape"), ("format", "parse"),
    ("unparse", "parse"), ("write", "read"), ("compress", "decompress"), ("encrypt", "decrypt"),
    ("to_", "from_"), ("flatten", "unflatten"), ("save", "load"), ("forward", "inverse"),
)  # fmt: skip


def round_trip(view: View) -> Iterator[Draft]:
    """What one function makes, its inverse must turn back, when the report says so."""
    if not _ROUND_TRIP.search(view.issue.text):
        return
    for index, expression, call, argument in _calls(view):
        inverse = _inverse(ast.unparse(call.func))
        if not inverse or inverse.split(".")[-1] not in view.issue.text:
            continue
        yield Draft(
            kind=OracleKind.ROUND_TRIP,
            index=index,
            body=(f"assert {inverse}({expression}) == {argument}",),
            sentence=f"`{inverse}` must undo `{ast.unparse(call.func)}`.",
            score=PRIORS[OracleKind.ROUND_TRIP],
            reasons=("the report speaks of a round trip",),
            about=inverse.split(".")[-1],
        )


def idempotent(view: View) -> Iterator[Draft]:
    """Doing it again must change nothing, when the report says so."""
    if not _TWICE.search(view.issue.text):
        return
    strong = bool(re.search(r"\bidempoten", view.issue.text, re.IGNORECASE))
    for index, expression, call, argument in _calls(view):
        function = ast.unparse(call.func)
        rest = [ast.unparse(a) for a in call.args[1:]]
        rest += [ast.unparse(keyword) for keyword in call.keywords]
        if not strong and f"{function}({function}(" not in view.issue.text.replace(" ", ""):
            continue
        again = f"{function}({', '.join([expression, *rest])})"
        yield Draft(
            kind=OracleKind.IDEMPOTENT,
            index=index,
            body=(f"assert {again} == {expression}",),
            sentence=f"`{function}` applied to its own result must change nothing: {argument}.",
            score=PRIORS[OracleKind.IDEMPOTENT] if strong else 0.25,
            reasons=("the report speaks of doing it twice",),
            about=function.split(".")[-1],
        )


def _calls(view: View) -> Iterator[tuple[int, str, ast.Call, str]]:
    """Yield the statements that show the value of a plain call of one argument or more."""
    for index, seen in enumerate(view.seen):
        shown = displays(seen)
        if not shown or shown[0].form is not Form.VALUE or seen.missing:
            continue
        node = parse(shown[0].expression).body[0]
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call) and node.value.args:
            yield index, shown[0].expression, node.value, ast.unparse(node.value.args[0])


def _inverse(function: str) -> str:
    head, dot, name = function.rpartition(".")
    for one, other in _PAIRS:
        for first, second in ((one, other), (other, one)):
            if name == first or (first in name and (first.endswith("_") or f"{first}_" in name)):
                return f"{head}{dot}{name.replace(first, second)}"
    return ""
