"""Text of strangers, of models and of patches where people look: nothing a terminal would obey."""

from __future__ import annotations

import sys
from typing import Any


def plain(text: str) -> str:
    r"""Return `text` without control characters, but for ends of lines and tabs.

    >>> plain("a\x1b[2Jb\nc")
    'a?[2Jb\nc'
    """
    if text.isascii() and text.isprintable():
        return text
    return "".join(c if c.isprintable() or c in "\n\t" else "?" for c in text)


def on_a_line(text: str) -> str:
    r"""Return `text` without control characters, ends of lines among them.

    >>> on_a_line("a\nb\u202e")
    'a?b?'
    """
    return "".join(c if c.isprintable() else "?" for c in text)


def show(reporter: Any, text: str, **markup: bool) -> None:
    """Write one line on pytest's terminal."""
    reporter.write_line(on_a_line(text), **markup)


def say(text: str = "", *, error: bool = False) -> None:
    """Print text of a command, at once."""
    whole = plain(text).encode("utf-8", "replace").decode("utf-8")
    print(whole, file=sys.stderr if error else sys.stdout, flush=True)
