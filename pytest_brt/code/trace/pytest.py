"""Failures as pytest reports them, long and short."""

from __future__ import annotations

import re
from collections.abc import Sequence

from pytest_brt.code.trace.ending import named_exception
from pytest_brt.code.trace.marks import CHAIN, PROMPT
from pytest_brt.code.trace.pasted import PastedTrace
from pytest_brt.types import Frame, Raised

_PLACE = re.compile(
    r"^\s*(?P<path>[^\s:>`'\"()]+\.py):(?P<line>\d+):"
    r"(?:\s+(?:in (?P<function>\S+)|(?P<type>[\w.]+)))?\s*$"
)
_ERROR = re.compile(r"^\s*E( {2,}|$)(?P<text>.*)$")
_TITLE = re.compile(r"^\s*(?:_{3,} .* _{3,}|={3,} .* ={3,}|-{3,} .* -{3,})\s*$")
_DEFINITION = re.compile(r"^\s*(?:async )?def (\w+)\(")


def is_pytest_start(line: str) -> bool:
    """Return whether `line` is one that only pytest prints: an error, or a place."""
    return bool(_PLACE.match(line) or _ERROR.match(line))


def read_pytest(lines: Sequence[str], at: int, read: int) -> PastedTrace | None:
    """Read pytest's own report of one failure, from its first recognisable line.

    In the long style the place stands below its code, in the short style above it.
    """
    start = _start(lines, at, read)
    frames: list[Frame] = []
    errors: list[str] = []
    function, kind, end = "", "", at
    for index in range(start, len(lines)):
        line = lines[index]
        if index > at and (_TITLE.match(line) or PROMPT.match(line)):
            break
        if CHAIN.match(line) or (errors and kind and _DEFINITION.match(line)):
            break
        definition = _DEFINITION.match(line)
        place = _PLACE.match(line)
        error = _ERROR.match(line)
        if definition:
            function = definition.group(1)
        elif error:
            errors.append(error["text"])
            end = index
        elif place:
            name = place["function"] or function or "<module>"
            frames.append(Frame(path=place["path"], line=int(place["line"]), function=name))
            kind, end = place["type"] or kind, index
            if place["type"]:
                break
    if not frames or not (kind or errors):
        return None
    named_kind, message = _error(errors)
    raised = Raised(type=named_kind or kind, message=message, frames=tuple(frames))
    return PastedTrace(raised=raised, line=start + 1, end_line=end + 1)


def _start(lines: Sequence[str], at: int, read: int) -> int:
    """Return where the code above the first error line begins: at its ``def``, if it shows one."""
    for index in range(at, max(read, at - 60) - 1, -1):
        if _TITLE.match(lines[index]) or PROMPT.match(lines[index]):
            return index + 1
        if _DEFINITION.match(lines[index]):
            return index
    return at


def _error(errors: Sequence[str]) -> tuple[str, str]:
    """Return type and message that pytest's ``E`` lines tell."""
    texts = [text.strip() for text in errors]
    if not texts:
        return "", ""
    named = named_exception(texts[0])
    if named:
        return named[0], "\n".join([named[1], *texts[1:]]).strip()
    if texts[0].startswith("assert "):
        return "AssertionError", "\n".join(texts).strip()
    return "", "\n".join(texts).strip()
