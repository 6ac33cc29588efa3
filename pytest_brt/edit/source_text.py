"""Python files that are edited: their bytes, text and changes."""

from __future__ import annotations

import ast
import io
import re
import sys
import tokenize
from collections.abc import Collection, Iterable
from itertools import groupby

from pytest_brt.errors import EditProblem
from pytest_brt.project.definitions import Import
from pytest_brt.pysource.parse import parse, parse_or_empty
from pytest_brt.types.note import value

#: Columns of the docstrings and comments that are written.
WIDTH = 79


@value
class SourceText:
    """The text of a file such that its bytes can be made again."""

    path: str
    #: With "\n" at the end of each line; where these differ in the file, as they are there.
    text: str
    #: With a byte order mark where the file has one.
    encoding: str
    #: The line end of the file that "\n" stands for.
    newline: str

    def tree(self) -> ast.Module:
        """Return the syntax tree.

        Raises:
            EditProblem: the file is not Python.
        """
        try:
            return parse(self.text)
        except SyntaxError as error:
            raise EditProblem(
                f"{self.path!r} is not Python: {error} (choose another file)"
            ) from error

    def encode(self, text: str) -> bytes:
        """Return `text` as the bytes that this file would have.

        Raises:
            EditProblem: the file's encoding has no such character.
        """
        try:
            return text.replace("\n", self.newline).encode(self.encoding)
        except UnicodeEncodeError as error:
            raise EditProblem(
                f"{self.path!r} is written in {self.encoding}, which has no"
                f" {error.object[error.start : error.end]!r} (use an escape sequence)"
            ) from error


def read_source(path: str, data: bytes) -> SourceText:
    """Return the text of the file `path` with the content `data`.

    Raises:
        EditProblem: the encoding is not the one it declares, so that it cannot be written back.
    """
    try:
        encoding, _ = tokenize.detect_encoding(io.BytesIO(data).readline)
        text = data.decode(encoding)
    except (SyntaxError, UnicodeDecodeError, LookupError) as error:
        raise EditProblem(f"{path!r} cannot be read as text: {error}") from error
    is_windows = 0 < text.count("\n") == text.count("\r\n")
    newline = "\r\n" if is_windows else "\n"
    plain = text.replace(newline, "\n")
    return SourceText(path=path, text=plain, encoding=encoding, newline=newline)


@value
class Edit:
    """A change of one file that gives tests their place."""

    path: str
    #: What it holds then.
    after: bytes
    #: The tests that a file has got that was there, as in "test_a" or "TestX::test_a".
    nodes: tuple[str, ...] = ()


def sorted_imports(imports: Iterable[Import], own: Collection[str]) -> str:
    """Return import statements in sections: Python's own come first, the project's `own` last."""

    def section(line: str) -> tuple[bool, bool]:
        top = line.split()[1].partition(".")[0]
        return top not in sys.stdlib_module_names, top in own

    statements = {item.statement for item in imports}
    # "import" comes before "from".
    order = sorted(statements, key=lambda line: (section(line), line[0] != "i", line))
    return "\n\n".join("\n".join(lines) for _, lines in groupby(order, section))


def indented(source: str, margin: str = "    ") -> str:
    """Return statements one level deeper, by `margin`; strings keep their lines as they are."""
    nodes = [*ast.walk(parse_or_empty(source))]
    docstrings = [node.value for node in nodes if isinstance(node, ast.Expr)]
    inside: set[int] = set()
    for node in nodes:
        if isinstance(node, ast.Constant | ast.JoinedStr) and node not in docstrings:
            inside.update(range(node.lineno + 1, (node.end_lineno or 0) + 1))
    return "\n".join(
        line if number in inside or not line.strip() else f"{margin}{line}"
        for number, line in enumerate(source.split("\n"), 1)
    )


#: Words that say nothing of what a report is about.
_SMALL = frozenset(
    {
        "the", "and", "for", "with", "from", "that", "this", "when", "then", "than", "are", "was",
        "does", "is", "it", "of", "in", "on", "to", "an", "as", "at", "by", "or", "be", "if", "has",
        "have", "its", "only", "also", "after", "before", "while", "via", "using", "use",
    }
)  # fmt: skip


def slug(title: str) -> str:
    """Return what tests and their file are called after: the first words of a report's title.

    >>> slug("The @check decorator doesn't work with a field")
    'check_decorator_doesnt_work'
    """
    words = re.findall(r"[a-z0-9]+", re.sub("['’]", "", title.lower()))
    telling = [word for word in words if len(word) > 1 and word not in _SMALL]
    return "_".join(telling[:4])[:40].rstrip("_") or "issue"
