"""What the expressions of bug tests give on patches, in words."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pytest_brt.render.report import PatchEntry
from pytest_brt.render.words import listed, shortened
from pytest_brt.shown import on_a_line
from pytest_brt.types import Given, Telling, Value


def values(patches: Sequence[PatchEntry]) -> Iterator[str]:
    """Yield what the expressions of bug tests give on the patches that differ in it."""
    by_test: dict[str, dict[tuple[str, str], list[str]]] = {}
    first: dict[str, Value] = {}
    for patch in patches:
        for value in patch.values:
            first.setdefault(value.test, value)
            groups = by_test.setdefault(value.test, {})
            groups.setdefault((value.text, value.raised), []).append(patch.name)
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


def telling_sentence(telling: Telling) -> str:
    """Return what a call gives, as in "for `f(1)` a.diff gives `2`, b.diff raises KeyError"."""
    parts = []
    for given in telling.gives:
        several = len(given.patches) > 1
        does = f"{'raise' if given.raised else 'give'}{'' if several else 's'}"
        parts.append(f"{listed(given.patches)} {does} {_result(given)}")
    return f"for `{_call(telling)}` {', '.join(parts)}"


def given_sentence(telling: Telling, given: Given) -> str:
    """Return what a call gives on some patches, as in "f(1) gives 2 (a.diff)"."""
    does = "raises" if given.raised else "gives"
    return f"{_call(telling)} {does} {given.raised or given.text} ({listed(given.patches)})"


def _call(telling: Telling) -> str:
    """Return a call with its set-up, but for imports, on one line."""
    inner = [line for line in telling.setup if not line.startswith(("import ", "from "))]
    return shortened(on_a_line("; ".join([*inner, telling.expression])), 120)


def _result(given: Given) -> str:
    return given.raised or _shown_value(given.text)


def _given(text: str, raised: str) -> str:
    return f"raises {raised}" if raised else _shown_value(text)


def _shown_value(text: str) -> str:
    return f"`{shortened(on_a_line(text), 80)}`"
