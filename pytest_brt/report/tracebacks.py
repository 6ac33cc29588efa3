"""Tracebacks as people paste them: from Python, IPython, Jupyter and pytest."""

from __future__ import annotations

import re

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
    r'^\s*File "(?P<path>[^"\n]+)", line (?P<line>\d+)(?:, in (?P<function>\S+))?'
)
_JUPYTER_FRAME = re.compile(
    r"^(?P<path>[~/\w<.][^\s()]*(?:\.py|>))(?:\:(?P<line>\d+))? in (?P<function>[\w<>.]+)\("
)
_JUPYTER_NEW_FRAME = re.compile(r"^File (?P<path>[^\s:]+):(?P<line>\d+), in (?P<function>[\w<>.]+)")
_PYTEST_FRAME = re.compile(r"^(?P<path>[\w./-]+\.py):(?P<line>\d+): (?:in (?P<function>\S+))?")
_ARROW_LINE = re.compile(r"^-+> ?(?P<line>\d+)\b")


def read_tracebacks(text: str) -> tuple[Raised, ...]:
    r"""Return the exceptions shown in `text`, in order, each with the frames above it.

    A chain ("During handling of the above exception …") gives one entry per link; the
    last is what the caller saw.

    >>> read_tracebacks('Traceback (most recent call last):\nKeyError: 1')[0].type
    'KeyError'
    """
    found: list[Raised] = []
    frames: list[Frame] = []
    inside = False
    lines = text.split("\n")
    position = 0
    while position < len(lines):
        line = lines[position].rstrip()
        position += 1
        if HEADER in line:  # Jupyter begins it with the name of the exception
            frames, inside = [], True
            continue
        frame = _frame(line)
        if frame is not None:
            frames.append(frame)
            inside = True
            continue
        arrow = _ARROW_LINE.match(line)
        if arrow and frames and not frames[-1].line:
            last = frames[-1]
            frames[-1] = Frame(path=last.path, line=_number(arrow["line"]), function=last.function)
            continue
        match = _FINAL.match(line.lstrip() if inside else line)
        if match is None and inside and frames and not line.startswith((" ", "\t", "-", "|")):
            match = _FINAL_AFTER_FRAMES.match(line)
        if match is None:
            continue
        message, position = _message(match["message"] or "", lines, position)
        found.append(Raised(type=match["type"], message=message, frames=tuple(frames)))
        frames, inside = [], False
    return tuple(found)


def final_exception(text: str) -> Raised | None:
    """Return the exception that ended what `text` shows, or None when there is none."""
    found = read_tracebacks(text)
    return found[-1] if found else None


def _frame(line: str) -> Frame | None:
    for pattern in (_PYTHON_FRAME, _JUPYTER_NEW_FRAME, _JUPYTER_FRAME, _PYTEST_FRAME):
        match = pattern.match(line)
        if match:
            groups = match.groupdict()
            return Frame(
                path=groups["path"],
                line=_number(groups.get("line") or "0"),
                function=(groups.get("function") or "<module>").strip(",").rpartition(".")[2],
            )
    return None


def _number(digits: str) -> int:
    """Return the line number, 0 when it is too long to be one."""
    return int(digits) if len(digits) < 9 else 0


def _message(first: str, lines: list[str], position: int) -> tuple[str, int]:
    """Return the message and where the text goes on; it may start on the next line."""
    if first.strip():
        return first.strip(), position
    if position < len(lines):
        following = lines[position].strip()
        if following and not following.startswith((">>>", "In [", "...")) and ":" not in following:
            return following, position + 1
    return "", position
