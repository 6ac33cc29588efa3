"""Python files that are edited: their bytes, text and changes."""

from __future__ import annotations

import ast
import codecs
import difflib
import io
import re
import tokenize
from dataclasses import dataclass

from pytest_brt.errors import EditProblem
from pytest_brt.pysource.parse import Function, is_test_class, parse
from pytest_brt.types import FileChange

#: Of a line of code that is written: what the strictest of linters allows.
WIDTH = 79


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
    bare = data.removeprefix(codecs.BOM_UTF8)
    try:
        encoding, _ = tokenize.detect_encoding(io.BytesIO(bare).readline)
        text = bare.decode(encoding)
    except (SyntaxError, UnicodeDecodeError, LookupError) as error:
        raise EditProblem(f"{path!r} cannot be read as text: {error}") from error
    return SourceText(path=path, text=text, encoding=encoding, mark=mark)


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
        before = "/dev/null" if self.before is None else f"a/{self.path}"
        head = f"diff --git a/{self.path} b/{self.path}\n"
        head += "new file mode 100644\n" if self.before is None else ""
        body = difflib.unified_diff(
            _lines(self.before or b""), _lines(self.after), before, f"b/{self.path}"
        )
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
    #: Why it is not in the file where it belongs, "" where it is.
    elsewhere: str = ""


def new_file(source: str, path: str) -> Placement:
    """Return the test module `source` as a file of its own.

    Raises:
        EditProblem: it is not Python, has no test in it, or imports relatively.
    """
    nodes = tests_of(source)
    text = source if source.endswith("\n") else f"{source}\n"
    return Placement(edit=Edit(path=path, before=None, after=text.encode()), nodes=nodes)


def tests_of(source: str) -> tuple[str, ...]:
    """Return the names of the tests of a module that stands alone.

    Raises:
        EditProblem: it is not Python, has no test in it, or imports relatively.
    """
    try:
        body = parse(source).body
    except SyntaxError as error:
        raise EditProblem(
            f"'the new test' is not Python: {error.msg!r} in line {error.lineno}"
        ) from error
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
    return tests


#: Tokens that may go over several lines; Python 3.12 takes f-strings apart.
_STRINGS = frozenset({tokenize.STRING, getattr(tokenize, "FSTRING_MIDDLE", tokenize.STRING)})


def indented(source: str) -> str:
    """Return statements one level deeper; lines that begin in a string stay as they are."""
    inside: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type in _STRINGS:
            inside.update(range(token.start[0] + 1, token.end[0] + 1))
    return "\n".join(
        line if number in inside or not line.strip() else f"    {line}"
        for number, line in enumerate(source.split("\n"), 1)
    )


def slug(title: str) -> str:
    """Return what tests and their file are called after: the first words of a report's title.

    >>> slug("The @check decorator doesn't work with a field")
    'check_decorator_not_work'
    """
    words = re.findall(r"[a-z0-9]+", _NOT.sub(" not ", title).lower())
    words = [word for word in words if word not in _SMALL and len(word) > 1]
    # A name does not end in its "not": what is not done comes behind it.
    words = words[: 5 if words[3:4] == ["not"] else 4]
    while len("_".join(words)) > _LONGEST and len(words) > 1:
        words.pop()
    return "_".join(words)[:_LONGEST] or "issue"


#: Words that say nothing of what a report is about.
_SMALL = frozenset(
    {
        "the", "and", "for", "with", "from", "that", "this", "when", "then", "than", "are",
        "was", "does", "is", "it", "of", "in", "on", "to", "an", "as",
        "at", "by", "or", "be", "if", "has", "have", "its", "only", "also", "after", "before",
        "while", "via", "using", "use",
    }
)  # fmt: skip
_NOT = re.compile(
    r"\b(?:cannot|(?:ca|wo|do|does|did|is|are|was|were|has|have|should|would|could)n['’]?t)\b",
    re.IGNORECASE,
)
#: Letters of a name.
_LONGEST = 40
