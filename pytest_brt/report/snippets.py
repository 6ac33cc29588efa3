"""Code as people paste it → the statements of it that parse."""

from __future__ import annotations

import ast
import re
import textwrap
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby, takewhile

from pytest_brt.pysource.parse import compiled, first_line, parse
from pytest_brt.types import Block
from pytest_brt.types.report import LeftOut

#: An arrow to a remark, as in `f(x) <-- wrong`, which Python takes for a comparison.
_ARROW = re.compile(r"^([^#\n]*\S)\s+<-{2,}>?\s+(?=\S)", re.MULTILINE)
#: Lines of a block that are read, and ends of a part that are tried.
_LINES, _TRIES = 400, 9


@dataclass(frozen=True, slots=True, kw_only=True)
class Snippet:
    """A statement that parses, with the comments around it."""

    source: str
    #: 0-based line within the block.
    line: int
    #: The comment at the end of its last line, the lines above, and those below.
    beside: str
    above: str
    below: str


def read_snippets(text: str) -> tuple[Snippet, ...]:
    """Return the statements in `text`; any text is accepted.

    Where it does not parse as a whole, those before and after what is no Python are kept.
    """
    lines = _lines(text)
    return tuple(
        _snippet(node, start, lines, "\n".join(lines[start:end]))
        for start, end in _parts(lines)
        for node in _without_main(parse("\n".join(lines[start:end])).body)
    )


def _lines(text: str) -> list[str]:
    return _ARROW.sub(r"\1  # ", textwrap.dedent(text)).split("\n")[:_LINES]


def _parts(lines: Sequence[str]) -> Iterator[tuple[int, int]]:
    """Yield the lines that parse together, as the first and the one behind the last."""
    start = 0
    while start < len(lines):
        end = _end_of_part(lines, start)
        if end > start:
            yield start, end
        start = end + 1


def _end_of_part(lines: Sequence[str], start: int) -> int:
    """Return where the lines end that parse from `start` on; `start` itself where none do."""
    end = len(lines)
    for _ in range(_TRIES):
        try:
            compiled("\n".join(lines[start:end]))
        except SyntaxError as error:
            end = min(start + (error.lineno or 1), end) - 1
        else:
            return end
    return start


def _without_main(body: Sequence[ast.stmt]) -> Iterator[ast.stmt]:
    """Yield the statements, with those below `if __name__ == "__main__"` in its place."""
    for node in body:
        is_main = isinstance(node, ast.If) and "__name__" in ast.unparse(node.test)
        yield from node.body if isinstance(node, ast.If) and is_main else [node]


def _snippet(node: ast.stmt, offset: int, lines: Sequence[str], part: str) -> Snippet:
    first, end = first_line(node) - 1 + offset, (node.end_lineno or node.lineno) + offset
    source = ast.get_source_segment(part, node) or ""
    rest = lines[end - 1].partition(source.split("\n")[-1])[2].lstrip("; ")
    if node.col_offset and first < end - 1:
        source = ast.unparse(node)
    elif first < node.lineno - 1 + offset:
        source = "\n".join(lines[first:end])  # with its decorators
    return Snippet(
        source=source.rstrip(),
        line=first,
        beside=_comments([rest]),
        above=_comments([*reversed([*takewhile(_is_comment, reversed(lines[:first]))])]),
        below=_comments(takewhile(_is_comment, lines[end:])),
    )


def _is_comment(line: str) -> bool:
    return line.lstrip().startswith("#")


def _comments(lines: Iterable[str]) -> str:
    """Return the text of the lines that are comments."""
    return "\n".join(line.strip().lstrip("#; ").strip() for line in lines if _is_comment(line))


def lines_left_out(block: Block) -> Iterator[LeftOut]:
    """Yield the lines of a block, comments aside, that are no Python."""
    lines = _lines(block.text)
    read = {line for start, end in _parts(lines) for line in range(start, end)}
    for is_read, run in groupby(range(len(lines)), key=read.__contains__):
        first, *rest = run
        if not is_read:
            end = block.line + (rest or [first])[-1]
            yield LeftOut(line=block.line + first, end_line=end, code=lines[first].strip())
