"""The samples of one issue: made into tests, run, mended once, clustered, judged.

Samples may come in several batches; every batch makes the clusters better known, and once more of
them would change nothing, no more are drawn. What is shown first follows paper 001 (24-29).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import zip_longest

from pytest_brt.oracle.facts import Facts, catches_named, matches
from pytest_brt.oracle.judge import failure_key, refusal, run_tests
from pytest_brt.reproduce.model_tests.confidence import (
    Signs,
    count_tokens,
    is_repairable,
    judge_written,
)
from pytest_brt.reproduce.model_tests.make import Maker, Written
from pytest_brt.reproduce.strategy import Workbench
from pytest_brt.types import CandidateTest, JudgedTest, Origin, TestRun, Verdict


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


def agreement(clusters: Sequence[FailureCluster]) -> int:
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


@dataclass(slots=True, kw_only=True, eq=False)
class Pool:
    """Collects samples and knows what came of them; not for several threads."""

    maker: Maker
    facts: Facts
    bench: Workbench
    strategy: str
    samples: int = 0
    #: Samples without a test that parses.
    empty: int = 0
    entries: dict[str, PooledTest] = field(default_factory=dict)

    def add(self, replies: Sequence[str], seed: int) -> None:
        """Take one batch of replies, of which the first had this seed, and run what is new."""
        for place, reply in enumerate(replies):
            origin = Origin(strategy=self.strategy, model=self.bench.model.name, seed=seed + place)
            made = self.maker.make(reply, origin)
            self.empty += not made
            self._take(made, {self.samples + place})
        self.samples += len(replies)
        self._run()

    def mend(self, ask: Callable[[PooledTest], str], most: int) -> int:
        """Have at most `most` tests that only lack names written again; return how many were.

        `ask` returns a model's reply; what comes of it counts for the samples of the old test.
        """
        broken = [e for e in self.entries.values() if not e.mended and e.runs]
        broken = [entry for entry in broken if is_repairable(entry.runs[0])]
        broken.sort(key=lambda entry: -len(entry.samples))
        for entry in broken[:most]:
            entry.mended = True
            origin = Origin(
                strategy=self.strategy, model=self.bench.model.name, parent=entry.test.id
            )
            self._take(self.maker.make(ask(entry), origin), entry.samples)
        self._run()
        return len(broken[:most])

    def _take(self, made: Sequence[Written], samples: set[int]) -> None:
        for item in made:
            known = self.entries.get(item.key)
            if known is None:
                known = self.entries[item.key] = PooledTest(item.test, item.problems)
            known.samples |= samples

    def _run(self) -> None:
        new = [entry for entry in self.entries.values() if not entry.runs]
        tests = [entry.test for entry in new]
        bench = self.bench
        runs = run_tests(tests, bench.engine, bench.repeat, deadline=bench.deadline)
        for entry in new:
            entry.runs = runs[entry.test.id]

    def clusters(self) -> tuple[FailureCluster, ...]:
        """Return the tests that fail for a reason that stands, clustered, best first."""
        entries = self.entries.values()
        failing = (one for one in entries if not refusal(one.test, one.runs, self.facts))
        return cluster(failing, self.facts)

    def judged(self) -> tuple[JudgedTest, ...]:
        """Return every test, judged: candidates in LIBRO's order, then the others."""
        clusters = self.clusters()
        sizes = {found.key: found.size for found in clusters}
        failing = round_robin(clusters)
        first = [self._judge(entry, sizes) for entry in failing]
        others = (entry for entry in self.entries.values() if entry not in failing)
        rest = [self._judge(entry, sizes) for entry in others]
        return (*first, *sorted(rest, key=lambda item: item.judgement.verdict != Verdict.FAIL))

    def _judge(self, entry: PooledTest, sizes: dict[str, int]) -> JudgedTest:
        agree = sizes.get(failure_key(entry.runs[0]), 1) if entry.runs else 1
        signs = Signs(agree=agree, samples=self.samples, same=len(entry.samples))
        return judge_written(entry.test, entry.runs, self.facts, signs)

    def notes(self) -> tuple[str, ...]:
        """Return in a few lines what became of the samples."""
        verdicts = Counter(entry.runs[0].verdict for entry in self.entries.values() if entry.runs)
        told = ", ".join(f"{count} {verdict}" for verdict, count in sorted(verdicts.items()))
        drawn, made = self.samples, len(self.entries)
        of = f"{drawn} sample{'s' * (drawn != 1)}"
        if not made:
            return (f"{of}: no test that parses",)
        notes = [f"{of}: {made} different test{'s' * (made != 1)} ({told or 'not run'})"]
        if self.empty:
            notes.append(f"{self.empty} of them had no test that parses")
        reasons = Counter(
            entry.runs[0].reason
            for entry in self.entries.values()
            if entry.runs and entry.runs[0].verdict is Verdict.BROKEN
        )
        notes += [f"broken ({count}): {reason}" for reason, count in reasons.most_common(2)]
        return tuple(notes)
