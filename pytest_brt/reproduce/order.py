"""Which tests are shown first: the likeliest, each once."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import replace

from pytest_brt.oracle.judge import refused
from pytest_brt.pysource.normal_form import test_key
from pytest_brt.reproduce.strategy import KEEP
from pytest_brt.types import Attempt, JudgedTest, Verdict


def select(judged: Sequence[JudgedTest], keep: int = KEEP) -> tuple[JudgedTest, ...]:
    """Return all tests, best first; beyond `keep` candidates the rest are none any more.

    Candidates go by confidence, and in their order where it is the same.
    """
    order = {Verdict.FAIL: 0, Verdict.PASS: 1}  # of what is no candidate
    best = sorted(judged, key=lambda one: order.get(one.judgement.verdict, 2))
    tests = without_doubles(sorted(best, key=lambda one: -one.judgement.confidence))
    good = [item for item in tests if item.judgement.candidate]
    reason = f"not kept: {keep} likelier ones were found"
    over = [dropped(item, reason) for item in good[keep:]]
    return (*good[:keep], *over, *(item for item in tests if item not in good))


def without_doubles(
    tests: Iterable[JudgedTest], known: dict[str, str] | None = None
) -> tuple[JudgedTest, ...]:
    """Return `tests`; candidates with the code of one before them are none any more.

    Names and layout do not count. `known` has the names of candidates by their code, and takes
    these.
    """
    known = {} if known is None else known
    once = []
    for item in tests:
        key = test_key(item.test.source or item.test.id) if item.judgement.candidate else ""
        once.append(dropped(item, f"the same code as {known[key]}") if key in known else item)
        if key:
            known.setdefault(key, item.test.name)
    return tuple(once)


def dropped(item: JudgedTest, reason: str) -> JudgedTest:
    """Return a test that is no candidate any more, for `reason`; as it is when it was none."""
    if not item.judgement.candidate:
        return item
    old = item.judgement
    return replace(item, judgement=refused(old.verdict, f"{reason}; {old.reason}", old.runs))


def without_repeats(attempts: Iterable[Attempt]) -> tuple[Attempt, ...]:
    """Return the attempts; what several runs of a strategy wrote is a candidate once."""
    known: defaultdict[tuple[str, str], dict[str, str]] = defaultdict(dict)
    return tuple(
        replace(one, tests=without_doubles(one.tests, known[one.issue, one.strategy]))
        for one in attempts
    )
