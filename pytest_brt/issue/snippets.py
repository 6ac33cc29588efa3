"""Code as people paste it → statements that parse."""

from __future__ import annotations

import ast
import re
import textwrap
from collections.abc import Iterable
from dataclasses import dataclass, replace
from itertools import takewhile

from pytest_brt.pysource.parse import first_line, parse, parses

_SMART = str.maketrans({"“": '"', "”": '"', "‘": "'", "’": "'", "\u2212": "-"})
_ANNOTATION = re.compile(r"\s*(?:<[-=]+|[-=]{2,}>|←|⇐|<==)\s.*$")
#: `f(x) <-- wrong` is Python, but nobody means it; in a comment it is one.
_POINTER = re.compile(r"^[^#\n]*\s<-{2,}>?\s", re.MULTILINE)
#: What begins a statement of several lines.
_OPENS = re.compile(r"^\s*(?:@|(?:async|class|def|for|if|try|while|with)\b)|[(\[{,\\]\s*$")
#: Longest block that is split line by line; more is a data dump.
_MOST_LINES = 400


@dataclass(frozen=True, slots=True, kw_only=True)
class Statement:
    """A statement that parses, with the comments around it."""

    source: str
    #: 0-based line within the block, and the one after its last.
    line: int
    end: int
    #: Comment lines right above.
    above: str = ""
    #: Comment at the end of its last line, or an arrow with a remark.
    beside: str = ""
    #: Comment lines right below, up to a blank line.
    below: str = ""


def statements(text: str) -> tuple[Statement, ...]:
    """Return the statements in `text`, repairing those that do not parse where it can be.

    What cannot be repaired is left out, so that any text is accepted: a line, or the compound
    statement that begins there.
    """
    text = textwrap.dedent(re.sub(r"\r\n?", "\n", text))  # as Python counts lines
    text = "\n".join(text.split("\n")[:_MOST_LINES])
    if not parses(text):
        text = text.translate(_SMART)
    lines = text.split("\n")
    is_whole = parses(text) and not _POINTER.search(text)
    pieces = _whole(text) if is_whole else _piecemeal(lines)
    return tuple(_with_comments(piece, lines) for piece in pieces)


def _whole(text: str) -> list[Statement]:
    tree = parse(text)
    lines = text.split("\n")
    pieces = []
    for node in _without_main(tree.body):
        first = first_line(node) - 1
        end = node.end_lineno or node.lineno
        chunk = lines[first:end]
        segment = ast.get_source_segment(text, node) or ""
        source = segment if first == node.lineno - 1 else textwrap.dedent("\n".join(chunk))
        if node.col_offset and "\n" in source:
            source = ast.unparse(node)
        tail = _comment_in(lines[end - 1], source.split("\n")[-1])
        pieces.append(Statement(source=source.rstrip(), line=first, end=end, beside=tail))
    return pieces


def _without_main(body: list[ast.stmt]) -> list[ast.stmt]:
    """Return the statements with those below `if __name__ == "__main__"` in its place."""
    found: list[ast.stmt] = []
    for node in body:
        if isinstance(node, ast.If) and "__name__" in ast.unparse(node.test) and not node.orelse:
            found += node.body
        else:
            found.append(node)
    return found


def _comment_in(line: str, source: str) -> str:
    """Return the comment at the end of `line`, behind the `source` in it."""
    rest = line[line.find(source) + len(source) :] if source in line else ""
    match = re.match(r"\s*;?\s*#+\s*(?:<-{2,}>?)?(.*)$", rest)
    return match[1].strip() if match else ""


def _piecemeal(lines: list[str]) -> list[Statement]:
    pieces: list[Statement] = []
    position = 0
    while position < len(lines):
        start, position = position, position + 1
        if not lines[start].strip() or _is_comment(lines[start]):
            continue
        piece = _longest(lines, start)
        position = piece.end if piece else _end_of_unread(lines, start)
        if piece:
            pieces.append(piece)
    return pieces


def _end_of_unread(lines: list[str], start: int) -> int:
    """Return where what begins in an unread line ends: with it, or with its compound statement."""
    end = start + 1
    while (
        _OPENS.search(lines[start])
        and end < len(lines)
        and (not lines[end].strip() or _goes_on(lines[end]) or lines[end - 1].startswith("@"))
    ):
        end += 1
    return end


def _goes_on(line: str) -> bool:
    """Say whether a line belongs to the statement that begins above it."""
    return bool(re.match(r"[ \t)\]}]|(?:else|elif|except|finally)\b", line))


def left_out(text: str, read: Iterable[Statement]) -> list[tuple[int, int]]:
    """Return the runs of lines in `text` that are in none of its statements, as `read`.

    Each is its first 0-based line, and the one after its last; empty lines count for nothing.
    """
    if parses(textwrap.dedent(text).translate(_SMART)):
        return []
    runs: list[tuple[int, int]] = []
    covered = {line for piece in read for line in range(piece.line, piece.end)}
    for number, line in enumerate(text.split("\n")[:_MOST_LINES]):
        if number in covered or not line.strip() or _is_comment(line):
            continue
        start = runs.pop()[0] if runs and runs[-1][1] == number else number
        runs.append((start, number + 1))
    return runs


def _longest(lines: list[str], start: int) -> Statement | None:
    """Return the statement that starts at `start`, repaired when needed."""
    stop = min(len(lines), start + 60)
    for mend in (_as_is, _plain):
        for end in range(start + 1, stop + 1):
            following = lines[end] if end < len(lines) else ""
            if following.strip() and _goes_on(following):
                continue
            chunk = "\n".join(lines[start:end])
            source, beside = mend(chunk)
            if source.strip() and parses(source) and parse(source).body:
                return Statement(source=source.rstrip(), line=start, end=end, beside=beside)
    return None


def _as_is(chunk: str) -> tuple[str, str]:
    if _POINTER.search(chunk):
        return "", ""
    return textwrap.dedent(chunk), _tail_comment(chunk)


def _plain(chunk: str) -> tuple[str, str]:
    """Undo what people and tools add: remarks, prompts."""
    beside = ""
    kept = []
    for raw in textwrap.dedent(chunk).split("\n"):
        line = raw
        remark = _ANNOTATION.search(line)
        if remark and (_POINTER.search(line) or not parses(line)):
            beside, line = remark[0].strip(" <>-=←⇐"), line[: remark.start()]
        kept.append(re.sub(r"^(\s*)(?:>>>|\.\.\.)\s?", r"\1", line))
    return "\n".join(kept), beside or _tail_comment(chunk)


def _tail_comment(chunk: str) -> str:
    last = chunk.rstrip().split("\n")[-1]
    match = re.search(r"(?:^|\s)#+\s*([^\"']*)$", last)
    return match[1].strip() if match else ""


def _with_comments(piece: Statement, lines: list[str]) -> Statement:
    above = takewhile(_is_comment, reversed(lines[: piece.line]))
    below = takewhile(_is_comment, lines[piece.end :])
    return replace(
        piece,
        source=textwrap.dedent(piece.source).strip("\n"),
        above=" ".join(reversed([_comment(line) for line in above])),
        below="\n".join(map(_comment, below)),
    )


def _is_comment(line: str) -> bool:
    return line.lstrip().startswith(("#", "->", "=>"))


def _comment(line: str) -> str:
    return line.strip().lstrip("#").strip()
