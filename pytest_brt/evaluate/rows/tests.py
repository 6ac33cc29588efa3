"""Rows about tests: what each does on both trees, and what of a bug is reproduced by them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pytest_brt.evaluate.measures import Order, acc_at, wef_at
from pytest_brt.evaluate.record import Bug, Flaw, StudyResult, TestOutcome
from pytest_brt.evaluate.rows.row import Row, make_row, studied
from pytest_brt.reproduce.libro.run import AGREE

_PLACES = (1, 3, 5)


def test_rows(result: StudyResult) -> Iterator[Row]:
    """Yield a row per test that was considered."""
    for bug, found in studied(result, result.reproduced):
        for test in found.tests:
            yield make_row(bug, test, transition=test.transition, plausible=test.plausible)


def _tests(result: StudyResult) -> Iterator[tuple[Bug, str, list[TestOutcome]]]:
    """Yield the tests of each bug and strategy, best first."""
    for bug, found in studied(result, result.reproduced):
        for strategy in result.about.settings.strategies:
            yield bug, strategy, [test for test in found.tests if test.strategy == strategy]


def reproduced_rows(result: StudyResult) -> Iterator[Row]:
    """Yield a row per bug and strategy: what holds of its tests.

    The paper counts tests that fail on the bug, F→X, and those of them that pass with the fix.
    A candidate of ours fails for a reason that can be named; the rest is about candidates.
    """
    for bug, strategy, tests in _tests(result):
        failing = [test for test in tests if test.fails]
        fixed = any(test.plausible for test in failing)
        candidates = [test for test in tests if test.candidate]
        right = [test.plausible for test in candidates]
        flaws = {test.flaw for test in candidates if test.plausible}
        yield make_row(
            bug,
            strategy=strategy,
            tests=len(tests),
            candidates=len(candidates),
            fails=bool(failing),
            fails_to_pass=fixed,
            passes_of_failing=fixed if failing else None,
            candidate=bool(candidates),
            plausible=any(right),
            plausible_of_candidates=any(right) if candidates else None,
            plausible_first=right[:1] == [True],
            swt_bench=bool(right) and all(right),
            valid=bool(flaws - {Flaw.CHANGES_TESTS}),
            flawless=Flaw.NONE in flaws,
            shown=is_shown(candidates, result.about.settings.agree),
            first_plausible=right.index(True) + 1 if any(right) else None,
        )


def is_shown(candidates: Sequence[TestOutcome], agree: int | None) -> bool:
    """Whether a user would be shown the candidates of one strategy.

    Of LIBRO more than `agree` samples must fail alike, by default 1.
    """
    if not candidates or candidates[0].strategy != "libro":
        return bool(candidates)
    threshold = AGREE if agree is None else agree
    return max(test.agree for test in candidates) > threshold


def effort_rows(result: StudyResult) -> Iterator[Row]:
    """Yield how many tests must be read until a plausible one, per bug with a candidate.

    Shuffled is the expectation over all orders; LIBRO draws 100 of them.
    """
    for bug, strategy, tests in _tests(result):
        right = [test.plausible for test in tests if test.candidate]
        ranked: Order = [[is_right] for is_right in right]
        for name, order in {"ranked": ranked, "shuffled": [right]}.items():
            if right:
                accs = {f"acc@{k}": acc_at(order, k) for k in _PLACES}
                wefs = {f"wef@{k}": wef_at(order, k) for k in _PLACES}
                yield make_row(bug, strategy=strategy, order=name, **accs, **wefs)
