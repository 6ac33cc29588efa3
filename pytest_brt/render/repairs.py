"""Repairs and places as lines of text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pytest_brt.render.answer import breaks, what_it_does
from pytest_brt.render.table import Line
from pytest_brt.types import FoundFix, Localised, Place, Repair, RunRecord

#: Places that are shown.
_MOST = 10
#: Longest reason that is shown.
_REASON = 60
#: Existing tests that a fix breaks, by name.
_NAMED = 4


def repairs(record: RunRecord) -> Iterator[Line]:
    """Yield a line per run of a repair, and below it one per fix that it found."""
    counts: dict[str, int] = {}
    for repair in record.repairs:
        counts[repair.strategy] = counts.get(repair.strategy, 0) + 1
    for repair in record.repairs:
        several = counts[repair.strategy] > 1
        name = f"{repair.strategy}-{repair.index:02}" if several else repair.strategy
        yield Line(text=f"{name:<16}{_course(repair)}", good=bool(repair.fixes))
        for fix in repair.fixes:
            yield Line(text=f"  {fix.patch.name}  {fix.source}; {of_fix(fix)}", good=fix.plausible)
        for note in repair.notes:
            yield Line(text=f"  {note}", good=False)


def _course(repair: Repair) -> str:
    """Return how a run went, as in "12 steps, given test_a; 3,100 tokens made; finish"."""
    steps = len(repair.trajectory.steps) if repair.trajectory else 0
    parts = [f"{steps} step{'' if steps == 1 else 's'}"]
    if repair.brt:
        parts[0] += f", given {repair.brt}"
    cost = repair.cost
    parts.append(
        f"{cost.prompt_tokens:,} tokens read, {cost.evaluated:,} evaluated, {cost.tokens:,} made"
    )
    if repair.trajectory:
        parts.append(f"ended by {repair.trajectory.ending}")
    return "; ".join(parts)


def of_fix(fix: FoundFix) -> str:
    """Return what a fix does to all tests that were run on it, with the names of those it breaks.

    As in "passes 4 of 4 bug tests and breaks 1 of 9 existing tests: tests/test_a.py::test_b".
    """
    guarded = fix.guarded
    if fix.total:
        text = what_it_does(len(fix.passed), fix.total, guarded)
    else:
        text = "no bug test judges it" + (f", and it {breaks(guarded)}" if guarded else "")
    broken = [item.test for item in guarded.regressions] if guarded else []
    more = f" and {len(broken) - _NAMED} more" if len(broken) > _NAMED else ""
    return text + (f": {', '.join(broken[:_NAMED])}{more}" if broken else "")


def places(record: RunRecord) -> Iterator[str]:
    """Yield a table of places for each issue."""
    titles = {issue.id: issue.source for issue in record.issues}
    for found in record.localised:
        yield f"{titles.get(found.issue, found.issue)}: {_watched(found)}"
        yield from _table(found.places[:_MOST])
        yield from found.notes


def _watched(found: Localised) -> str:
    if not found.by:
        return "by the report alone"
    how = "coverage.py" if found.by == "coverage" else "a trace function"
    return (
        f"by the report, and by what {found.failing} failing and {found.passing} passing tests "
        f"run ({how})"
    )


def _table(found: Sequence[Place]) -> Iterator[str]:
    if not found:
        return
    width = max(len(_name(place)) for place in found)
    yield f"{'place':<{width}}  score  ochiai  dstar  tarantula  lines"
    for place in found:
        scores = "  ".join(
            f"{_score(value):>{size}}"
            for value, size in ((place.ochiai, 6), (place.dstar, 5), (place.tarantula, 9))
        )
        lines = ",".join(map(str, sorted(place.lines))) or f"{place.line}-{place.end_line or ''}"
        yield f"{_name(place):<{width}}  {place.score:5.2f}  {scores}  {lines}"
        if place.reasons:
            yield f"    {place.reasons[0][:_REASON]}"


def _name(place: Place) -> str:
    return f"{place.path}::{place.function}" if place.function else place.path


def _score(value: float | None) -> str:
    if value is None:
        return "-"
    return "inf" if value < 0 else f"{value:.2f}"
