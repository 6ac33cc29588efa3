"""The lines of a pasted traceback: what marks its begin and end, and what its last one says."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from pytest_brt.types import Raised

#: Colours.
ANSI = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")
HEADER = re.compile(r"Traceback \((?:most recent call last|innermost last)\)\s*:?")
#: Path, line and, where it is told, function.
FRAME = re.compile(r"""^\s*File ["'](.+?)["'], line (\d+)(?:, in (.+?))?\s*$""")
#: Between two exceptions of a chain.
CHAIN = re.compile(
    r"^\W*(?:The above exception was the direct cause of|During handling of the above exception)"
)
#: The reporter goes on with something else.
PROMPT = re.compile(r"^\s*(?:>>>|\.\.\. |In \[|Out\[|```|~~~\w*\s*$|\$ )")


def without_margin(prefix: str, line: str) -> str:
    """Return `line` without what stood in front of the header: indentation, quote, margin."""
    margin = re.match(r"[\s>|+-]*", prefix)
    if prefix and line.startswith(prefix):
        return line[len(prefix) :]
    if margin and margin.group() == prefix:
        # "  + Exception Group Traceback" is followed by "  | ..." lines.
        other = re.match(rf"[\s>|+-]{{{len(prefix)}}}", line)
        if other:
            return line[len(prefix) :]
        return line.lstrip() if not line.strip(" >|+-") else line
    group = re.match(r"\s*[|+] ", line)
    return line[group.end() :] if group and "Group" in prefix else line


@dataclass(frozen=True, slots=True, kw_only=True)
class PastedTrace:
    """One exception with its stack, as found in a text.

    A chain of exceptions is several of them, in the order of the text: the last one is what
    the program ended with.
    """

    raised: Raised
    #: 1-based first and last line in the text.
    line: int
    end_line: int


_EXCEPTION = re.compile(r"^((?:[A-Za-z_]\w*\.)*[A-Za-z_]\w*)(?:\s*:(?:\s(.*))?)?$")
_LOWER_EXCEPTION = re.compile(r"^((?:[A-Za-z_]\w*\.)*(?!else|try|finally)[a-z_]\w*): (.+)$")
_EXCEPTION_NAME = re.compile(
    r"(?:Error|Exception|Warning|Exit|Interrupt|Iteration|Failed|Failure|Timeout|Abort|Group)\d*$"
)


def last_line(line: str, *, has_stack: bool) -> tuple[str, str] | None:
    """Return type and message when `line` ends the stack read so far.

    Indented lines are code unless they name an exception beyond doubt. Below a stack
    "re.error: bad escape" is an exception although nothing in its name says so.
    """
    named = named_exception(line)
    if line[:1].isspace():
        return named if named and named[1] and _EXCEPTION_NAME.search(named[0]) else None
    if named is None and has_stack and (match := _LOWER_EXCEPTION.match(line)):
        return match.group(1), match.group(2).strip()
    return named


def named_exception(line: str) -> tuple[str, str] | None:
    """Return type and message when `line` looks like the last line of a traceback."""
    match = _EXCEPTION.match(line.strip())
    if not match:
        return None
    name, message = match.groups()
    last = name.rpartition(".")[2]
    known = bool(_EXCEPTION_NAME.search(last))
    capital = last[:1].isupper()
    if known or (capital and (":" in line or "." in name)):
        return name, (message or "").strip()
    return None


_OPENERS = {"(": ")", "[": "]", "{": "}"}


def message_from(lines: Sequence[str], at: int, prefix: str, first: str) -> tuple[str, int]:
    """Return the message that starts on line `at`, and the line it ends on.

    A message goes on when it visibly is not complete: nothing yet, an open bracket, a colon
    at the end, or more lines that are indented.
    """
    parts = [first]
    index = at + 1
    while index < len(lines):
        line = without_margin(prefix, lines[index])
        so_far = "\n".join(parts).strip()
        open_brackets = any(so_far.count(a) > so_far.count(b) for a, b in _OPENERS.items())
        goes_on = not so_far or so_far.endswith(":") or open_brackets or line[:1].isspace()
        if not line.strip() or PROMPT.match(line) or CHAIN.match(line) or not goes_on:
            break
        if HEADER.search(line) or FRAME.match(line) or len(parts) > 20:
            break
        parts.append(line.rstrip())
        index += 1
    return "\n".join(parts).strip(), index - 1
