"""Runs changed candidate tests on the unpatched tree and on the patches that pass the original."""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from threading import Lock

from pytest_brt.execute.engine import Engine
from pytest_brt.execute.row import Row, TestTarget
from pytest_brt.rank.allowance import Allowance
from pytest_brt.rank.cluster import clusters_of
from pytest_brt.rank.draw import variants_of
from pytest_brt.rank.rename import words_with
from pytest_brt.rank.telling import SAW
from pytest_brt.rank.vary import AGAIN, REPORTED, Lifted, Variant, lift, outcome_words
from pytest_brt.types import AppliedPatch, Cell, JudgedTest, TestRun, Varied, Verdict

#: Candidates that are varied: the most reliable ones of different clusters.
MOST_TESTS = 2
#: Changed inputs per candidate.
MOST_VARIANTS = 16
#: Seconds that a changed input may take, and how much longer than the reported one it may.
_SECONDS = 2.0
_LONGER = 4.0
#: Seconds that changed inputs may always take on one tree.
LEAST = 10.0
#: Changed inputs that are run before the clock is looked at first.
_BATCH = 4
#: How much longer than its share a patch may take for what the unpatched tree did in that time:
#: only one that hangs needs it, and the others are to be compared on the same inputs.
_PATIENCE = 3.0


@dataclass(frozen=True, slots=True, kw_only=True)
class _Kept:
    """A variant that means something, and what it does on the unpatched tree."""

    judged: JudgedTest
    variant: Variant
    before: str


@dataclass(frozen=True, slots=True, kw_only=True)
class _Prepared:
    """What is to be run on the patches."""

    kept: tuple[_Kept, ...]
    #: Variants that were drawn, and how many of them were run on the unpatched tree.
    drawn: int
    tried: int


class Varying:
    """The variants of the candidates of one issue; safe to call from many threads.

    They are drawn, and run on the unpatched tree, once: when the first patch passes a candidate.
    The order in which they are run is fixed, so that too little time only shortens the list; all
    patches get those that the unpatched tree had time for.
    """

    def __init__(self, engine: Engine, *, seed: int, allowance: Allowance | None = None) -> None:
        """Run nothing yet; without an allowance all variants are run, however long that takes."""
        self._engine = engine
        self._seed = seed
        self._allowance = allowance
        self._lock = Lock()
        self._prepared: _Prepared | None = None

    def look(
        self,
        applied: AppliedPatch,
        tests: Sequence[JudgedTest],
        cells: Sequence[Cell],
        row_seconds: float,
    ) -> tuple[tuple[Varied, ...], str]:
        """Return what the variants of the candidates that pass on a patch do on it.

        Args:
            applied: the patch.
            tests: the candidates.
            cells: what they did on the patch.
            row_seconds: how long that took.

        Returns:
            That, and why not all variants were run; or "".

        Raises:
            SubjectProblem: the interpreter cannot be started at all.
        """
        passing = {cell.test for cell in cells if cell.verdict is Verdict.PASS}
        if not passing:
            return (), ""
        seconds = math.inf if self._allowance is None else self._allowance.share(row_seconds)
        with self._lock:
            if self._prepared is None:
                self._prepared = self._prepare(tests, seconds)
        prepared = self._prepared
        kept = [entry for entry in prepared.kept if entry.judged.test.id in passing]
        runs = self._run(applied, kept, _PATIENCE * seconds)
        tried = prepared.tried - (len(kept) - len(runs))
        return _varied(kept, runs), _cut(tried, prepared.drawn)

    def _prepare(self, tests: Sequence[JudgedTest], seconds: float) -> _Prepared:
        chosen = _liftable(tests)
        if not chosen:
            return _Prepared(kept=(), drawn=0, tried=0)
        found = variants_of([lifted for _, lifted in chosen], MOST_VARIANTS, self._seed)
        drawn = [
            _Kept(judged=judged, variant=variant, before="")
            for (judged, _), variants in zip(chosen, found, strict=True)
            for variant in variants
        ]
        runs = self._run(None, drawn, seconds)
        kept = tuple(
            _Kept(judged=entry.judged, variant=entry.variant, before=outcome(run))
            for entry in drawn
            if (run := runs.get(entry.variant.id)) and _means_something(entry, run)
        )
        return _Prepared(kept=kept, drawn=len(drawn), tried=len(runs))

    def _run(
        self, applied: AppliedPatch | None, kept: Sequence[_Kept], seconds: float
    ) -> dict[str, TestRun]:
        """Run variants, always in the same order, as many as there is time for."""
        kept = _in_pairs(kept)
        runs: dict[str, TestRun] = {}
        started = time.monotonic()
        each = max((_seconds(entry.judged) for entry in kept), default=0.0)
        at, size = 0, min(_BATCH, max(1, _quotient(seconds, each)))
        while at < len(kept) and size > 0:
            batch = kept[at : at + size]
            at += len(batch)
            runs |= self._row(applied, batch)
            spent = time.monotonic() - started
            size = _quotient(seconds - spent, spent / at)
        return runs

    def _row(self, applied: AppliedPatch | None, kept: Sequence[_Kept]) -> dict[str, TestRun]:
        row = Row(
            changes=applied.changes if applied else (),
            targets=tuple(
                TestTarget(
                    id=entry.variant.id,
                    path=entry.judged.test.path,
                    source=entry.variant.source,
                    node=entry.judged.test.name,
                )
                for entry in kept
            ),
            test_seconds=max(_SECONDS, *(_LONGER * _seconds(entry.judged) for entry in kept)),
        )
        return {run.test: run for run in self._engine.run(row).runs}


