"""Words that any sentence may need; every room above `types` may use them."""

from __future__ import annotations

import os
from collections.abc import Sequence

from pytest_brt.shown import on_a_line
from pytest_brt.types import Given, Telling

#: Characters of a value that are shown, and of those before the place where values differ.
_SHOWN, _BEFORE = 80, 20
#: Characters of a call that are shown.
_CODE = 120


def listed(names: Sequence[str]) -> str:
    """Return names as a sentence has them.

    >>> listed(["a", "b", "c"])
    'a, b and c'
    """
    return " and ".join(filter(None, (", ".join(names[:-1]), *names[-1:])))


def count(number: int, noun: str) -> str:
    """Return a number of things, as in "1 bug test" or "2 bug tests"."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def cut(text: str, length: int) -> str:
    """Return text on one line of at most `length` characters, with its blanks."""
    line = on_a_line(text)
    return line if len(line) <= length else f"{line[: length - 1]}…"


def call_words(telling: Telling) -> str:
    """Return what a call gives, as in "`f(1)` gives `2` (a.diff), raises KeyError (b.diff)"."""
    return f"`{code_words(telling)}` {', '.join(given_words(telling.gives))}"


def code_words(telling: Telling) -> str:
    """Return an expression on one line, after its set-up: of a long one what is changed in it."""
    inner = [line for line in telling.setup if not line.startswith(("import ", "from "))]
    line = on_a_line("; ".join([*inner, telling.expression]))
    if len(line) <= _CODE:
        return line
    parts = filter(None, (f"…; {telling.expression}", telling.change))
    return cut("  # ".join(parts), _CODE)


def given_words(gives: Sequence[Given]) -> list[str]:
    """Return the results of a call, as in "gives `2` (a.diff)" and "raises KeyError (b.diff)".

    Of values that begin alike, so much is left out, and of others so much shown, that one sees
    where they differ.
    """
    texts = [on_a_line(one.text) for one in gives if not one.raised]
    alike = len(os.path.commonprefix(texts)) if texts[1:] else 0  # noqa: RUF071
    start = alike - _BEFORE if alike > _SHOWN - _BEFORE else 0
    length = _SHOWN
    while len({cut(text[start:], length) for text in texts}) < len({*texts}):
        length += _SHOWN
    parts = []
    for one in gives:
        value = f"{'…' if start else ''}{cut(on_a_line(one.text)[start:], length)}"
        result = f"raises {one.raised}" if one.raised else f"gives `{value}`"
        parts.append(f"{result} ({listed(one.patches)})")
    return parts
