"""Text that is put into existing files: encodings, line ends, indentation, spans."""

from __future__ import annotations

import ast
import codecs
import io
import re
import tokenize
from dataclasses import dataclass

from pytest_brt.errors import EditProblem
from pytest_brt.syntax import parse


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceText:
    """The text of a file such that its bytes can be made again exactly."""

    path: str
    #: Line ends as they are in the file.
    text: str
    encoding: str
    #: Whether the file starts with a UTF-8 byte order mark.
    mark: bool = False

    @property
    def newline(self) -> str:
        """The line end that the file uses most."""
        windows = self.text.count("\r\n")
        return "\r\n" if windows * 2 > self.text.count("\n") else "\n"

    @property
    def lines(self) -> list[str]:
        """The lines with their ends; what `ast` counts as a line."""
        return split_lines(self.text)

    def offset(self, line: int) -> int:
        """Return where in the text the 1-based `line` starts; behind the last line, its end."""
        return sum(len(text) for text in self.lines[: line - 1])

    def encode(self, text: str) -> bytes:
        """Return `text` as the bytes that this file would have.

        Raises:
            EditProblem: the file's encoding has no such character.
        """
        try:
            data = text.encode(self.encoding)
        except UnicodeEncodeError as error:
            raise EditProblem(
                f"{self.path!r} is written in {self.encoding}, which has no"
                f" {error.object[error.start : error.end]!r} (use an escape sequence)"
            ) from error
        return codecs.BOM_UTF8 + data if self.mark else data


def read_source(path: str, data: bytes) -> SourceText:
    """Return the text of the file `path` with the content `data`.

    Raises:
        EditProblem: the encoding is not the one it declares, so that it cannot be written back.
    """
    mark = data.startswith(codecs.BOM_UTF8)
    bare = data[len(codecs.BOM_UTF8) :] if mark else data
    try:
        encoding, _ = tokenize.detect_encoding(io.BytesIO(bare).readline)
        text = bare.decode(encoding)
    except (SyntaxError, UnicodeDecodeError, LookupError) as error:
        raise EditProblem(f"{path!r} cannot be read as text: {error}") from error
    return SourceText(path=path, text=text, encoding=encoding, mark=mark)


def parse_source(source: SourceText) -> ast.Module:
    """Return the syntax tree of `source`.

    Raises:
        EditProblem: it is not Python for this interpreter.
    """
    try:
        return parse(source.text)
    except SyntaxError as error:
        raise EditProblem(
            f"{source.path!r} is not Python: {error.msg!r} in line {error.lineno}"
            " (choose another file)"
        ) from error


_LINE = re.compile(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+$")


def split_lines(text: str) -> list[str]:
    """Return the lines of `text` with their ends, as Python counts them (no form feeds)."""
    return _LINE.findall(text)


def indent_code(text: str, margin: str) -> str:
    """Return the statements `text` with `margin` in front of each line.

    What lies within strings of several lines stays as it is, but for docstrings.
    """
    frozen = _lines_in_strings(parse(text))
    lines = []
    for number, line in enumerate(split_lines(text), 1):
        blank = not line.strip()
        lines.append(line if number in frozen or blank else margin + line)
    return "".join(lines)


def _lines_in_strings(tree: ast.Module) -> set[int]:
    documents = {
        id(node.body[0].value)
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
        and isinstance(node.body[0], ast.Expr)
    }
    frozen: set[int] = set()
    for node in ast.walk(tree):
        is_text = isinstance(node, ast.JoinedStr) or (
            isinstance(node, ast.Constant) and isinstance(node.value, str | bytes)
        )
        if is_text and id(node) not in documents:
            assert isinstance(node, ast.expr)
            frozen.update(range(node.lineno + 1, (node.end_lineno or node.lineno) + 1))
    return frozen


def is_subsequence(short: str, long: str) -> bool:
    """Return whether `short` is left of `long` when some spans of it are taken out."""
    rest = iter(long)
    return all(letter in rest for letter in short)


def is_insertion(before: str, after: str) -> bool:
    """Return whether `after` is `before` with text put in, and nothing taken out or changed."""
    start = 0
    stop = min(len(before), len(after))
    while start < stop and before[start] == after[start]:
        start += 1
    end = 0
    while end < stop - start and before[-1 - end] == after[-1 - end]:
        end += 1
    return is_subsequence(before[start : len(before) - end], after[start : len(after) - end])
