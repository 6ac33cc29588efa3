"""What a repair wrote, in words."""

from __future__ import annotations

from collections.abc import Iterable
from typing import assert_never

from pytest_brt.render.answer import MORE
from pytest_brt.render.ranking import beside, what_it_does
from pytest_brt.types import Ending, FixSource, FoundFix, Repair

#: Existing tests that a fix breaks, by name.
_NAMED = 4


def fix_source_words(source: FixSource) -> str:
    """Return who wrote a fix, as in "the agent"."""
    match source:
        case FixSource.AGENT:
            return "the agent"
        case FixSource.VARIANT:
            return "a variant"
        case _:
            assert_never(source)


def fix_words(fix: FoundFix) -> str:
    """Return what a fix does to all tests that were run on it, with the names of those it breaks.

    As in "passes 4 of 4 bug tests and breaks 1 of 9 existing tests: tests/test_a.py::test_b".
    """
    guarded = fix.guarded
    if fix.total:
        text = what_it_does(len(fix.passed), fix.total, guarded)
    else:
        text = "is judged by no bug test" + (beside(guarded) if guarded else "")
    broken = [item.test for item in guarded.regressions] if guarded else []
    more = f" and {len(broken) - _NAMED} more" if len(broken) > _NAMED else ""
    return text + (f": {', '.join(broken[:_NAMED])}{more}" if broken else "")


def why_no_patch(repairs: Iterable[Repair]) -> str:
    """Return why repairs without a fix came to nothing."""
    dialogues = [repair.trajectory for repair in repairs if repair.trajectory is not None]
    if any(talk.steps for talk in dialogues):
        return "no fix passes the tests"
    if any(talk.ending is Ending.TOKENS for talk in dialogues):
        return f"the first prompt does not fit the model; {MORE[Ending.TOKENS]}"
    return "no fix was tried"
