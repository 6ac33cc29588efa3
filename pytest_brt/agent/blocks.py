"""The JSON header of a reply, and the fenced blocks of code after it."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any

from pytest_brt.errors import ModelProblem

_FENCE = re.compile(r"^\s{0,3}(`{3,}|~{3,})[^`\n]*$", re.MULTILINE)


class ReplyProblem(ModelProblem):
    """A model's reply does not have the form that was asked for; the text says how."""


def first_object(text: str) -> tuple[dict[str, Any], str]:
    """Return the first JSON object in `text` and what comes after it.

    Raises:
        ReplyProblem: there is none.
    """
    decoder = json.JSONDecoder(strict=False)
    problem = "no '{' in it"
    at = text.find("{")
    while at >= 0:
        try:
            value, end = decoder.raw_decode(text, at)
        except (ValueError, RecursionError) as error:
            problem = problem if problem.startswith("JSON") else f"JSON error: {error}"
        else:
            return value, _after_fence(text, end)
        at = text.find("{", at + 1)
    raise ReplyProblem(f"no JSON header in the reply ({problem}): {text[:80]!r}")


def _after_fence(text: str, end: int) -> str:
    """Return the text after a header, past the fence that closes around the header itself."""
    opened = sum(1 for _ in _FENCE.finditer(text, 0, end))
    rest = text[end:]
    closing = _FENCE.search(rest)
    if opened % 2 and closing:
        return rest[closing.end() :]
    return rest


def fenced_blocks(text: str) -> tuple[tuple[str, ...], bool]:
    """Return the contents of the fenced blocks in `text`, and whether the last one is closed."""
    blocks: list[str] = []
    lines: list[str] = []
    fence = ""
    for line in text.replace("\r\n", "\n").removesuffix("\n").split("\n"):
        stripped = line.strip()
        if fence:
            if stripped.startswith(fence) and not stripped.strip(fence[0]):
                blocks.append(_joined(lines))
                fence, lines = "", []
            else:
                lines.append(line)
        elif _FENCE.match(line):
            fence = stripped[: len(stripped) - len(stripped.lstrip(stripped[0]))]
    if fence:
        blocks.append(_joined(lines))
    return tuple(blocks), not fence


def _joined(lines: Sequence[str]) -> str:
    return "".join(f"{line}\n" for line in lines)
