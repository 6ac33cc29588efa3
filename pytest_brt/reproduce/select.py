"""Which tests are shown first: clusters by failure, best of each first, no doubles.

What several runs of a strategy, or several ways, agree on is likelier.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace

from pytest_brt.code.normal import test_key
from pytest_brt.oracle.judge import failure_key, rescored
from pytest_brt.reproduce.model_tests.confidence import with_agreement
from pytest_brt.syntax import is_constant, parse
from pytest_brt.types import Attempt, JudgedTest, OracleKind, Verdict

#: Order of those that are no candidates: nearest to one first.
_ORDER = (Verdict.FAIL, Verdict.PASS, Verdict.FLAKY, Verdict.TIMEOUT, Verdict.CRASH)


def select(judged: Sequence[JudgedTest], keep: int | None = None) -> tuple[JudgedTest, ...]:
    """Return all tests, best first; beyond `keep` candidates the rest are none any more.

    Candidates go by confidence, but one per cluster (same oracle and same failure) before
    the second of any, as long as the next cluster is not much less likely.
    """
    distinct, doubles = _distinct([item for item in judged if item.judgement.candidate])
    ordered = _round_robin(distinct)
    if keep is not None and len(ordered) > keep:
        reason = f"not kept: {keep} likelier ones were found"
        ordered = [*ordered[:keep], *(dropped(item, reason) for item in ordered[keep:])]
    ordered += [dropped(item, f"the same code as {name}") for item, name in doubles]
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


def _distinct(items: list[JudgedTest]) -> tuple[list[JudgedTest], list[tuple[JudgedTest, str]]]:
    """Split off tests whose code is another's but for name and docstring, with its name."""
    kept: dict[str, JudgedTest] = {}
    doubles: list[tuple[JudgedTest, str]] = []
    for item in sorted(items, key=_candidate_key):
        key = _skeleton(item.test.source or item.test.id)
        if key in kept:
            doubles.append((item, kept[key].test.name))
        else:
            kept[key] = item
    return list(kept.values()), doubles


def _skeleton(source: str) -> str:
    """Return the code without names of tests and docstrings."""
    tree = parse(source)
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test"):
            node.name = "test"
            node.body = [child for child in node.body if not is_constant(child)] or node.body
    return ast.dump(tree)


def _round_robin(items: list[JudgedTest]) -> list[JudgedTest]:
    """Order by confidence, lowered for each one of the same cluster that stands before."""
    ranked = sorted(items, key=_candidate_key)
    before: dict[tuple[str, str, str], int] = {}
    weighed = []
    for item in ranked:
        key = cluster_key(item)
        count = before.get(key, 0)
        before[key] = count + 1
        weighed.append((item.judgement.confidence * 0.8**count, item))
    return [item for _, item in sorted(weighed, key=lambda pair: -pair[0])]


def _candidate_key(item: JudgedTest) -> tuple[float, int, str]:
    return (-item.judgement.confidence, len(item.test.source or ""), item.test.id)


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


#: What the odds of a test gain when another way found the same failure.
_GAIN = 2.0
_MOST = 0.95


def together(
    tests: Sequence[JudgedTest], keep: int | None, doubted: Collection[str] = ()
) -> tuple[JudgedTest, ...]:
    """Return the tests of all ways, best first, as `select` does.

    A candidate that fails in the same way as one of another origin becomes likelier, and says
    with which it agrees; not those with ids in `doubted`, which a model holds for wrong.
    """
    origins: dict[str, set[str]] = {}
    for item in tests:
        if item.judgement.candidate:
            origins.setdefault(_key(item), set()).add(item.test.origin.strategy)
    raised = [
        item if item.test.id in doubted else _raised(item, origins.get(_key(item), set()))
        for item in tests
    ]
    return select(raised, keep)


def _raised(item: JudgedTest, origins: set[str]) -> JudgedTest:
    others = sorted(origins - {item.test.origin.strategy})
    if not item.judgement.candidate or not others:
        return item
    odds = _GAIN * item.judgement.confidence / max(1e-9, 1 - item.judgement.confidence)
    return rescored(item, min(_MOST, odds / (1 + odds)), f"{', '.join(others)} found the same")
