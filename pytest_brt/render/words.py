"""Words that any sentence may need: numbers of things, lists of names, texts cut to size."""

from __future__ import annotations

from collections.abc import Sequence

from pytest_brt.shown import on_a_line


def listed(names: Sequence[str]) -> str:
    """Return names as a sentence has them.

    >>> listed(["a", "b", "c"])
    'a, b and c'
    """
    return f"{', '.join(names[:-1])} and {names[-1]}" if len(names) > 1 else "".join(names)


def count(number: int, noun: str) -> str:
    """Return a number of things, as in "1 bug test", "2 bug tests" or "2 patches"."""
    ending = "es" if noun.endswith(("ch", "sh", "s", "x")) else "s"
    return f"{number} {noun}" if number == 1 else f"{number} {noun}{ending}"


def shortened(text: str, cut: int | None) -> str:
    """Return `text` on one line of at most `cut` characters, cut between words if it can be."""
    line = " ".join(text.split())
    if cut is None or len(line) <= cut:
        return line
    words = line[:cut].rpartition(" ")[0]
    return f"{words if len(words) > cut // 2 else line[: cut - 1]}…"


def value_of(text: str, raised: str = "") -> str:
    """Return what an expression gives, as in "`2`" or "raises KeyError"."""
    return f"raises {raised}" if raised else f"`{_cut(text, 80)}`"


def call_of(setup: Sequence[str], expression: str) -> str:
    """Return a call with its set-up, but for imports, on one line."""
    inner = [line for line in setup if not line.startswith(("import ", "from "))]
    return _cut("; ".join([*inner, expression]), 120)


def _cut(code: str, length: int) -> str:
    """Return code on one line, with its blanks, which may matter."""
    line = on_a_line(code)
    return line if len(line) <= length else f"{line[: length - 1]}…"
