"""Patches: run with the tests of a report, here or on a cluster, and ranked."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import replace
from functools import partial
from importlib import import_module
from pathlib import Path

from pytest_brt.errors import UsageProblem
from pytest_brt.guard import EACH, LOOKING, Guard, Selection
from pytest_brt.patches.changes import touched_of
from pytest_brt.pipeline import Plan, Tests
from pytest_brt.rank.evaluate import evaluate
from pytest_brt.rank.patch_tests import find_patch_tests, judge_patch_tests
from pytest_brt.rank.ranking import rank
from pytest_brt.rank.variations import (
    find_difference,
    find_existing_calls,
    find_remarks,
    find_values,
    find_variations,
)
from pytest_brt.reproduce.strategy import Workbench
from pytest_brt.sandbox.process import Limits
from pytest_brt.sandbox.run_tests import Runner
from pytest_brt.sandbox.sandbox import Sandbox
from pytest_brt.store import Once
from pytest_brt.types import (
    Patch,
    PatchResult,
    Rank,
    RunRecord,
    Subject,
    Telling,
    Variation,
    tied,
)

#: Seconds within which a scheduler must answer.
_PATIENCE = 20.0


class Ranking:
    """Runs the patches of a report; safe to call from many threads."""

    def __init__(self, plan: Plan, bench: Workbench) -> None:
        self._plan, self._bench = plan, bench
        #: What the patches change.
        self._pool = tuple(touched_of(plan.patches, bench.root))
        seconds = EACH
        if plan.guard is not None:
            seconds = plan.guard / (len(self._pool) + LOOKING)
        self.guard = Guard(
            bench.engine, self._pool, seconds=seconds, say=bench.say, kept=bench.existing
        )
        #: By normal form of the patch.
        self._ran: Once[str, PatchResult] = Once()
        #: The calls of bug tests, varied; of existing tests where there are none.
        self.calls: tuple[Variation, ...] = ()

    def judge_brought(self) -> Tests:
        """Judge the tests that the patches bring."""
        plan, bench = self._plan, self._bench
        if self._pool and plan.guard != 0:
            self.guard.choose(self._pool[0])  # first, as what it compiles serves all others
        tests = find_patch_tests(plan.patches, self.guard.root, plan.ranked)
        if not tests:
            return ()
        facts = (bench.facts(one) for one in plan.issues if one.id == plan.ranked)
        return judge_patch_tests(
            tests, self._pool, bench.engine, next(facts, None), bench.repeat
        )

    def vary(self, judged: Tests) -> None:
        """Find what the bug tests call, else what existing ones do, and variations of that."""
        tests = tuple(one.test for one in judged if one.judgement.candidate)
        if not tests and self._plan.guard != 0:
            tests = find_existing_calls(self.guard.files, self._pool)
        self.calls = find_variations(tests, self._bench.engine)

    def run(self, patch: Patch, tests: Tests) -> PatchResult:
        """Run tests on a patch, and existing ones."""
        engine = self._bench.engine
        guard = None if self._plan.guard == 0 else self.guard
        work = partial(evaluate, patch, tests, calls=self.calls)
        if self._plan.elsewhere is None:
            return work(engine, guard=guard, share=self._ran.get)
        touched = next(touched_of([patch], self.guard.root), None)
        chosen = guard.choose(touched) if guard and touched else None
        return self._plan.elsewhere(work, chosen, engine.subject)

    def rank(
        self, record: RunRecord, results: Sequence[PatchResult], tests: Tests
    ) -> RunRecord:
        """Return a record with the ranks of patches, and what calls of bug tests tell of them."""
        remarks = find_remarks(comparable(rank(results, tests)), self.calls)
        remarked = [
            replace(one, remarks=(*one.remarks, remarks[one.patch.name]))
            if one.patch.name in remarks
            else one
            for one in results
        ]
        ranks = rank(remarked, tests)
        return replace(
            record,
            ranks=ranks,
            values=find_values(ranks, self.calls, tests),
            tellings=() if record.not_run else self._tell_apart(ranks),
        )

    def _tell_apart(self, ranks: Sequence[Rank]) -> tuple[Telling, ...]:
        """Return the call that tells most leading patches apart, nothing where there is none."""
        # A leader that is not sure is held against all that come near it.
        leading = comparable(ranks) if ranks[0].doubt else tied(ranks)
        if all(one.epr is None for one in ranks):
            leading = tuple(one for one in ranks if one.place and one.place[0] == 1)
        telling = find_difference(leading, self.calls)
        return (telling,) if telling else ()


def comparable(ranks: Sequence[Rank]) -> tuple[Rank, ...]:
    """Return the patches that pass a bug test, and fail no more of them than the first one."""
    passing = [one for one in ranks if one.passed and one.result.outcomes]
    most = ranks[0].total - ranks[0].passed if ranks else 0
    return tuple(one for one in passing if one.total - one.passed <= most)


class Workers:
    """The workers of a Dask cluster: each runs whole patches.

    They find the project and its interpreter at the same paths, and have a sandbox of their own.
    """

    def __init__(self, named: str, *how: object) -> None:
        """Connect to the scheduler that `named` is the address of, as in "dask:tcp://host:8786".

        `how` is what makes a sandbox on a worker, and the limits of tests there.

        Raises:
            UsageProblem: Dask is not installed, or no scheduler answers.
        """
        try:
            client = import_module("distributed").Client
            self._client = client(named.removeprefix("dask:"), timeout=_PATIENCE)
        except (ImportError, OSError, ValueError) as error:
            raise UsageProblem(
                f"--brt-executor: no scheduler at {named!r}: {error} (Dask is installed by pip "
                "install 'pytest-brt[dask]')"
            ) from error
        self.close = self._client.close
        self._how = how
        #: How many patches they run at a time.
        self.threads = sum(self._client.nthreads().values()) or 1

    def run(
        self, work: Callable[..., PatchResult], chosen: Selection | None, subject: Subject
    ) -> PatchResult:
        """Have a worker run tests on a patch, and existing tests, alike for all; wait for it."""
        pool = self._client.get_executor(pure=False)
        result: PatchResult = pool.submit(_run, work, chosen, subject, *self._how).result()
        return result


def _run(
    work: Callable[..., PatchResult],
    chosen: Selection | None,
    subject: Subject,
    shut_in: Callable[[], Sandbox],
    limits: Limits,
) -> PatchResult:
    """Run tests on a patch, and the existing tests that were chosen; called on a worker.

    Raises:
        BrtError: the worker has no such project, interpreter or sandbox.
    """
    if not Path(subject.root).is_dir():
        raise UsageProblem(f"--brt-executor: a worker has no folder {subject.root!r}")
    with closing(Runner(subject, shut_in(), limits)) as runner:
        return work(runner, guard=Guard(runner, chosen=chosen) if chosen else None)
