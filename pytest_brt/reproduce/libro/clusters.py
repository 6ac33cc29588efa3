"""What samples agree on: which are shown first (paper 001, requirements 24-29).

Once more of them would change nothing, no more are drawn.
"""

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


#: Samples of the batches, one after the other; the last size is repeated.
BATCHES = (4, 4, 8, 8, 16)
#: Samples at most, unless the user says.
MOST = 48
#: Samples without a single failing test after which others ways are better.
_HOPELESS = 16
#: The leading cluster's share has stopped moving when it moves by less than this.
_STILL = 0.05
#: Samples and agreeing samples before that is believed.
_LEAST, _AGREE = 8, 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Sampled:
    """What is known after a batch."""

    samples: int
    #: Samples that fail as those of the largest cluster do.
    leading: int

    @property
    def share(self) -> float:
        """The posterior mean of the share of samples in the leading cluster.

        >>> Sampled(samples=4, leading=2).share
        0.5
        """
        return (self.leading + 1) / (self.samples + 2)


def why_stop(history: Sequence[Sampled], most: int = MOST) -> str:
    """Return why no further batch is to be drawn, "" when one is."""
    if not history:
        return ""
    now = history[-1]
    if now.samples >= most:
        return f"{now.samples} samples were allowed"
    if not now.leading:
        if now.samples >= _HOPELESS:
            return f"none of {now.samples} samples fails as the report says"
        return ""
    moved = abs(now.share - history[-2].share) if len(history) > 1 else 1.0
    if now.samples >= _LEAST and now.leading >= _AGREE and moved < _STILL:
        return f"{now.leading} of {now.samples} samples fail alike, and more do not change that"
    return ""


def next_batch(history: Sequence[Sampled], most: int = MOST) -> int:
    """Return the size of the next batch."""
    size = BATCHES[min(len(history), len(BATCHES) - 1)]
    done = history[-1].samples if history else 0
    return max(1, min(size, most - done))
