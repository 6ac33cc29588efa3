"""The Python in a model's reply, whatever is around it."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator

from pytest_brt.model.reply import fenced_blocks
from pytest_brt.syntax import parse

_TEST = re.compile(r"^\s*(?:async )?def test|^\s*assert\b", re.MULTILINE)
_PROMPT = re.compile(r"^(?:>>> ?|\.\.\. ?|In \[\d+\]: ?)")
_FENCE = re.compile(r"^ {0,3}(?:`{3,}|~{3,}).*$", re.MULTILINE)
_TAG = re.compile(r"\A\s*(?:python3?|py)\s*\n", re.IGNORECASE)
#: Begins a statement at the margin, or goes on with one.
_CONTINUED = re.compile(r"^(?:else\b|elif\b|except\b|finally\b|[)\]}#]|\s|$)")
#: More than any test has; the rest is not looked at.
_MOST_LINES = 600
#: Lines given up at the end of a statement that was cut off, and pieces joined into one.
_MOST_CUT, _MOST_JOINED = 40, 6


def code_in(text: str) -> str:
    """Return the Python that `text` holds, "" when there is none; never raises.

    It is what stands in the first fenced block with a test in it, else in the first block, else
    all of the text. Statements that do not parse are left out, one that was cut off ends
    where it still parses.
    """
    text = text.encode("utf-8", "ignore").decode().replace("\r\n", "\n").replace("\0", "")
    blocks, _ = fenced_blocks(text)
    tests = [block for block in blocks if _TEST.search(block)]
    code = _plain(next(iter(tests or blocks), text if not blocks else ""))
    if not parses(code):
        # An answer that was begun for the model and begun by it again has a fence in a fence.
        parts = [_plain(part) for part in _FENCE.split(text)]
        code = next((part for part in parts if _TEST.search(part) and _readable(part)), code)
    return _readable(code)


def _plain(code: str) -> str:
    return textwrap.dedent(_unprompted(_TAG.sub("", code)).expandtabs(4))


def _unprompted(code: str) -> str:
    """Take the prompts and the output out of an interactive session."""
    lines = code.split("\n")
    if not any(line.startswith((">>>", "In [")) for line in lines):
        return code
    return "\n".join(_PROMPT.sub("", line) for line in lines if _PROMPT.match(line))


def _readable(code: str) -> str:
    if parses(code):
        return code.strip("\n") + "\n" if code.strip() else ""
    kept = _parsing(_statements("\n".join(code.split("\n")[:_MOST_LINES])))
    text = "\n".join(part.strip("\n") for part in kept).strip("\n")
    return f"{text}\n" if text else ""


def _statements(code: str) -> list[str]:
    """Split text where lines begin at the margin; decorators stay with what they decorate."""
    parts: list[list[str]] = []
    decorated = False
    for line in code.split("\n"):
        if parts and (decorated or _CONTINUED.match(line)):
            parts[-1].append(line)
        else:
            parts.append([line])
        if not _CONTINUED.match(line):
            decorated = line.startswith("@")
    return ["\n".join(part) for part in parts]


def _parsing(parts: list[str]) -> Iterator[str]:
    """Yield what parses of `parts`, several taken together where only that does."""
    at = 0
    while at < len(parts):
        for more in range(_MOST_JOINED):
            joined = "\n".join(parts[at : at + more + 1])
            if at + more < len(parts) and parses(joined):
                yield joined
                at += more + 1
                break
        else:
            if at == len(parts) - 1 and (cut := _cut(parts[at])):
                yield cut
            at += 1


def _cut(part: str) -> str:
    """Return the beginning of a statement that was cut off, as far as it parses; or ""."""
    lines = part.split("\n")
    for last in range(len(lines) - 1, max(0, len(lines) - _MOST_CUT), -1):
        text = "\n".join(lines[:last])
        if parses(text):
            return text
    return ""


def parses(code: str) -> bool:
    """Say whether `code` is a Python module that can be compiled."""
    try:
        compile(parse(code), "<reply>", "exec", dont_inherit=True)
    except (SyntaxError, ValueError, RecursionError, MemoryError, OverflowError):
        return False
    return True
