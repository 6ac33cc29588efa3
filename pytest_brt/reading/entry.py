"""A traceback → the line of the user's code that called into the project."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from pytest_brt.reading.mend import mended_line
from pytest_brt.reading.mentions import is_runnable
from pytest_brt.syntax import parse

_FRAME = re.compile(
    r'^[^\S\n]*File "(?P<path>[^"\n]+)", line \d+(?:, in (?P<function>[^\n]+))?'
    r'(?:\n[^\S\n]+(?!File ")(?P<code>\S[^\n]*))?$'
    r"|^-+> ?\d+ (?P<cell>\S[^\n]*)$",
    re.MULTILINE,
)
_MODULE = "<module>"
_HEADER = "Traceback (most recent call last)"


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """A line that a traceback shows."""

    #: As it stands there.
    text: str
    #: The statement that is in it.
    source: str


@dataclass(frozen=True, slots=True, kw_only=True)
class _Frame:
    path: str
    function: str
    code: str


def entry_lines(text: str, is_project: Callable[[str], bool], *, alone: bool) -> tuple[Line, ...]:
    """Return the lines of a traceback that can be run by themselves, the innermost last.

    Args:
        text: the traceback.
        is_project: says whether a path in it is that of a file of the project.
        alone: the report has no other code so far. Then the line that calls into the project
            counts also where it stands in a function: its names may be known all the same.
    """
    modules = (frame for frame in _frames(text) if frame.function == _MODULE and frame.code)
    chosen = [(frame.code, _statement(frame.code, calls=False)) for frame in modules][:1]
    if alone:
        stack = list(_frames(text[max(text.rfind(_HEADER), 0) :]))
        inside = (number for number, frame in enumerate(stack) if is_project(frame.path))
        entry = stack[: next(inside, len(stack))][-1:]
        chosen += [(frame.code, _statement(frame.code, calls=True)) for frame in entry]
    found = {source: Line(text=code, source=source) for code, source in chosen if source}
    return tuple(found.values())


def _frames(text: str) -> Iterator[_Frame]:
    """Yield the frames in `text`; of a notebook, its first cell."""
    cells = False
    for match in _FRAME.finditer(text):
        if match["cell"]:
            if not cells:
                yield _Frame(path="", function=_MODULE, code=match["cell"].strip())
            cells = True
        else:
            function = (match["function"] or "").strip()
            yield _Frame(path=match["path"], function=function, code=(match["code"] or "").strip())


def _statement(code: str, *, calls: bool) -> str:
    """Return the statement in a line of a traceback, "" when there is none to run.

    Args:
        code: the line.
        calls: it is known to call something of the project, so a call without arguments is no
            function of the user's.
    """
    source = mended_line(code)
    node = parse(source).body[0] if source else None
    if isinstance(node, ast.Return) and node.value:
        source = ast.unparse(node.value)
        node = parse(source).body[0]
    if not isinstance(node, ast.Assign | ast.AnnAssign | ast.Expr) or not node.value:
        return ""
    found = [child for child in ast.walk(node.value) if isinstance(child, ast.Call)]
    if calls and found:
        return source
    shown = isinstance(node, ast.Expr) or found
    return source if shown and is_runnable(ast.unparse(node.value)) else ""
