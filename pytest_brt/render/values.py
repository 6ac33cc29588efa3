"""What the expressions of bug tests give on patches, in words."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pytest_brt.render.answer import listed
from pytest_brt.render.table import shortened
from pytest_brt.shown import on_a_line
from pytest_brt.types import Rank, Value


def values(ranks: Sequence[Rank]) -> Iterator[str]:
    """Yield what the expressions of bug tests give on the patches that differ in it."""
    by_test: dict[str, dict[tuple[str, str], list[str]]] = {}
    first: dict[str, Value] = {}
    for rank in ranks:
        for value in rank.result.values:
            first.setdefault(value.test, value)
            groups = by_test.setdefault(value.test, {})
            groups.setdefault((value.text, value.raised), []).append(rank.name)
    for test, groups in by_test.items():
        before = first[test].before
        parts = [
            f"{listed(names)} {_given(text, raised)}"
            for (text, raised), names in groups.items()
            if text != before
        ]
        same = groups.get((before, ""), [])
        unchanged = [f"{len(same)} unchanged"] if same else []
        shown = "; ".join([f"before {_shown_value(before)}", *parts, *unchanged])
        yield f"`{shortened(first[test].expression, 80)}`: {shown}"


def _given(text: str, raised: str) -> str:
    return f"raises {raised}" if raised else _shown_value(text)


def _shown_value(text: str) -> str:
    return f"`{shortened(on_a_line(text), 80)}`"
