"""Which of many failing samples are shown, in which order (paper 001, requirements 24-29)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from pytest_brt.oracle.facts import Facts, catches_named, matches
from pytest_brt.oracle.judge import failure_key
from pytest_brt.reproduce.model_tests.confidence import count_tokens
from pytest_brt.types import CandidateTest, TestRun


@dataclass(frozen=True, slots=True, kw_only=True)
class Failing:
    """A test that fails on the buggy tree, and the samples that it came from."""

    test: CandidateTest
    run: TestRun
    #: Numbers of the samples with this very test, but for names and layout.
    samples: frozenset[int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Cluster:
    """Tests that fail in the same way, best first."""

    #: What they have in common.
    key: str
    tests: tuple[Failing, ...]
    #: Samples that fail in this way.
    size: int
    #: Whether the failure is the reported one.
    match: bool
    #: Mean number of tokens.
    length: float


def cluster(failing: Iterable[Failing], facts: Facts) -> tuple[Cluster, ...]:
    """Return the clusters by failure, best first: match, then size, then short tests."""
    groups: dict[str, list[Failing]] = {}
    for item in failing:
        groups.setdefault(failure_key(item.run), []).append(item)
    found = [_cluster(key, items, facts) for key, items in groups.items()]
    found.sort(key=lambda c: (not c.match, -c.size, c.length, c.key))
    return tuple(found)


def _cluster(key: str, items: Sequence[Failing], facts: Facts) -> Cluster:
    def order(item: Failing) -> tuple[bool, int, str]:
        source = item.test.source or ""
        return (not catches_named(facts, source), count_tokens(source), item.test.id)

    ordered = sorted(items, key=order)
    lengths = [count_tokens(item.test.source or "") for item in ordered]
    return Cluster(
        key=key,
        tests=tuple(ordered),
        size=len(frozenset().union(*(item.samples for item in ordered))),
        match=any(matches(facts, i.test.source or "", i.run.raised) for i in ordered),
        length=sum(lengths) / len(lengths),
    )


def round_robin(clusters: Sequence[Cluster]) -> tuple[Failing, ...]:
    """Return the best test of each cluster, then the second of each, and so on."""
    longest = max((len(cluster.tests) for cluster in clusters), default=0)
    return tuple(
        cluster.tests[place]
        for place in range(longest)
        for cluster in clusters
        if place < len(cluster.tests)
    )


def agreement(clusters: Sequence[Cluster]) -> int:
    """Return the size of the largest cluster, 0 without any; LIBRO shows a bug above 1."""
    return max((cluster.size for cluster in clusters), default=0)
