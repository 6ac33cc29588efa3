"""Tracebacks as people paste them: from Python, IPython, Jupyter and pytest."""

from __future__ import annotations

import re
from dataclasses import replace

from pytest_brt.types import Frame, Raised

#: "ValueError: text", "pkg.errors.ParseError", "KeyError" at the start of a line.
_FINAL = re.compile(
    r"^(?:E\s+)?(?P<type>(?:[A-Za-z_]\w*\.)*"
    r"[A-Z]\w*(?:Error|Exception|Warning|Interrupt|Exit|Failure|Fault|Timeout|Iteration))"
    r"(?::[ \t]?(?P<message>.*))?$"
)
#: Any name, where a traceback's frames have just ended.
_FINAL_AFTER_FRAMES = re.compile(
    r"^(?:E\s+)?(?P<type>(?:[A-Za-z_]\w*\.)*[A-Za-z_]\w*)(?::[ \t](?P<message>.*)|:)?$"
)
#: How a traceback begins.
_HEADER = "Traceback (most recent call last)"
_FRAMES = tuple(
    re.compile(pattern)
    for pattern in (
        r'^\s*File "(?P<path>[^"\n]+)", line (?P<line>\d{1,8})(?:, in (?P<function>\S+))?',
        # Jupyter's, new and old, and pytest's.
        r"^File (?P<path>[^\s:]+):(?P<line>\d{1,8}), in (?P<function>[\w<>.]+)",
        r"^(?P<path>[~/\w<.][^\s()]*(?:\.py|>))(?:\:(?P<line>\d{1,8}))?"
        r" in (?P<function>[\w<>.]+)\(",
        r"^(?P<path>[\w./-]+\.py):(?P<line>\d{1,8}): (?:in (?P<function>\S+))?",
    )
)
#: Where Jupyter's older frames show their line.
_ARROW = re.compile(r"^-+> ?(?P<line>\d{1,8})\b")


def read_tracebacks(text: str) -> tuple[Raised, ...]:
    r"""Return the exceptions shown in `text`, in order, each with the frames above it.

    A chain ("During handling of the above exception …") gives one entry per link; the
    last is what the caller saw.

    >>> read_tracebacks('Traceback (most recent call last):\nKeyError: 1')[0].type
    'KeyError'
    """
    shown: list[Raised] = []
    frames: list[Frame] = []
    for line in map(str.rstrip, text.split("\n")):
        if _HEADER in line:  # Jupyter begins it with the name of the exception
            frames = []
        elif frame := _frame(line):
            frames.append(frame)
        elif frames and not frames[-1].line and (arrow := _ARROW.match(line)):
            frames[-1] = replace(frames[-1], line=int(arrow["line"]))
        elif final := (_FINAL_AFTER_FRAMES if frames else _FINAL).match(line):
            message = (final["message"] or "").strip()
            shown.append(Raised(type=final["type"], message=message, frames=tuple(frames)))
            frames = []
    return tuple(shown)


def final_exception(text: str) -> Raised | None:
    """Return the exception that ended what `text` shows, or None when there is none."""
    return next(reversed(read_tracebacks(text)), None)


def _frame(line: str) -> Frame | None:
    for pattern in _FRAMES:
        if match := pattern.match(line):
            function = (match["function"] or "<module>").rpartition(".")[2]
            return Frame(
                path=match["path"], line=int(match["line"] or 0), function=function
            )
    return None
