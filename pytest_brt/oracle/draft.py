"""What an oracle wants tested, before a test is written of it, and how it compares a result."""

from __future__ import annotations

import ast
import re
from pprint import pformat

from pytest_brt.observe.run_snippets import Result
from pytest_brt.pysource.parse import parse_or_empty
from pytest_brt.types import Evidence, OracleKind, Raised
from pytest_brt.types.note import value

#: Columns of a string.
_WIDTH = 65


@value
class Draft:
    """A test that an oracle wants."""

    kind: OracleKind
    #: Lines of the test after its set-up.
    body: tuple[str, ...]
    #: What it demands, in one sentence.
    sentence: str
    #: Index of the statement it is about; None when it is about a command.
    index: int | None = None
    #: What the failure must look like on the unpatched tree; None for a failed assertion.
    expects: Raised | None = None
    evidence: Evidence = Evidence.OTHER
    #: How much says that it is about this statement; orders drafts of the same evidence.
    signs: int = 0
    #: Run every earlier statement first, not only those it depends on.
    whole: bool = False


def one_line(text: str) -> str:
    r"""Return `text` on one line, with the blanks inside its lines as they are.

    >>> one_line("f(\n    'a  b')\n")
    "f( 'a  b')"
    """
    return re.sub(r"\s*\n\s*", " ", text.strip())


def shorten(source: str) -> str:
    """Return a statement on one line, cut where it is long."""
    line = one_line(source)
    return line if len(line) <= 120 else line[:117] + "..."


def comparison(result: Result, other: str, *, differs: bool) -> tuple[str, ...]:
    """Return the lines that compare a result with `other`.

    That is Python source, "" for what the result itself is.
    """
    expression, same = _grouped(result.expression), "!=" if differs else "=="
    if not other and not result.evaluable and not result.is_printed:
        expression = f"repr({result.expression})"
    other = other or (result.text if result.evaluable else repr(result.text))
    if other == "None" or (
        other in ("True", "False") and result.type in ("", "bool", "NoneType")
    ):
        same = "is not" if differs else "is"
    return (*result.before, f"assert {expression} {same} {_grouped(other)}")


def _grouped(expression: str) -> str:
    """Return `expression`, in parentheses where it binds no stronger than a comparison."""
    text = expression.strip()
    match parse_or_empty(f"{text} == 0").body:
        case [ast.Expr(ast.Compare(ast.Constant(str(value)), [_]))]:
            return literal(value)
        case [ast.Expr(ast.Compare(_, [_]))] if "\n" not in text:
            return text
    return f"({text})"


def literal(text: str) -> str:
    """Return a Python string literal for `text`; one that is long as adjacent literals.

    >>> literal("a")
    '"a"'
    """
    shown = pformat(text, width=_WIDTH)
    if "\n" in shown:  # where it is indented, all its lines but the first stay as they are
        parts = shown[1:-1].replace("\n ", "\n        ")
        shown = f"(\n    {parts}\n)"
    return shown if '"' in shown else shown.replace("'", '"')
