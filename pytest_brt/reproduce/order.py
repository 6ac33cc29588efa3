"""Which tests are shown first: the likeliest, each once."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import replace

from pytest_brt.pysource.normal_form import test_key
from pytest_brt.types import Attempt, JudgedTest, Verdict

#: Order of those that are no candidates: nearest to one first.
_ORDER = (Verdict.FAIL, Verdict.PASS, Verdict.FLAKY, Verdict.TIMEOUT, Verdict.CRASH)


def select(judged: Sequence[JudgedTest], keep: int | None = None) -> tuple[JudgedTest, ...]:
    """Return all tests, best first; beyond `keep` candidates the rest are none any more.

    Candidates go by confidence, and in their order where it is the same.
    """
    candidates = [item for item in judged if item.judgement.candidate]
    every = without_doubles(sorted(candidates, key=lambda item: -item.judgement.confidence))
    ordered = [item for item in every if item.judgement.candidate]
    if keep is not None and len(ordered) > keep:
        reason = f"not kept: {keep} likelier ones were found"
        ordered = [*ordered[:keep], *(dropped(item, reason) for item in ordered[keep:])]
    ordered += [item for item in every if not item.judgement.candidate]
    chosen = {item.test.id for item in ordered}
    rest = [item for item in judged if item.test.id not in chosen]
    return (*ordered, *sorted(rest, key=_rest_key))


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
