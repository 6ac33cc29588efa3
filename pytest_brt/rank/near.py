"""Inputs near the reported ones, drawn by Hypothesis: always the same for the same test.

Imported only when Hypothesis is installed (the extra ``property``).
"""

from __future__ import annotations

import re
import string

import hypothesis
from hypothesis import strategies as st

from pytest_brt.rank.vary import Lifted, Literal, Variant, smallest_first

_NUMBER = re.compile(r"\d+")


def variants_of(lifted: Lifted, count: int, seed: int) -> tuple[Variant, ...]:
    """Return up to `count` different variants of a test, smallest changes first.

    Drawn near each literal in turn, so that each has its part.
    """
    found: dict[str, Variant] = {}
    share = max(2, -(-count // len(lifted.literals)))
    for number, literal in enumerate(lifted.literals):
        own: dict[str, Variant] = {}
        for value in _draw(near(literal), 6 * share, seed + number):
            variant = lifted.variant(literal, value)
            if len(own) < share:
                own.setdefault(variant.id, variant)
        found |= own
    return smallest_first(tuple(found.values()))[:count]


def near(literal: Literal) -> st.SearchStrategy[Literal]:
    """Return a strategy for values like `literal`, but different from it.

    Whole numbers stay whole, on the same side of zero; a text keeps its form: one letter becomes
    another, a number in it another number, a character is doubled or left out.
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
    low = 0 if number >= 0 else None
    close = st.integers(max(number - 3, 0) if low == 0 else number - 3, max(number + 3, 3))
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
                + str(int(numbers[pair[0]][0]) + pair[1])
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


def _draw(values: st.SearchStrategy[Literal], count: int, seed: int) -> list[Literal]:
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
    @hypothesis.given(values)
    def keep(value: Literal) -> None:
        drawn.append(value)

    keep()
    return list(dict.fromkeys(drawn))
