"""One invocation: its attempts and rows as memoised futures.

Whoever wants a result asks for its future; the work starts then, once, and whatever it
needs is started before it. pytest's items are views on these futures.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Executor, Future, wait
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from pytest_brt.once import Once
from pytest_brt.reproduce.order import without_repeats
from pytest_brt.reproduce.strategy import Workbench
from pytest_brt.run.attempts import Attempting
from pytest_brt.run.plan import AttemptKey, Case, Plan, Remote
from pytest_brt.types import (
    Attempt,
    FileChange,
    JudgedTest,
    Localised,
    Note,
    NotRun,
    Patch,
    PatchResult,
    Rank,
    Repair,
    RunRecord,
    Telling,
    distinct,
    tied,
)

if TYPE_CHECKING:  # what patches need is a quarter of the package: a run without any imports none
    from pytest_brt.guard import Guard
    from pytest_brt.rank.guarding import Guarding
    from pytest_brt.run.repairs import Repairing

#: Wall-clock seconds within which a variation of a call may be begun.
_VARIATION_SECONDS = 10.0

K = TypeVar("K")
T = TypeVar("T")


class Run:
    """Carries out a plan, each piece of work once, when it is first asked for.

    An executor that starts tasks in the order of submission, as those of the standard
    library do, cannot deadlock: what a task waits for was submitted before it.
    """

    def __init__(self, plan: Plan, workbench: Workbench, executor: Executor) -> None:
        self.plan = plan
        self.workbench = workbench
        self._executor = executor
        self._lock = threading.Lock()
        self._attempts: dict[AttemptKey, Future[Attempt]] = {}
        self._rows: dict[tuple[str, str], Future[PatchResult]] = {}
        #: By issue and normal form of the patch.
        self._ran: Once[tuple[str, str], PatchResult] = Once()
        self._given: Future[tuple[JudgedTest, ...]] | None = None
        #: The tests that patches bring, by issue.
        self._brought: dict[str, Future[tuple[JudgedTest, ...]]] = {}
        self._guardings: dict[str, Guarding] = {}
        #: When all must be over, as `time.monotonic` counts; infinity before the first attempt.
        self._deadline = math.inf
        self._repairs: dict[AttemptKey, Future[Repair]] = {}
        self._localised: dict[str, Localised] = {}
        #: By issue: what variations show of patches, how many calls were tried, and a telling one.
        self._remarks: dict[str, dict[str, Note]] = {}
        self._tried: dict[str, int] = {}
        self._tellings: dict[str, Telling] = {}
        self._attempting = Attempting(plan, workbench)
        self._repairing: Repairing | None = None

    def attempt(self, key: AttemptKey) -> Future[Attempt]:
        """Return the future of one attempt."""
        with self._lock:
            if self._deadline == math.inf:
                self._deadline = time.monotonic() + self.plan.budget
        return self._started(self._attempts, key, self._make, key)

    def row(self, case: Case, patch: Patch) -> Future[PatchResult]:
        """Return the future of the row of `patch`; pulls all attempts at its issue first."""
        place = (case.issue_id, patch.name)
        attempts = self._tests_of(case)
        self._started(self._brought, case.issue_id, self._judge_brought, case)
        return self._started(self._rows, place, self._run, case, patch, attempts)

    def repair(self, case: Case, key: AttemptKey) -> Future[Repair]:
        """Return the future of one repair; pulls all attempts at its issue first."""
        return self._started(self._repairs, key, self._repair, case, key, self._tests_of(case))

    def _started(
        self, futures: dict[K, Future[T]], key: K, work: Callable[..., T], *arguments: object
    ) -> Future[T]:
        with self._lock:
            if key not in futures:
                futures[key] = self._executor.submit(work, *arguments)
            return futures[key]

    def tests(self, case: Case) -> tuple[JudgedTest, ...]:
        """Return the tests of a case that are known by now, given ones too."""
        attempts = [self._attempts[key] for key in self.plan.keys(case) if key in self._attempts]
        made = without_repeats(_results(attempts))
        tests = tuple(judged for attempt in made for judged in attempt.tests)
        if self._given is not None and _succeeded(self._given):
            tests += self._given.result()
        brought = self._brought.get(case.issue_id)
        if brought is not None and _succeeded(brought):
            tests += brought.result()
        return tests

    def close(self) -> None:
        """Close what the repairs had open."""
        if self._repairing is not None:
            self._repairing.close()

    def record(self) -> RunRecord:
        """Return all that is known by now: of what did not end, what it had found until then."""
        # First of all: a row that ends meanwhile must not be missing in the ranks unsaid.
        missing = [self._not_run(case) for case in self.plan.cases]
        return RunRecord(
            issues=tuple(case.issue for case in self.plan.cases if case.issue),
            attempts=without_repeats(self._found()),
            given=self._given.result() if self._given and _succeeded(self._given) else (),
            brought=tuple(test for tests in _results(self._brought.values()) for test in tests),
            ranks=tuple(
                rank
                for case, lacking in zip(self.plan.cases, missing, strict=True)
                for rank in self._ranks(case, lacking)
            ),
            tellings=tuple(self._tellings.values()),
            tried=self._tried,
            sandbox=self.workbench.engine.sandbox.isolation,
            repairs=tuple(_results(self._repairs.values())),
            localised=tuple(self._localised.values()),
            not_run=tuple(filter(None, missing)),
        )

    def tell_apart(self, case: Case) -> None:
        """Try the patches of a case on variations of what its bug tests call, if all were run.

        It ends within seconds; what is found is in the record.
        """
        from pytest_brt.rank.variations import comparable, find_difference, find_remarks, try_calls

        ranks = self._ranks(case, None) if not self._not_run(case) else ()
        compared = comparable(ranks)
        if len(compared) < 2:
            return
        self.workbench.say("trying the patches that pass on variations of the bug tests' calls")
        engine, changes = self.workbench.engine, self._changes(compared)
        tried = try_calls(self.tests(case), changes, engine, _VARIATION_SECONDS)
        sound = [rank.name for rank in compared if not rank.result.regressions]
        self._remarks[case.issue_id] = find_remarks(tried, sound, Path(engine.subject.root))
        ranks = self._ranks(case, None)
        # One that is doubted for what variations show is held against all others.
        leaders = compared if ranks[0].is_as_unpatched else tied(ranks)
        if len(leaders) > 1:
            self._tried[case.issue_id] = len(tried)
            changes = {rank.name: changes[rank.name] for rank in leaders if rank.name in changes}
            if telling := find_difference(tried, changes, engine):
                self._tellings[case.issue_id] = telling

    def _changes(self, ranks: Sequence[Rank]) -> dict[str, tuple[FileChange, ...]]:
        from pytest_brt.patches import apply_patch

        root = Path(self.workbench.engine.subject.root)
        return {rank.name: apply_patch(rank.result.patch, root).changes for rank in ranks}

    def localise(self, case: Case) -> None:
        """Look for the places where the bug of a report may be; they are in the record.

        Raises:
            SubjectProblem: the project's interpreter cannot be started.
        """
        issue = case.issue
        if issue is not None and issue.id not in self._localised:
            self.workbench.say(f"{issue.source}: looking for the likeliest places")
            self._localised[issue.id] = self._once(
                Localised, lambda: self._workshop().localise(issue), "place", issue.id
            )

    def _found(self) -> Iterator[Attempt]:
        for key, future in self._attempts.items():
            attempt = future.result() if _succeeded(future) else self._attempting.so_far(key)
            if attempt is not None:
                yield attempt

    def _repair(self, case: Case, key: AttemptKey, attempts: tuple[Future[Attempt], ...]) -> Repair:
        made, given = self._finished(attempts)
        issue = case.issue
        assert issue is not None, "keys are made from cases that have an issue"
        names = ("repair", key.issue, key.strategy, str(key.index))
        return self._once(
            Repair,
            lambda: self._workshop().repair(
                issue, key.strategy, key.index, attempts=made, given=given, deadline=self._deadline
            ),
            *names,
        )

    def _finished(
        self, attempts: tuple[Future[Attempt], ...]
    ) -> tuple[tuple[Attempt, ...], tuple[JudgedTest, ...]]:
        """Wait for attempts; return those that did not break, and the tests that were given."""
        wait(attempts)
        return tuple(_results(attempts)), self._given.result() if self._given is not None else ()

    def _workshop(self) -> Repairing:
        """Return what repairs and localises; most runs do neither, and import none of it."""
        from pytest_brt.run.repairs import Repairing, RepairPlan

        with self._lock:
            if self._repairing is None:
                plan = self.plan.repairs or RepairPlan(
                    issues=frozenset(), strategies={}, cache=self.workbench.cache
                )
                self._repairing = Repairing(plan, self.workbench, self._guard)
            return self._repairing

    def _tests_of(self, case: Case) -> tuple[Future[Attempt], ...]:
        if case.issue is None or self.plan.given:
            with self._lock:
                self._given = self._given or self._executor.submit(self._judge_given)
        return tuple(self.attempt(key) for key in self.plan.keys(case))

    def _judge_given(self) -> tuple[JudgedTest, ...]:
        names = ("given", *sorted(case.issue_id for case in self.plan.cases))
        return self._once(tuple[JudgedTest, ...], self.plan.given or tuple, *names)

    def _judge_brought(self, case: Case) -> tuple[JudgedTest, ...]:
        """Return the tests that the patches of a case bring, judged; one row for all of them."""
        from pytest_brt.guard import touched_of
        from pytest_brt.oracle.report_facts import read_facts
        from pytest_brt.rank.patch_tests import find_patch_tests, judge_patch_tests

        engine = self.workbench.engine
        root = Path(engine.subject.root)
        tests = find_patch_tests(case.patches, root, case.issue_id)
        if not tests:
            return ()
        facts = read_facts(self.workbench.reading(case.issue)) if case.issue else None
        pool = tuple(touched_of(case.patches, root))
        return self._once(
            tuple[JudgedTest, ...],
            lambda: judge_patch_tests(tests, pool, engine, facts, self.workbench.repeat),
            *("brought", case.issue_id, *sorted(test.id for test in tests)),
        )

    def _once(self, kind: type[T], work: Callable[[], T], *names: str) -> T:
        """Return what an interrupted run had finished, or do it and keep it.

        What was cut short because the time was over is not finished.
        """
        journal = self.workbench.journal
        if journal is None:
            return work()
        value = journal.get(kind, *names)
        if value is None:
            value = work()
            if time.monotonic() < self._deadline:
                journal.put(value, *names)
        return value

    def _make(self, key: AttemptKey) -> Attempt:
        names = ("attempt", key.issue, key.strategy, str(key.index))
        return self._once(Attempt, lambda: self._attempting.attempt(key, self._deadline), *names)

    def _run(self, case: Case, patch: Patch, attempts: tuple[Future[Attempt], ...]) -> PatchResult:
        made, given = self._finished(attempts)
        # An attempt that broke is reported as such; the others still rank the patches.
        tests = (
            *(judged for attempt in without_repeats(made) for judged in attempt.tests),
            *given,
            *self._brought[case.issue_id].result(),
        )
        names = ("row", case.issue_id, patch.name, patch.id)
        tried = tuple(judged.test.id for judged in tests if judged.judgement.candidate)
        return self._once(PatchResult, lambda: self._row(case, patch, tests), *names, *tried)

    def _row(self, case: Case, patch: Patch, tests: tuple[JudgedTest, ...]) -> PatchResult:
        from pytest_brt.rank.evaluate import evaluate

        guarding, engine = self._guarding(case), self.workbench.engine
        if self.plan.remote is not None:
            return self._remote_row(self.plan.remote, case, patch, tests, guarding)
        return evaluate(
            patch,
            case.issue_id,
            tests,
            engine,
            guarding=guarding,
            share=lambda normal, work: self._ran.get((case.issue_id, normal), work),
        )

    def _remote_row(
        self,
        remote: Remote,
        case: Case,
        patch: Patch,
        tests: tuple[JudgedTest, ...],
        guarding: Guarding | None,
    ) -> PatchResult:
        """Have a worker run a patch; existing tests are chosen here, the same for all patches."""
        from pytest_brt.run.workers import PatchTask

        candidates = [judged for judged in tests if judged.judgement.candidate]
        task = PatchTask(
            patch=patch,
            issue=case.issue_id,
            tests=tests,
            selection=guarding.choose_for(patch, candidates) if guarding else None,
            subject=self.workbench.engine.subject,
            sandbox=remote.sandbox,
            net=remote.net,
            show=remote.show,
            limits=remote.limits,
        )
        return remote.workers.run(task)

    @cached_property
    def _guard(self) -> Guard:
        """What runs existing tests on patches; asked for under the lock."""
        from pytest_brt.guard import Guard

        return Guard(self.workbench.engine)

    def _guarding(self, case: Case) -> Guarding | None:
        """Return the guard of a case's patches, the same for all of them."""
        if self.plan.guard == 0:
            return None
        from pytest_brt.rank.guarding import Guarding

        cache, journal = self.workbench.cache, self.workbench.journal
        with self._lock:
            if case.issue_id not in self._guardings:
                self._guardings[case.issue_id] = Guarding(
                    guard=self._guard,
                    patches=case.patches,
                    total=self.plan.guard,
                    say=self.workbench.say,
                    kept=cache and cache / "existing-tests.json",
                    setting=journal.setting if journal else "",
                )
            return self._guardings[case.issue_id]

    def _ranks(self, case: Case, lacking: NotRun | None) -> tuple[Rank, ...]:
        left_out = lacking.patches if lacking else ()
        rows = self._asked(case).items()
        remarks = self._remarks.get(case.issue_id, {})
        if not rows:
            return ()
        from pytest_brt.rank.ranking import rank, without_separation
        from pytest_brt.rank.variations import with_remark

        results = tuple(
            with_remark(row.result(), remarks.get(name))
            for name, row in rows
            if name not in left_out
        )
        ranks = rank(results, self.tests(case)) if results else ()
        return without_separation(ranks) if lacking else ranks

    def _asked(self, case: Case) -> dict[str, Future[PatchResult]]:
        """Return the rows of a case that were asked for, by the names of their patches."""
        repairs = (self._repairs[k] for k in self.plan.repair_keys(case) if k in self._repairs)
        found = (fix.patch for fix, _ in distinct(_results(repairs)))
        names = (patch.name for patch in (*case.patches, *found))
        return {name: row for name in names if (row := self._rows.get((case.issue_id, name)))}

    def _not_run(self, case: Case) -> NotRun | None:
        """Return the patches of a case that lack a row though it was asked for, if there are."""
        asked = self._asked(case)
        names = tuple(name for name, row in asked.items() if not _succeeded(row))
        return NotRun(issue=case.issue_id, patches=names, of=len(asked)) if names else None


def _succeeded(future: Future[T]) -> bool:
    return future.done() and not future.cancelled() and future.exception() is None


def _results(futures: Iterable[Future[T]]) -> Iterator[T]:
    return (future.result() for future in futures if _succeeded(future))
