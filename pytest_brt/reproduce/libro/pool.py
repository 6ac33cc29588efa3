"""The tests of one issue's samples, clustered by how they fail, and how many samples are enough.

Samples may come in several batches; every batch makes the clusters better known, and once more of
them would change nothing, no more are drawn. What is shown first follows paper 001 (24-29).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import zip_longest

from pytest_brt.oracle.facts import Facts, catches_named, matches
from pytest_brt.oracle.judge import failure_key
from pytest_brt.reproduce.model_tests.confidence import count_tokens
from pytest_brt.types import AttemptNote, CandidateTest, TestRun, Verdict
from pytest_brt.types.attempt import SamplesBroken, SamplesDrawn, StopReason, VerdictCount


@dataclass(slots=True, eq=False)
class PooledTest:
    """A test, the samples with it but for names and layout, and what it did."""

    test: CandidateTest
    problems: tuple[str, ...]
    samples: set[int] = field(default_factory=set)
    runs: tuple[TestRun, ...] = ()
    #: Whether another version of it was asked for.
    mended: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class FailureCluster:
    """Tests that fail in the same way, best first."""

    #: What they have in common.
    key: str
    tests: tuple[PooledTest, ...]
    #: Samples that fail in this way.
    size: int
    #: Whether the failure is the reported one.
    match: bool
    #: Mean number of tokens.
    length: float


def cluster(failing: Iterable[PooledTest], facts: Facts) -> tuple[FailureCluster, ...]:
    """Return the clusters by failure, best first: match, then size, then short tests."""
    groups: dict[str, list[PooledTest]] = {}
    for item in failing:
        groups.setdefault(failure_key(item.runs[0]), []).append(item)
    found = [_cluster(key, items, facts) for key, items in groups.items()]
    found.sort(key=lambda c: (not c.match, -c.size, c.length, c.key))
    return tuple(found)


def _cluster(key: str, items: Sequence[PooledTest], facts: Facts) -> FailureCluster:
    def order(item: PooledTest) -> tuple[bool, int, str]:
        source = item.test.source or ""
        return (not catches_named(facts, source), count_tokens(source), item.test.id)

    ordered = sorted(items, key=order)
    lengths = [count_tokens(item.test.source or "") for item in ordered]
    return FailureCluster(
        key=key,
        tests=tuple(ordered),
        size=len(set().union(*(item.samples for item in ordered))),
        match=any(matches(facts, i.test.source or "", i.runs[0].raised) for i in ordered),
        length=sum(lengths) / len(lengths),
    )


def round_robin(clusters: Sequence[FailureCluster]) -> tuple[PooledTest, ...]:
    """Return the best test of each cluster, then the second of each, and so on."""
    rounds = zip_longest(*(cluster.tests for cluster in clusters))
    return tuple(entry for one in rounds for entry in one if entry is not None)


def sample_notes(
    tests: Sequence[PooledTest], samples: int, unreadable: int
) -> tuple[AttemptNote, ...]:
    """Return what became of so many samples, of which some had no test that parses."""
    runs = [item.runs[0] for item in tests if item.runs]
    verdicts = sorted(Counter(run.verdict for run in runs).items())
    drawn = SamplesDrawn(
        samples=samples,
        unreadable=unreadable,
        tests=len(tests),
        verdicts=tuple(VerdictCount(verdict=verdict, tests=many) for verdict, many in verdicts),
    )
    broken: dict[str, list[TestRun]] = {}
    for run in runs:
        if run.verdict is Verdict.BROKEN:
            broken.setdefault(failure_key(run), []).append(run)
    alike = sorted(broken.values(), key=lambda some: -len(some))[:_BROKEN]
    return (drawn, *map(_broken, alike))


def _broken(alike: Sequence[TestRun]) -> SamplesBroken:
    first = alike[0]
    return SamplesBroken(tests=len(alike), cause=first.cause, raised=first.raised_briefly)


def agreement(clusters: Sequence[FailureCluster]) -> int:
    """Return the size of the largest cluster, 0 without any; LIBRO shows a bug above 1."""
    return max((cluster.size for cluster in clusters), default=0)


#: Ways to be broken that are told of.
_BROKEN = 2
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


def why_stop(history: Sequence[Sampled], most: int = MOST) -> StopReason | None:
    """Return why no further batch is to be drawn, None when one is."""
    if not history:
        return None
    now = history[-1]
    if now.samples >= most:
        return StopReason.ALLOWED
    if not now.leading:
        return StopReason.NONE_FAILS if now.samples >= _HOPELESS else None
    moved = abs(now.share - history[-2].share) if len(history) > 1 else 1.0
    if now.samples >= _LEAST and now.leading >= _AGREE and moved < _STILL:
        return StopReason.AGREE
    return None


def next_batch(history: Sequence[Sampled], most: int = MOST) -> int:
    """Return the size of the next batch."""
    size = BATCHES[min(len(history), len(BATCHES) - 1)]
    done = history[-1].samples if history else 0
    return max(1, min(size, most - done))
