"""What the runs of one strategy agree on: known only when all of them are there."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from pytest_brt.code.normal import test_key
from pytest_brt.oracle.judge import failure_key
from pytest_brt.reproduce.model_tests.confidence import with_agreement
from pytest_brt.reproduce.select import dropped
from pytest_brt.types import Attempt, JudgedTest


def agreed(attempts: Iterable[Attempt]) -> tuple[Attempt, ...]:
    """Return the attempts with their candidates judged together.

    Of a strategy that was run several times, a test is likelier if other runs wrote one that
    fails in the same way, and one that several runs wrote is a candidate once. Strategies that
    draw samples within a run judge those themselves.
    """
    attempts = tuple(attempts)
    runs: dict[tuple[str, str], int] = {}
    alike: dict[tuple[str, str, str], set[int]] = {}
    for attempt in attempts:
        place = (attempt.issue, attempt.strategy)
        runs[place] = runs.get(place, 0) + 1
        for item in attempt.tests:
            if item.judgement.candidate:
                alike.setdefault((*place, _key(item)), set()).add(attempt.index)
    first: dict[tuple[str, str, str], str] = {}
    return tuple(
        _once(_agreed(attempt, runs[attempt.issue, attempt.strategy], alike), first)
        for attempt in attempts
    )


def _once(attempt: Attempt, first: dict[tuple[str, str, str], str]) -> Attempt:
    """Return `attempt` without candidates that are, but for names and layout, in `first`."""
    tests: list[JudgedTest] = []
    for item in attempt.tests:
        key = (attempt.issue, attempt.strategy, test_key(item.test.source or item.test.id))
        known = first.get(key)
        if item.judgement.candidate and known:
            tests.append(dropped(item, f"the same code as {known} of an earlier run"))
            continue
        tests.append(item)
        if item.judgement.candidate:
            first[key] = item.test.name
    return replace(attempt, tests=tuple(tests))


def _agreed(attempt: Attempt, runs: int, alike: dict[tuple[str, str, str], set[int]]) -> Attempt:
    if runs < 2:
        return attempt

    def raised(item: JudgedTest) -> JudgedTest:
        judgement = item.judgement
        if not judgement.candidate or judgement.samples > 1:
            return item
        agree = len(alike[attempt.issue, attempt.strategy, _key(item)])
        return replace(
            item,
            judgement=replace(
                judgement,
                confidence=with_agreement(judgement.confidence, agree, runs),
                reason=f"{judgement.reason}; {agree} of {runs} runs fail alike",
                agree=agree,
                samples=runs,
            ),
        )

    return replace(attempt, tests=tuple(raised(item) for item in attempt.tests))


def _key(item: JudgedTest) -> str:
    runs = item.judgement.runs
    return failure_key(runs[0]) if runs else item.test.id
