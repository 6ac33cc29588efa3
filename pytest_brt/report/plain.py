"""Text of strangers and of models on a terminal: without what a terminal would obey."""

from __future__ import annotations


def plain(text: str) -> str:
    r"""Return `text` without control characters, but for ends of lines and tabs.

    >>> plain("a\x1b[2Jb\nc")
    'a?[2Jb\nc'
    """
    return "".join(c if c.isprintable() or c in "\n\t" else "?" for c in text)
