"""Python files that are edited: their bytes, and what `ast` and libcst make of them."""

from __future__ import annotations

import ast
import codecs
import io
import tokenize
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pytest_brt.errors import EditProblem
from pytest_brt.syntax import parse

if TYPE_CHECKING:
    import libcst as cst


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


def read_module(source: SourceText) -> cst.Module:
    """Return what libcst makes of `source`: with it the text can be changed and written again.

    Raises:
        EditProblem: it is not Python for libcst.
    """
    import libcst  # half a second, and most runs edit nothing

    try:
        return libcst.parse_module(source.text)
    except libcst.ParserSyntaxError as error:
        raise EditProblem(f"{source.path!r} cannot be edited: {error.message}") from error


def is_insertion(before: str, after: str) -> bool:
    """Return whether `after` is `before` with text put in, and nothing taken out or changed."""
    start = 0
    stop = min(len(before), len(after))
    while start < stop and before[start] == after[start]:
        start += 1
    end = 0
    while end < stop - start and before[-1 - end] == after[-1 - end]:
        end += 1
    rest = iter(after[start : len(after) - end])
    return all(letter in rest for letter in before[start : len(before) - end])
