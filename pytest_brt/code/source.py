"""Python files that are read and edited: their bytes, text, syntax and changes."""

from __future__ import annotations

import ast
import codecs
import difflib
import io
import tokenize
from dataclasses import dataclass

from pytest_brt.errors import EditProblem
from pytest_brt.pysource.parse import Function, is_test_class, parse
from pytest_brt.types import FileChange


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


def lines_of(text: str) -> list[str]:
    r"""Return the lines of `text` as Python counts them, with their ends.

    >>> lines_of("a\r\n\x0cb")
    ['a\r\n', '\x0cb']
    """
    return list(io.StringIO(text, newline=""))


def is_insertion(before: str, after: str) -> bool:
    """Return whether `after` is `before` with text put in, and nothing taken out or changed."""
    rest = iter(after)
    return all(letter in rest for letter in before)


@dataclass(frozen=True, slots=True, kw_only=True)
class Edit:
    """A change of one file."""

    path: str
    #: None when there was no such file.
    before: bytes | None
    after: bytes

    def diff(self) -> str:
        """Return the change as git shows it; "" when there is none."""
        if self.before == self.after:
            return ""
        old = _lines(self.before or b"")
        new = _lines(self.after)
        before = "/dev/null" if self.before is None else f"a/{self.path}"
        head = f"diff --git a/{self.path} b/{self.path}\n"
        head += "new file mode 100644\n" if self.before is None else ""
        body = difflib.unified_diff(old, new, before, f"b/{self.path}")
        return head + "".join(
            line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n"
            for line in body
        )

    def change(self) -> FileChange:
        """Return the change as a tree takes it."""
        return FileChange(path=self.path, content=self.after)


def _lines(data: bytes) -> list[str]:
    """Return the lines as git counts them: only a newline ends one."""
    return list(io.StringIO(data.decode("utf-8", "surrogateescape")))


@dataclass(frozen=True, slots=True, kw_only=True)
class Placement:
    """A test that was given its place."""

    edit: Edit
    #: The tests below the file, as in "test_a" or "TestX::test_a", in the order given.
    nodes: tuple[str, ...]


def new_file(source: str, path: str) -> Placement:
    """Return the test module `source` as a file of its own.

    Raises:
        EditProblem: it is not Python, has no test in it, or imports relatively.
    """
    nodes = read_test(source)[1]
    text = source if source.endswith("\n") else f"{source}\n"
    return Placement(edit=Edit(path=path, before=None, after=text.encode()), nodes=nodes)


def read_test(source: str) -> tuple[SourceText, tuple[str, ...]]:
    """Return a test module that stands alone, and the names of its tests.

    Raises:
        EditProblem: it is not Python, has no test in it, or imports relatively.
    """
    module = read_source("the new test", source.encode("utf-8", "surrogatepass"))
    body = parse_source(module).body
    for node in body:
        if isinstance(node, ast.ImportFrom) and node.level:
            raise EditProblem(
                f"the new test imports from {'.' * node.level + (node.module or '')!r}"
                " (a test that stands alone needs the whole name)"
            )
    tests = tuple(
        node.name
        for node in body
        if (isinstance(node, Function) and node.name.startswith("test"))
        or (isinstance(node, ast.ClassDef) and is_test_class(node))
    )
    if not tests:
        raise EditProblem("the new test has no function called test_… (give it one)")
    return module, tests
