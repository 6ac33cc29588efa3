"""Code as people paste it, sessions among it → the statements of it that parse."""

from __future__ import annotations

import ast
import re
import textwrap
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import takewhile

from pytest_brt.pysource.parse import compiled, first_line, parse, parses
from pytest_brt.types.note import value
from pytest_brt.types.report import LeftOut

#: The prompt of Python, of PyPy, or of IPython; five and more are a banner, as pytest draws them.
PROMPT = r"[ \t]*(?:>>>(?:>(?= [^>]))?(?!>)|In ?\[ ?\d* ?\]:? ?)"
_EXCHANGE = re.compile(
    rf"^{PROMPT} ?(?P<typed>.*(?:\n[ \t]*\.{{3,}}.*)*)(?P<output>(?:\n(?!{PROMPT}).*)*)",
    re.MULTILINE,
)
_MORE = re.compile(r"\n[ \t]*\.{3,}(?:: ?| )?")
_OUT = re.compile(r"^[ \t]*Out ?\[ ?\d* ?\]:? ?", re.MULTILINE)
#: The prompt of a shell, as in "(venv) me@host:~/project$ ".
SHELL = re.compile(
    r"^\s*(?:\([\w.-]+\) ?)?(?:[\w.-]+[@:][^$#%\n'\"()=]{0,60})?[$%❯→➜λ] +(\S.*)$",
    re.MULTILINE,
)
#: An arrow to a remark, as in `f(x) <-- wrong`, which Python takes for a comparison.
_ARROW = re.compile(r"^([^#\n]*\S)\s+<-{2,}>?\s+(?=\S)", re.MULTILINE)
#: Statements that are read; more is a program.
MOST_STATEMENTS = 150
#: Lines of a block that are read, and ends of a part that are tried.
_LINES, _TRIES = 400, 9


@value
class Snippet:
    """A statement that parses, with what stands at it."""

    source: str
    #: 0-based line within the block.
    line: int
    #: The comment at the end of its last line, and the lines of comments below it.
    beside: str
    below: str
    #: What a session shows below it.
    output: str = ""


def is_session(text: str) -> bool:
    """Say whether a line of `text` is an input of a Python or IPython session."""
    return _EXCHANGE.search(text) is not None


def read_session(text: str) -> list[Snippet]:
    r"""Return the statements typed in a session; what follows an input is its last one's output.

    >>> read_session(">>> 1 + 1\n2")[0].output
    '2'
    """
    snippets: list[Snippet] = []
    for exchange in _EXCHANGE.finditer(text):
        line = text.count("\n", 0, exchange.start())
        typed, _ = read_snippets(_MORE.sub("\n", exchange["typed"]))
        snippets += [replace(one, line=line + one.line) for one in typed]
        if typed:
            output = _OUT.sub("", exchange["output"]).strip("\n").rstrip()
            snippets[-1] = replace(snippets[-1], output=output)
    return snippets


def shell_commands(text: str) -> Iterator[str]:
    r"""Yield the commands in `text`; without any prompt each line is one.

    >>> list(shell_commands("$ ls\na.py"))
    ['ls']
    """
    lines = re.sub(r"\\\n\s*", "", text).split("\n")
    commands = [match[1].strip() for line in lines if (match := SHELL.match(line))]
    yield from commands or filter(None, map(str.strip, lines))


def read_snippets(text: str) -> tuple[list[Snippet], list[LeftOut]]:
    """Return the statements in `text`, and the lines that are no Python; any text is accepted."""
    lines = _ARROW.sub(r"\1  # ", textwrap.dedent(text)).split("\n")[:_LINES]
    snippets: list[Snippet] = []
    left_out: list[LeftOut] = []
    start = 0
    while start < len(lines):
        end = _end_of_part(lines, start)
        body = parse("\n".join(lines[start:end])).body
        snippets += [
            _snippet(node, lines[start:end], start) for node in _without_main(body)
        ]
        # Not where the line before is one, too.
        if end < len(lines) and (end > start or not start):
            left_out.append(LeftOut(line=end, code=lines[end].strip()))
        start = end + 1
    return snippets[:MOST_STATEMENTS], left_out


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
        match node:
            case ast.If(test=ast.Compare(left=ast.Name("__name__")), body=inner):
                yield from inner
            case _:
                yield node


def _snippet(node: ast.stmt, lines: Sequence[str], offset: int) -> Snippet:
    first, end = first_line(node) - 1, node.end_lineno or node.lineno
    source = ast.get_source_segment("\n".join(lines), node) or ""
    if first < node.lineno - 1 or not parses(source):
        # With decorators, or out of a block.
        source = textwrap.dedent("\n".join(lines[first:end]))
    return Snippet(
        source=source,
        line=first + offset,
        beside=_comments([lines[end - 1].rpartition(source.split("\n")[-1])[2]]),
        below=_comments(lines[end:]),
    )


def _comments(lines: Iterable[str]) -> str:
    """Return the text of the comments with which `lines` begin."""
    run = takewhile(lambda line: line.startswith("#"), map(str.strip, lines))
    return "\n".join(line.lstrip("# ") for line in run)
