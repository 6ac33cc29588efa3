"""Which tests are shown first: clusters by failure, best of each first, no doubles.

What several runs of a strategy, or several ways, agree on is likelier.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace

from pytest_brt.oracle.judge import failure_key, rescored
from pytest_brt.reproduce.model_tests.confidence import with_agreement, with_odds
from pytest_brt.syntax.normal import test_key
from pytest_brt.types import Attempt, JudgedTest, OracleKind, Verdict

#: Order of those that are no candidates: nearest to one first.
_ORDER = (Verdict.FAIL, Verdict.PASS, Verdict.FLAKY, Verdict.TIMEOUT, Verdict.CRASH)


def select(judged: Sequence[JudgedTest], keep: int | None = None) -> tuple[JudgedTest, ...]:
    """Return all tests, best first; beyond `keep` candidates the rest are none any more.

    Candidates go by confidence, and in their order where it is the same, but one per cluster (same
    oracle and same failure) before the second of any, as long as the next cluster is not much less
    likely.
    """
    candidates = [item for item in judged if item.judgement.candidate]
    every = without_doubles(sorted(candidates, key=lambda item: -item.judgement.confidence))
    ordered = _round_robin([item for item in every if item.judgement.candidate])
    if keep is not None and len(ordered) > keep:
        reason = f"not kept: {keep} likelier ones were found"
        ordered = [*ordered[:keep], *(dropped(item, reason) for item in ordered[keep:])]
    ordered += [item for item in every if not item.judgement.candidate]
    chosen = {item.test.id for item in ordered}
    rest = [item for item in judged if item.test.id not in chosen]
    return (*ordered, *sorted(rest, key=_rest_key))


def cluster_key(item: JudgedTest) -> tuple[str, str, str]:
    """Return what two tests have in common that fail of the same thing."""
    run = item.judgement.runs[0] if item.judgement.runs else None
    raised = run.raised if run else None
    if item.test.oracle.kind is not OracleKind.NO_RAISE or raised is None:
        return (item.test.oracle.kind, "", item.test.id)
    last = raised.in_project
    place = f"{last.path}:{last.function}" if last else ""
    return (item.test.oracle.kind, raised.type, place + re.sub(r"\d+", "0", raised.message[:80]))


def without_doubles(
    tests: Iterable[JudgedTest], known: dict[str, str] | None = None, where: str = ""
) -> tuple[JudgedTest, ...]:
    """Return `tests`; candidates with the code of one before them are none any more.

    Names and layout do not count. `known` has the names of candidates by their code, and takes
    these; `where` says where those stand, as in " of an earlier run".
    """
    known = {} if known is None else known
    found: list[JudgedTest] = []
    for item in tests:
        key = test_key(item.test.source or item.test.id) if item.judgement.candidate else ""
        if key in known:
            found.append(dropped(item, f"the same code as {known[key]}{where}"))
            continue
        found.append(item)
        if key:
            known[key] = item.test.name
    return tuple(found)


def _round_robin(items: list[JudgedTest]) -> list[JudgedTest]:
    """Order the best first, each lowered for those of its cluster that stand before it."""
    before: Counter[tuple[str, str, str]] = Counter()
    weighed = []
    for item in items:
        key = cluster_key(item)
        weighed.append((item.judgement.confidence * 0.8 ** before[key], item))
        before[key] += 1
    return [item for _, item in sorted(weighed, key=lambda pair: -pair[0])]


def _rest_key(item: JudgedTest) -> tuple[int, str]:
    verdict = item.judgement.verdict
    place = _ORDER.index(verdict) if verdict in _ORDER else len(_ORDER)
    return (place, item.test.id)


def dropped(item: JudgedTest, reason: str) -> JudgedTest:
    """Return a test that is no candidate any more, for `reason`; as it is when it was none."""
    if not item.judgement.candidate:
        return item
    judgement = replace(
        item.judgement,
        candidate=False,
        confidence=0.0,
        reason=f"{reason}; {item.judgement.reason}",
    )
    return replace(item, judgement=judgement)


def agreed(attempts: Iterable[Attempt]) -> tuple[Attempt, ...]:
    """Return the attempts with their candidates judged together.

    Of a strategy that was run several times, a test is likelier if other runs wrote one that
    fails in the same way, and one that several runs wrote is a candidate once. Strategies that
    draw samples within a run judge those themselves.
    """
    attempts = tuple(attempts)
    runs = Counter((attempt.issue, attempt.strategy) for attempt in attempts)
    alike: dict[tuple[str, str, str], set[int]] = defaultdict(set)
    for attempt in attempts:
        for item in attempt.tests:
            if item.judgement.candidate:
                alike[attempt.issue, attempt.strategy, _key(item)].add(attempt.index)
    first: dict[tuple[str, str], dict[str, str]] = {place: {} for place in runs}
    found = []
    for attempt in attempts:
        place = (attempt.issue, attempt.strategy)
        tests = [
            _among(item, len(alike[(*place, _key(item))]), runs[place]) for item in attempt.tests
        ]
        kept = without_doubles(tests, first[place], " of an earlier run")
        found.append(replace(attempt, tests=kept))
    return tuple(found)


def _among(item: JudgedTest, agree: int, runs: int) -> JudgedTest:
    """Return a candidate that was judged alone as one of `runs`, of which some fail alike."""
    judgement = item.judgement
    if runs < 2 or not judgement.candidate or judgement.samples > 1:
        return item
    value = with_agreement(judgement.confidence, agree, runs)
    judged = rescored(item, value, f"{agree} of {runs} runs fail alike")
    return replace(judged, judgement=replace(judged.judgement, agree=agree, samples=runs))


def _key(item: JudgedTest) -> str:
    runs = item.judgement.runs
    return failure_key(runs[0]) if runs else item.test.id


#: What the odds of a test gain when another way found the same failure.
_GAIN = 2.0


def together(
    tests: Sequence[JudgedTest], keep: int | None, doubted: Collection[str] = ()
) -> tuple[JudgedTest, ...]:
    """Return the tests of all ways, best first, as `select` does.

    A candidate that fails in the same way as one of another origin says with which it agrees, and
    becomes likelier unless that was measured; not those with ids in `doubted`, which a model holds
    for wrong.
    """
    origins: dict[str, set[str]] = defaultdict(set)
    for item in tests:
        if item.judgement.candidate:
            origins[_key(item)].add(item.test.origin.strategy)
    raised = [
        item if item.test.id in doubted else _raised(item, origins[_key(item)]) for item in tests
    ]
    return select(raised, keep)


def _raised(item: JudgedTest, origins: set[str]) -> JudgedTest:
    others = sorted(origins - {item.test.origin.strategy})
    if not item.judgement.candidate or not others:
        return item
    value, figures = item.judgement.confidence, item.judgement.measured
    likelier = value if figures else with_odds(value, _GAIN)
    return rescored(item, likelier, f"{', '.join(others)} found the same")
