"""What models are shown of long texts: beginning and end, and that something is left out."""

from __future__ import annotations

from collections.abc import Sequence

from pytest_brt.types import Issue

#: Characters of a report from which on its middle goes.
_REPORT = 8_000


def numbered(lines: Sequence[str], first: int, last: int) -> str:
    """Return lines with their numbers, as far as there are such lines.

    >>> print(numbered(("a", "b"), 2, 9))
        2| b
    """
    first = max(1, first)
    return "\n".join(f"{n:5}| {line}" for n, line in enumerate(lines[first - 1 : last], first))


def cut(text: str, most: int, head: float = 0.4) -> str:
    r"""Return a text in about `most` characters: its beginning and its end.

    >>> print(cut("a text of many words", 10))
    a te
    [… 10 characters left out …]
     words
    """
    if len(text) <= most:
        return text
    first = int(most * head)
    return f"{text[:first]}\n[… {len(text) - most} characters left out …]\n{text[first - most :]}"


def report_text(issue: Issue, most: int = _REPORT) -> str:
    """Return a report without its title, the middle of a long one left out."""
    first, _, rest = issue.text.strip("\n").partition("\n")
    text = rest if first.lstrip("# ").strip() == issue.title.strip() else issue.text
    return cut(text.strip("\n"), most, head=2 / 3)
