"""Which tests are shown first: clusters by failure, best of each first, no doubles."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import replace

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


def without_repeats(attempts: Iterable[Attempt]) -> tuple[Attempt, ...]:
    """Return the attempts; what several runs of a strategy wrote is a candidate once."""
    first: defaultdict[tuple[str, str], dict[str, str]] = defaultdict(dict)
    found = []
    for attempt in attempts:
        known = first[attempt.issue, attempt.strategy]
        tests = without_doubles(attempt.tests, known, " of an earlier run")
        found.append(replace(attempt, tests=tests))
    return tuple(found)
