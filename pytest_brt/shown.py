"""Text of strangers, of models and of patches where people look: no terminal, no CI obeys it."""

from __future__ import annotations

import re
import sys
from typing import Any

#: What a CI service takes for a command in a log: GitHub's "::error" after blanks at the start of
#: a line, its older "##[error]" and Azure's "##vso[…]" and TeamCity's anywhere in it.
_COMMAND = re.compile(r"^([^\S\n]*:)(?=:)|(#)(?=#\w*\[)", re.MULTILINE)


def plain(text: str) -> str:
    r"""Return `text` without control characters, but for ends of lines and tabs.

    >>> plain("a\x1b[2Jb\nc")
    'a?[2Jb\nc'
    """
    return "".join(c if c.isprintable() or c in "\n\t" else "?" for c in text)


def on_a_line(text: str) -> str:
    r"""Return `text` without control characters; the end of a line is shown as in a literal.

    >>> on_a_line("a\nb\u202e")
    'a\\nb?'
    """
    return plain(text.replace("\n", "\\n").replace("\t", " "))


def in_a_log(text: str) -> str:
    r"""Return `text` without what a CI service would take for a command to it.

    >>> in_a_log(" ::add-mask::a\n##[error]")
    ' : :add-mask::a\n# #[error]'
    """
    return _COMMAND.sub(r"\g<0> ", text)


def show(reporter: Any, text: str, **markup: bool) -> None:
    """Write one line on pytest's terminal, at once: a job's log is a pipe."""
    reporter.write_line(in_a_log(on_a_line(text)), **markup)
    reporter.flush()


def say(text: str = "", *, error: bool = False) -> None:
    """Print text of a command, at once."""
    print(in_a_log(plain(text)), file=sys.stderr if error else sys.stdout, flush=True)
