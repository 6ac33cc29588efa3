"""Tracebacks as the interpreter prints them, whole or with lines left out, or cut off."""

from __future__ import annotations

import re
from collections.abc import Sequence

from pytest_brt.code.trace.ending import last_line, message_from, named_exception
from pytest_brt.code.trace.marks import CHAIN, FRAME, HEADER, PROMPT, without_margin
from pytest_brt.code.trace.pasted import PastedTrace
from pytest_brt.types import Frame, Raised

_LEFT_OUT = re.compile(
    r"^\s*(?:\.\.\.|…|\[(?:\.\.\.|…|Previous line repeated).*|<snip>|\(\.\.\.\)|"
    r"\.\.\. \(?\d+ .*|[\s~^]+)\s*$"
)


def is_plain_start(lines: Sequence[str], at: int) -> bool:
    """Return whether a traceback starts on line `at` (0-based), with its header or without it."""
    if HEADER.search(lines[at]):
        return True
    return bool(FRAME.match(lines[at].lstrip(" >|"))) and _is_stack(lines, at)


def _is_stack(lines: Sequence[str], at: int) -> bool:
    """Return whether more of a stack follows the frame line `at`, so that it is no quotation."""
    rest = [line.lstrip(" >|") for line in lines[at + 1 : at + 6]]
    return any(FRAME.match(line) or named_exception(line) for line in rest)


def read_plain(lines: Sequence[str], at: int) -> PastedTrace | None:
    """Read the frames and the exception from line `at` (0-based) on; None when there are none."""
    header = HEADER.search(lines[at])
    prefix = lines[at][: header.start()] if header else ""
    frames: list[Frame] = []
    end = at
    kind, message = "", ""
    index = at + 1 if header else at
    after_frame = False
    while index < len(lines):
        line = without_margin(prefix, lines[index])
        frame = FRAME.match(line)
        if frame:
            path, number, function = frame.groups()
            frames.append(Frame(path=path, line=int(number), function=function or "<module>"))
            end, after_frame = index, True
        elif not CHAIN.match(line) and (named := last_line(line, has_stack=bool(frames))):
            kind = named[0]
            message, end = message_from(lines, index, prefix, named[1])
            break
        elif CHAIN.match(line) or HEADER.search(line) or PROMPT.match(line):
            break
        elif after_frame and line.strip():
            end, after_frame = index, False  # the frame's line of code
        elif line.strip() and not line[:1].isspace() and not _LEFT_OUT.match(line):
            break
        index += 1
    if not kind and not frames:
        return None
    raised = Raised(type=kind, message=message, frames=tuple(frames))
    return PastedTrace(raised=raised, line=at + 1, end_line=end + 1)
