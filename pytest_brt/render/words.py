"""Words that any sentence may need: numbers of things, lists of names, texts cut to size."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

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


def call_words(
    setup: Sequence[str], expression: str, gives: Mapping[tuple[str, str], Sequence[str]]
) -> str:
    """Return what a call gives, as in "`f(1)` gives `2` (a.diff), raises KeyError (b.diff)".

    `gives` has each value, or "" and the exception, with the names of the patches.
    """
    inner = [line for line in setup if not line.startswith(("import ", "from "))]
    parts = [
        f"{f'raises {raised}' if raised else f'gives `{_cut(text, 80)}`'} ({listed(names)})"
        for (text, raised), names in gives.items()
    ]
    return f"`{_cut('; '.join([*inner, expression]), 120)}` {', '.join(parts)}"


def _cut(code: str, length: int) -> str:
    """Return code on one line, with its blanks, which may matter."""
    line = on_a_line(code)
    return line if len(line) <= length else f"{line[: length - 1]}…"
