"""Inputs near the reported ones, drawn by Hypothesis: always the same for the same test.

Run as a program (see `draw`), for Hypothesis keeps files in the working folder, looks into every
module that is loaded, and changes settings of the process: none of it is for a user's pytest run.
Reads a JSON list of [literal, count, seed] and writes a list of values for each.
"""

from __future__ import annotations

import json
import re
import string
import sys

import hypothesis
from hypothesis import strategies as st

Literal = int | float | str

_NUMBER = re.compile(r"\d+")


def draw(literal: Literal, count: int, seed: int) -> list[Literal]:
    """Return up to `count` different values near a literal."""
    drawn: list[Literal] = []

    @hypothesis.seed(seed)
    @hypothesis.settings(
        max_examples=count,
        database=None,
        deadline=None,
        phases=[hypothesis.Phase.generate],
        suppress_health_check=list(hypothesis.HealthCheck),
        verbosity=hypothesis.Verbosity.quiet,
    )
    @hypothesis.given(near(literal))
    def keep(value: Literal) -> None:
        drawn.append(value)

    keep()
    return list(dict.fromkeys(drawn))


def near(literal: Literal) -> st.SearchStrategy[Literal]:
    """Return a strategy for values like `literal`, but different from it.

    Whole numbers stay whole, on the same side of zero; a text keeps its form: one letter becomes
    another, a number in it another number as wide, a character is doubled or left out.
    """
    values: st.SearchStrategy[Literal]
    if isinstance(literal, str):
        values = _near_text(literal)
    elif isinstance(literal, int):
        values = _near_int(literal)
    else:
        values = st.floats(0.5, 2.0).map(lambda factor: round(literal * factor, 3))
        values |= st.integers(1, 9).map(lambda step: literal + step)
    return values.filter(lambda value: value != literal)


def _near_int(number: int) -> st.SearchStrategy[Literal]:
    if number >= 0:  # the sign is often what a case is about
        close = st.integers(max(number - 3, 0), max(number + 3, 3))
    else:
        close = st.integers(number - 3, min(number + 3, 0))
    far = st.sampled_from((2, 3, 10)).map(lambda factor: number * factor)
    around = st.integers(1, 50).map(lambda step: number + step if number >= 0 else number - step)
    return close | far | around


def _near_text(text: str) -> st.SearchStrategy[Literal]:
    places = st.integers(0, len(text) - 1)
    changed = st.tuples(places, st.integers(1, 25)).map(lambda pair: _other(text, *pair))
    doubled = places.map(lambda at: text[: at + 1] + text[at:])
    shorter = places.map(lambda at: text[:at] + text[at + 1 :])
    strategy: st.SearchStrategy[Literal] = changed | doubled | shorter
    if numbers := list(_NUMBER.finditer(text)):
        other = st.tuples(st.sampled_from(range(len(numbers))), st.integers(1, 9))
        strategy |= other.map(
            lambda pair: (
                text[: numbers[pair[0]].start()]
                + str(int(numbers[pair[0]][0]) + pair[1]).zfill(len(numbers[pair[0]][0]))
                + text[numbers[pair[0]].end() :]
            )
        )
    return strategy


def _other(text: str, at: int, step: int) -> str:
    """Replace one letter or digit by another of its class; anything else stays.

    >>> _other("aZ9-", 0, 1), _other("aZ9-", 1, 1), _other("aZ9-", 2, 1), _other("aZ9-", 3, 1)
    ('bZ9-', 'aA9-', 'aZ0-', 'aZ9-')
    """
    letter = text[at]
    for letters in (string.ascii_lowercase, string.ascii_uppercase, string.digits):
        if letter in letters:
            new = letters[(letters.index(letter) + step) % len(letters)]
            return text[:at] + new + text[at + 1 :]
    return text


if __name__ == "__main__":
    given = json.load(sys.stdin)
    json.dump([draw(*asked) for asked in given], sys.stdout)
