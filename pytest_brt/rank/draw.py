"""Variants of candidate tests, drawn near their literals in a process of its own."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from itertools import chain, zip_longest
from pathlib import Path

from pytest_brt.codec import from_json
from pytest_brt.errors import SubjectProblem
from pytest_brt.rank.marks import remarked
from pytest_brt.rank.vary import Lifted, Literal, Variant, smallest_first

NEAR = Path(__file__).parent / "near.py"
#: Seconds within which all values must be drawn.
PATIENCE = 120.0


def can_vary() -> bool:
    """Say whether Hypothesis, which draws the values, is installed."""
    return importlib.util.find_spec("hypothesis") is not None


def variants_of(lifted: Sequence[Lifted], count: int, seed: int) -> tuple[tuple[Variant, ...], ...]:
    """Return, per test, up to `count` different variants, smallest changes first, and renamings.

    Drawn near each literal in turn, so that each has its part; every other one of a text has
    other punctuation, as far as there is some. In front is what tells the value of the reported
    input, where the test does not ask for one.

    Raises:
        SubjectProblem: the process that draws them failed.
    """
    asked = []
    for number, test in enumerate(lifted):
        share = _share(test, count)
        asked += [(literal, 6 * share, seed + number) for literal in test.literals]
    values = iter(_draw(asked))
    found = []
    for test in lifted:
        share = _share(test, count)
        variants: dict[str, Variant] = {}
        for literal in test.literals:
            own = (test.variant(literal, value) for value in _mixed(literal, next(values)))
            variants |= dict(list({variant.id: variant for variant in own}.items())[:share])
        near = smallest_first(tuple(variants.values()))[:count]
        in_turn = chain.from_iterable(zip_longest(near, test.renamings()))
        found.append((*test.reported(), *(variant for variant in in_turn if variant)))
    return tuple(found)


def _share(test: Lifted, count: int) -> int:
    return max(2, -(-count // max(1, len(test.literals))))


def _mixed(literal: Literal, drawn: list[Literal]) -> Iterator[Literal]:
    """Yield values near a literal, in turn drawn ones and those with other punctuation."""
    marked = remarked(literal) if isinstance(literal, str) else ()
    for pair in zip_longest(drawn, marked):
        yield from (value for value in pair if value is not None)


def _draw(asked: Sequence[tuple[Literal, int, int]]) -> list[list[Literal]]:
    with tempfile.TemporaryDirectory(prefix="brt-draw-") as folder:
        env = {**os.environ, "HYPOTHESIS_STORAGE_DIRECTORY": folder}
        done = subprocess.run(
            # -P: no module beside the script stands in for one of the standard library.
            [sys.executable, "-P", "-W", "ignore", str(NEAR)],
            cwd=folder,
            env=env,
            input=json.dumps(asked),
            capture_output=True,
            text=True,
            encoding="utf-8",
            timeout=PATIENCE,
            check=False,
        )
    if done.returncode:
        last = done.stderr.strip().splitlines()[-1:]
        raise SubjectProblem(
            f"cannot draw inputs near the reported ones: {' '.join(last)} (--brt-vary no)"
        )
    drawn: list[list[Literal]] = from_json(done.stdout, list[list[int | float | str]])
    return drawn
