"""Sentences of a report, and the code that people put into them."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise

from pytest_brt.pysource.parse import is_literal, parse, parses
from pytest_brt.types import Block, BlockKind

_END = re.compile(
    r"(?<=[.!?])(?<!\be\.g\.)(?<!\bi\.e\.)(?<!\betc\.)(?<!\bvs\.)(?<!\bcf\.)"
    r"(?:[\"')\]]*)\s+(?=[A-Z§\"'(*_\[0-9])|\n\s*(?=[-*+•]\s|\d+[.)]\s)|\n\n+"
    # Labels with their values on lines of their own: "**Actual**: 0", "Expected result: 5".
    r"|\n\s*(?=\*\*[^*\n]{1,40}(?:\*\*\s*:|:\*\*)"
    r"|(?i:expected|actual|observed|current|got|result|should be)(?:[ ][a-z]+){0,2}\s*:)"
)
#: What stands in place of code in a sentence.
MARK = re.compile(r"§\d+§")
_CODE = re.compile(r"(?P<ticks>`+)(?P<code>.+?)(?P=ticks)(?!`)", re.DOTALL)
_ACTS = (ast.Call, ast.BinOp, ast.Subscript, ast.Compare)
#: Characters of a sentence, and of code in it, that are read; more is a log.
_LONGEST, _LONGEST_CODE = 2_000, 400


@dataclass(frozen=True, slots=True, kw_only=True)
class Sentence:
    """One sentence of prose, or a heading."""

    #: With a mark in place of each piece of code: §0§, §1§ …
    masked: str
    #: The code by its marks.
    code: Mapping[str, str]
    #: 1-based line in the report where it starts.
    line: int

    @property
    def text(self) -> str:
        """As it was written, with code between backticks."""
        return MARK.sub(lambda mark: f"`{self.code[mark[0]]}`", self.masked)


def sentences(block: Block) -> Iterator[Sentence]:
    """Yield the sentences of a prose block or heading; of other blocks, none."""
    if block.kind not in (BlockKind.PROSE, BlockKind.HEADING):
        return
    code: dict[str, str] = {}

    def mask(match: re.Match[str]) -> str:
        mark = f"§{len(code)}§"
        code[mark] = re.sub(r"\n[ \t]*", " ", match["code"]).strip().removeprefix(">>>").strip()
        return mark

    text = _CODE.sub(mask, block.text.replace("§", "?"))
    ends = _END.finditer(text) if block.kind is BlockKind.PROSE else ()
    for start, end in pairwise([0, *(match.end() for match in ends), len(text)]):
        # Outside of code all blanks are made one.
        masked = " ".join(text[start : min(end, start + _LONGEST)].split())
        if masked:
            line = block.line + text.count("\n", 0, start)
            own = {mark: code[mark] for mark in MARK.findall(masked)}
            yield Sentence(masked=masked, code=own, line=line)


def is_runnable(text: str) -> bool:
    """Say whether code is an expression that does something, and nothing of it is left out.

    >>> is_runnable("f(1)"), is_runnable("f()"), is_runnable("f(..., 1)"), is_runnable("x")
    (True, False, False, False)
    """
    node = _statement(text)
    if not isinstance(node, ast.Expr) or is_literal(text):
        return False
    if isinstance(node.value, ast.Call) and not (node.value.args or node.value.keywords):
        return False  # `f()` is how people write the name of a function
    return any(isinstance(inner, _ACTS) for inner in ast.walk(node))


def binds_call(text: str) -> bool:
    """Say whether code gives a name to what a call returns.

    >>> binds_call("x = f(1)"), binds_call("x = 1")
    (True, False)
    """
    node = _statement(text)
    return isinstance(node, ast.Assign) and isinstance(node.value, ast.Call)


def _statement(text: str) -> ast.stmt | None:
    """Return the one statement that a text is, None where it is none, a form or an option."""
    if len(text) > _LONGEST_CODE or "..." in text or "--" in text or not parses(text):
        return None
    body = parse(text).body
    return body[0] if len(body) == 1 else None
