"""Tracebacks as people paste them: from Python, IPython, Jupyter and pytest."""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import pairwise

from pytest_brt.types import Frame, Raised

#: "ValueError: text", "pkg.errors.ParseError", "KeyError" at the start of a line.
_FINAL = re.compile(
    r"^(?:E\s+)?(?P<type>(?:[A-Za-z_]\w*\.)*"
    r"[A-Z]\w*(?:Error|Exception|Warning|Interrupt|Exit|Failure|Fault|Timeout|Iteration))"
    r"(?::[ \t]?(?P<message>.*))?$"
)
#: Any name, where a traceback's frames have just ended.
_FINAL_AFTER_FRAMES = re.compile(
    r"^(?P<type>(?:[A-Za-z_]\w*\.)*[A-Za-z_]\w*)(?::[ \t](?P<message>.*)|:)?$"
)
#: How a traceback begins.
HEADER = "Traceback (most recent call last)"
_PYTHON_FRAME = re.compile(
    r'^\s*File "(?P<path>[^"\n]+)", line (?P<line>\d{1,8})(?:, in (?P<function>\S+))?'
)
_JUPYTER_FRAME = re.compile(
    r"^(?P<path>[~/\w<.][^\s()]*(?:\.py|>))(?:\:(?P<line>\d{1,8}))? in (?P<function>[\w<>.]+)\("
)
_JUPYTER_NEW_FRAME = re.compile(
    r"^File (?P<path>[^\s:]+):(?P<line>\d{1,8}), in (?P<function>[\w<>.]+)"
)
_PYTEST_FRAME = re.compile(r"^(?P<path>[\w./-]+\.py):(?P<line>\d{1,8}): (?:in (?P<function>\S+))?")
#: A line that is no message of an exception whose own line has none.
_NO_MESSAGE = re.compile(r"^\s*(?:>>>|In \[|\.\.\.)|:")
_ARROW_LINE = re.compile(r"^-+> ?(?P<line>\d{1,8})\b")


def read_tracebacks(text: str) -> tuple[Raised, ...]:
    r"""Return the exceptions shown in `text`, in order, each with the frames above it.

    A chain ("During handling of the above exception …") gives one entry per link; the
    last is what the caller saw.

    >>> read_tracebacks('Traceback (most recent call last):\nKeyError: 1')[0].type
    'KeyError'
    """
    found: list[Raised] = []
    frames: list[Frame] | None = None
    lines = [line.rstrip() for line in text.split("\n")]
    for line, following in pairwise([*lines, ""]):
        if HEADER in line:  # Jupyter begins it with the name of the exception
            frames = []
        elif frame := _frame(line):
            frames = [*(frames or ()), frame]
        elif frames and not frames[-1].line and (arrow := _ARROW_LINE.match(line)):
            frames[-1] = replace(frames[-1], line=int(arrow["line"]))
        else:
            match = _FINAL.match(line if frames is None else line.lstrip())
            if match is None and frames and not line.startswith((" ", "\t", "-", "|")):
                match = _FINAL_AFTER_FRAMES.match(line)
            if match:
                message = match["message"] or ""
                if match[0].endswith(":") and not _NO_MESSAGE.search(following):
                    message = following
                found.append(
                    Raised(type=match["type"], message=message.strip(), frames=tuple(frames or ()))
                )
                frames = None
    return tuple(found)


def final_exception(text: str) -> Raised | None:
    """Return the exception that ended what `text` shows, or None when there is none."""
    return next(reversed(read_tracebacks(text)), None)


def _frame(line: str) -> Frame | None:
    for pattern in (_PYTHON_FRAME, _JUPYTER_NEW_FRAME, _JUPYTER_FRAME, _PYTEST_FRAME):
        if match := pattern.match(line):
            function = (match["function"] or "<module>").strip(",").rpartition(".")[2]
            return Frame(path=match["path"], line=int(match["line"] or 0), function=function)
    return None
