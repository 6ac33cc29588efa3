"""The samples of one issue: made into tests, run, mended once, clustered, judged.

Samples may come in several batches; every batch makes the clusters better known.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from pytest_brt.execute.engine import Engine
from pytest_brt.oracle.facts import Facts
from pytest_brt.oracle.judge import failure_key, refusal, run_tests
from pytest_brt.reproduce.libro.clusters import Cluster, Failing, cluster, round_robin
from pytest_brt.reproduce.model_tests.confidence import Signs, is_repairable, judge_written
from pytest_brt.reproduce.model_tests.make import Maker, Written
from pytest_brt.types import CandidateTest, JudgedTest, Origin, TestRun, Verdict


@dataclass(slots=True, eq=False)
class Entry:
    """A distinct test, the samples it came from, and what it did."""

    test: CandidateTest
    problems: tuple[str, ...]
    samples: set[int] = field(default_factory=set)
    runs: tuple[TestRun, ...] = ()
    #: Whether another version of it was asked for.
    mended: bool = False


@dataclass(slots=True, kw_only=True, eq=False)
class Pool:
    """Collects samples and knows what came of them; not for several threads."""

    maker: Maker
    facts: Facts
    engine: Engine
    repeat: int
    model: str
    strategy: str
    deadline: float = math.inf
    samples: int = 0
    #: Samples without a test that parses.
    empty: int = 0
    entries: dict[str, Entry] = field(default_factory=dict)

    def add(self, replies: Sequence[str], seed: int) -> None:
        """Take one batch of replies, of which the first had this seed, and run what is new."""
        for place, reply in enumerate(replies):
            origin = Origin(strategy=self.strategy, model=self.model, seed=seed + place)
            made = self.maker.make(reply, origin)
            self.empty += not made
            self._take(made, {self.samples + place})
        self.samples += len(replies)
        self._run()

    def mend(self, ask: Callable[[Entry], str], most: int) -> int:
        """Have at most `most` tests that only lack names written again; return how many were.

        `ask` returns a model's reply; what comes of it counts for the samples of the old test.
        """
        broken = [e for e in self.entries.values() if not e.mended and e.runs]
        broken = [entry for entry in broken if is_repairable(entry.runs[0])]
        broken.sort(key=lambda entry: -len(entry.samples))
        for entry in broken[:most]:
            entry.mended = True
            origin = Origin(strategy=self.strategy, model=self.model, parent=entry.test.id)
            self._take(self.maker.make(ask(entry), origin), entry.samples)
        self._run()
        return len(broken[:most])

    def _take(self, made: Sequence[Written], samples: set[int]) -> None:
        for item in made:
            known = self.entries.get(item.key)
            if known is None:
                known = self.entries[item.key] = Entry(item.test, item.problems)
            known.samples |= samples

    def _run(self) -> None:
        new = [entry for entry in self.entries.values() if not entry.runs]
        tests = [entry.test for entry in new]
        runs = run_tests(tests, self.engine, self.repeat, deadline=self.deadline)
        for entry in new:
            entry.runs = runs[entry.test.id]

    def clusters(self) -> tuple[Cluster, ...]:
        """Return the tests that fail for a reason that stands, clustered, best first."""
        return cluster(
            (
                Failing(test=entry.test, run=entry.runs[0], samples=frozenset(entry.samples))
                for entry in self.entries.values()
                if not refusal(entry.test, entry.runs, self.facts)
            ),
            self.facts,
        )

    def judged(self) -> tuple[JudgedTest, ...]:
        """Return every test, judged: candidates in LIBRO's order, then the others."""
        clusters = self.clusters()
        sizes = {found.key: found.size for found in clusters}
        entries = {entry.test.id: entry for entry in self.entries.values()}
        first = [self._judge(entries.pop(item.test.id), sizes) for item in round_robin(clusters)]
        rest = [self._judge(entry, sizes) for entry in entries.values()]
        return (*first, *sorted(rest, key=lambda item: item.judgement.verdict != Verdict.FAIL))

    def _signs(self, entry: Entry, sizes: dict[str, int]) -> Signs:
        agree = sizes.get(failure_key(entry.runs[0]), 1) if entry.runs else 1
        return Signs(agree=agree, samples=self.samples, same=len(entry.samples))

    def _judge(self, entry: Entry, sizes: dict[str, int]) -> JudgedTest:
        return judge_written(entry.test, entry.runs, self.facts, self._signs(entry, sizes))

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
