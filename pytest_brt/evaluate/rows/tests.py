"""Rows about tests: what each does on both trees, and what of a bug is reproduced by them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pytest_brt.evaluate.measures import Order, acc_at, wef_at
from pytest_brt.evaluate.record import Bug, Flaw, Reproduced, StudyResult, TestOutcome
from pytest_brt.evaluate.rows.row import Row, about_bug, flat, place_of_first, yes
from pytest_brt.reproduce.libro.run import MANY

_PLACES = (1, 3, 5)


def reproduced_bugs(result: StudyResult) -> Iterator[tuple[Bug, Reproduced]]:
    """Yield the bugs that were set up, and what was made of them."""
    bugs = {bug.id: bug for bug in result.bugs}
    for found in result.reproduced:
        if not found.problem:
            yield bugs[found.instance], found


def _tests(result: StudyResult) -> Iterator[tuple[Row, tuple[TestOutcome, ...]]]:
    """Yield the tests of each bug and strategy, best first, with what their rows begin with."""
    for bug, found in reproduced_bugs(result):
        for strategy in result.about.settings.strategies:
            tests = tuple(test for test in found.tests if test.strategy == strategy)
            yield about_bug(bug) | {"strategy": strategy}, tests


def test_rows(result: StudyResult) -> Iterator[Row]:
    """Yield a row per test that was considered."""
    for start, tests in _tests(result):
        for test in tests:
            yield (
                start
                | flat(test, "reaches", "candidate")
                | {
                    "transition": str(test.transition),
                    "candidate": int(test.candidate),
                    "plausible": int(test.plausible),
                    "reaches_fix": yes(test.reaches),
                }
            )


def reproduced_rows(result: StudyResult) -> Iterator[Row]:
    """Yield a row per bug and strategy: what holds of its tests.

    The paper counts tests that fail on the bug, F→X, and those of them that pass with the fix.
    A candidate of ours fails for a reason that can be named; the rest is about candidates.
    """
    agree = result.about.settings.agree
    for start, every in _tests(result):
        failing = [test for test in every if test.fails]
        tests = [test for test in every if test.candidate]
        right = [test.plausible for test in tests]
        fixed = any(test.plausible for test in failing)
        yield start | {
            "tests": len(every),
            "candidates": len(tests),
            "fails": int(bool(failing)),
            "fails_to_pass": int(fixed),
            "passes_of_failing": int(fixed) if failing else None,
            "candidate": int(bool(tests)),
            "plausible": int(any(right)),
            "plausible_of_candidates": int(any(right)) if tests else None,
            "plausible_first": int(right[:1] == [True]),
            "swt_bench": int(bool(right) and all(right)),
            "valid": int(any(t.plausible and t.flaw is not Flaw.CHANGES_TESTS for t in tests)),
            "flawless": int(any(t.plausible and t.flaw is Flaw.NONE for t in tests)),
            "shown": int(is_shown(tests, agree)),
            "first_plausible": place_of_first(right),
        }


def is_shown(candidates: Sequence[TestOutcome], agree: int | None) -> bool:
    """Whether a user would be shown the candidates of one strategy.

    Of LIBRO more than `agree` samples must fail alike; by default 1 where there are many samples.
    """
    if not candidates or candidates[0].strategy != "libro":
        return bool(candidates)
    samples = max(test.samples for test in candidates)
    threshold = int(samples >= MANY) if agree is None else agree
    return max(test.agree for test in candidates) > threshold


def effort_rows(result: StudyResult) -> Iterator[Row]:
    """Yield how many tests must be read until a plausible one, per bug with a candidate.

    Shuffled is the expectation over all orders; LIBRO draws 100 of them.
    """
    for start, every in _tests(result):
        right = [test.plausible for test in every if test.candidate]
        if right:
            orders: dict[str, Order] = {
                "ranked": [[is_right] for is_right in right],
                "shuffled": [right],
            }
            for name, order in orders.items():
                accs: Row = {f"acc@{k}": acc_at(order, k) for k in _PLACES}
                wefs: Row = {f"wef@{k}": wef_at(order, k) for k in _PLACES}
                yield start | {"order": name} | accs | wefs
