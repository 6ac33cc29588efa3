"""Code as people paste it → the statements of it that parse."""

from __future__ import annotations

import ast
import re
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import takewhile

from pytest_brt.pysource.parse import first_line, parse, parses

_SMART = str.maketrans({"“": '"', "”": '"', "‘": "'", "’": "'", "\u2212": "-"})
#: An arrow to a remark, as in `f(x) <-- wrong`, which Python may take for a comparison.
_ARROW = re.compile(r"^([^#\n]*\S)\s+(?:<-{2,}>?|<=={1,}|-{2,}>|={2,}>|=>|←|⇐|→)\s+(.*)$", re.M)
_GOES_ON = re.compile(r"[ \t)\]}]|(?:else|elif|except|finally)\b")
#: Lines of a block that are read, and of one statement in code that does not parse as a whole.
_LINES, _STATEMENT = 400, 60


@dataclass(frozen=True, slots=True, kw_only=True)
class Snippet:
    """A statement that parses, with the comments around it."""

    source: str
    #: 0-based line within the block, and the one after its last.
    line: int
    end: int
    #: The comment at the end of its last line, the lines above, and those below.
    beside: str = ""
    above: str = ""
    below: str = ""


def read_snippets(text: str) -> tuple[Snippet, ...]:
    """Return the statements in `text`; any text is accepted.

    Where it does not parse as a whole, the statements that do so alone are kept.
    """
    text = "\n".join(textwrap.dedent(text.replace("\r", "")).split("\n")[:_LINES])
    text = _ARROW.sub(_as_comment, text)
    if not parses(text):
        text = text.translate(_SMART)
    lines = text.split("\n")
    ranges = [(0, len(lines))] if parses(text) else _parts(lines)
    snippets = []
    for start, end in ranges:
        part = "\n".join(lines[start:end])
        for node in _without_main(parse(part).body):
            snippets.append(_snippet(node, part, start, lines))
    return tuple(snippets)


def _as_comment(arrow: re.Match[str]) -> str:
    """Return a line with its remark as a comment; as it is where it is Python with its arrow."""
    if "<-" not in arrow[0] and parses(arrow[0].strip()):
        return arrow[0]
    return f"{arrow[1]}  # {arrow[2]}"


def _parts(lines: Sequence[str]) -> Iterator[tuple[int, int]]:
    """Yield the lines of each statement that parses alone, as its first and the one behind it."""
    start = 0
    while start < len(lines):
        ends = range(start + 1, min(len(lines), start + _STATEMENT) + 1)
        whole = (end for end in ends if end == len(lines) or not _GOES_ON.match(lines[end]))
        end = next((end for end in whole if parses("\n".join(lines[start:end]))), 0)
        if end:
            yield start, end
        start = end or start + 1
        while not end and start < len(lines) and _GOES_ON.match(lines[start]):
            start += 1  # the rest of a statement that cannot be read


def _without_main(body: Sequence[ast.stmt]) -> Iterator[ast.stmt]:
    """Yield the statements, with those below `if __name__ == "__main__"` in its place."""
    for node in body:
        is_main = isinstance(node, ast.If) and "__name__" in ast.unparse(node.test)
        yield from node.body if isinstance(node, ast.If) and is_main else [node]


def _snippet(node: ast.stmt, part: str, offset: int, lines: Sequence[str]) -> Snippet:
    first, end = first_line(node) - 1 + offset, (node.end_lineno or node.lineno) + offset
    source = ast.get_source_segment(part, node) or ast.unparse(node)
    if first != node.lineno - 1 + offset:  # decorators stand above it
        source = textwrap.dedent("\n".join(lines[first:end]))
    elif node.col_offset and "\n" in source:
        source = ast.unparse(node)
    rest = lines[end - 1].partition(source.split("\n")[-1])[2]
    above = takewhile(_is_comment, reversed(lines[:first]))
    below = takewhile(_is_comment, lines[end:])
    return Snippet(
        source=source.rstrip(),
        line=first,
        end=end,
        beside=_comment(rest) if _is_comment(rest.lstrip("; ")) else "",
        above="\n".join(reversed([_comment(line) for line in above])),
        below="\n".join(map(_comment, below)),
    )


def _is_comment(line: str) -> bool:
    return line.lstrip().startswith("#")


def _comment(line: str) -> str:
    return line.strip().lstrip("#; ").strip()


def lines_left_out(text: str, snippets: Sequence[Snippet]) -> list[tuple[int, int]]:
    """Return the runs of lines in `text` that are in none of its statements.

    Each is its first 0-based line, and the one behind its last; comments count for nothing.
    """
    if parses(textwrap.dedent(text).translate(_SMART)) and text.count("\n") < _LINES:
        return []
    read = {line for snippet in snippets for line in range(snippet.line, snippet.end)}
    runs: list[tuple[int, int]] = []
    for number, line in enumerate(text.split("\n")):
        if number in read or not line.strip() or _is_comment(line):
            continue
        start = runs.pop()[0] if runs and runs[-1][1] == number else number
        runs.append((start, number + 1))
    return runs