def _in_pairs(kept: Sequence[_Kept]) -> list[_Kept]:
    """Order variants by turns of two of each literal: one alone exposes nothing."""
    seen: dict[tuple[str, str], int] = {}
    turns = []
    for entry in kept:
        place = (entry.judged.test.id, entry.variant.literal)
        seen[place] = seen.get(place, -1) + 1
        turns.append((seen[place] // 2, list(seen).index(place)))
    return [entry for _, entry in sorted(zip(turns, kept, strict=True), key=lambda pair: pair[0])]


def _varied(kept: Sequence[_Kept], runs: dict[str, TestRun]) -> tuple[Varied, ...]:
    done = [(entry, runs[entry.variant.id]) for entry in kept if entry.variant.id in runs]
    by_chance = _by_chance(done)
    return tuple(
        Varied(
            test=entry.judged.test.id,
            literal=entry.variant.literal,
            change=entry.variant.change,
            source=entry.variant.source,
            decides=entry.variant.decides,
            before=entry.before,
            after="passes" if entry.variant.decides and _tells(run) else outcome(run),
            value=_value(entry, run) if entry.judged.test.id not in by_chance else "",
            renamed=entry.variant.renamed is not None,
        )
        for entry, run in done
        if entry.variant.change != AGAIN
    )


def _value(entry: _Kept, run: TestRun) -> str:
    return outcome(run) if entry.variant.decides and _tells(run) else ""


def _by_chance(done: Sequence[tuple[_Kept, TestRun]]) -> frozenset[str]:
    """Return the tests that do not come to the same value twice."""
    seen: dict[str, set[str]] = {}
    for entry, run in done:
        if entry.variant.literal == REPORTED:
            seen.setdefault(entry.judged.test.id, set()).add(outcome(run))
    return frozenset(test for test, values in seen.items() if len(values) > 1)


def _tells(run: TestRun) -> bool:
    return run.raised is not None and run.raised.message.startswith(SAW)


def _cut(tried: int, drawn: int) -> str:
    return "" if tried == drawn else f"{tried} of {drawn} changed inputs were tried: time"


def _quotient(seconds: float, each: float) -> int:
    """Return how often something can be done."""
    often = seconds / max(each, 1e-3)
    return sys.maxsize if math.isinf(often) else int(often)


def outcome(run: TestRun) -> str:
    """Return what a run did in words that can be compared between trees."""
    if run.verdict is Verdict.PASS:
        return "passes"
    if run.raised is None:
        return outcome_words(f"{run.verdict}: {run.reason}")
    if _tells(run):
        return outcome_words(run.raised.message.removeprefix(SAW))
    name = run.raised.type.rpartition(".")[2]
    return outcome_words(f"{name}: {run.raised.message}")


def _liftable(tests: Sequence[JudgedTest]) -> list[tuple[JudgedTest, Lifted]]:
    by_id = {judged.test.id: judged for judged in tests}
    clusters = sorted(clusters_of(tests), key=lambda cluster: -cluster.reliability)
    chosen = []
    for cluster in clusters:
        for judged in (by_id[test] for test in cluster.tests):
            lifted = lift(judged.test)
            if lifted is not None:
                chosen.append((judged, lifted))
                break
    return chosen[:MOST_TESTS]


def _means_something(entry: _Kept, run: TestRun) -> bool:
    """Say whether what a variant does on the unpatched tree can tell patches apart.

    A test that decides must fail as the original does, so that the input is one of the bug's, and
    one with another name in the very same words; one that only tells a value must come that far.
    """
    if not entry.variant.decides:
        return _tells(run)
    first = entry.judged.judgement.runs
    original = first[0].raised if first else None
    if run.verdict is not Verdict.FAIL or run.raised is None or original is None:
        return False
    if (run.raised.type, _place(run)) != (original.type, _place(first[0])):
        return False
    if entry.variant.renamed is None:
        return True
    old, new = entry.variant.renamed
    return words_with(outcome(run), new, old) == outcome(first[0])


def _place(run: TestRun) -> tuple[str, str]:
    """Return the deepest project frame of a failure."""
    last = run.raised.in_project if run.raised else None
    return (last.path, last.function) if last else ("", "")


def _seconds(judged: JudgedTest) -> float:
    return max((run.seconds for run in judged.judgement.runs), default=0.0)
