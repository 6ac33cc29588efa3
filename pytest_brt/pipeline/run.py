"""The main path of a run, `Run.carry_out`: from reports and patches to tests and results."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import CancelledError, Future
from contextlib import closing
from dataclasses import replace
from functools import partial
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING, Any, TypeVar

from pytest_brt.errors import BrtError, ModelProblem
from pytest_brt.once import Once
from pytest_brt.pipeline.attempts import make_attempt
from pytest_brt.pipeline.plan import Job, Plan
from pytest_brt.reproduce.order import without_repeats
from pytest_brt.reproduce.strategy import Workbench
from pytest_brt.reproduce.user_tests import with_review
from pytest_brt.store import Journal
from pytest_brt.types import (
    Attempt,
    Issue,
    JudgedTest,
    Localised,
    Note,
    NotRun,
    PatchResult,
    Rank,
    Repair,
    Review,
    RunRecord,
    Telling,
    Variation,
    distinct,
)

if TYPE_CHECKING:  # what patches need is a quarter of the package: a run without any imports none
    from pytest_brt.guard import Guard
    from pytest_brt.pipeline.repairs import Repairing

T = TypeVar("T")
Tests = tuple[JudgedTest, ...]


class Run:
    """Carries out a plan in the background; its results are there one by one."""

    def __init__(self, plan: Plan, workbench: Workbench, jobs: Iterable[Job]) -> None:
        self.plan = plan
        self.workbench = replace(workbench, deadline=time.monotonic() + plan.budget)
        #: The results of what was asked for, and of what came up on the way.
        self.futures: dict[Job, Future[Any]] = {job: Future() for job in jobs}
        #: Why something was left out.
        self.problems: list[str] = []
        self._is_stopped = False
        #: What had ended by itself when it was stopped.
        self._ended: frozenset[Job] = frozenset()
        #: What attempts have found that did not end.
        self._so_far: dict[Job, Attempt] = {}
        #: The tests that were given, and those that patches bring.
        self._given: Tests = ()
        self._brought: Tests = ()
        #: By normal form of the patch.
        self._ran: Once[str, PatchResult] = Once()
        self._guard: Guard | None = None
        self._repairing: Repairing | None = None
        self._places: list[Localised] = []
        #: The calls of bug tests, varied.
        self._calls: tuple[Variation, ...] = ()

    # -- the main path ------------------------------------------------------------------

    def start(self) -> Future[None]:
        """Carry out the plan on threads that do not keep Python alive; return when that ends."""
        over: Future[None] = Future()

        def work() -> None:
            try:
                self.carry_out()
            except BaseException as error:  # whoever waits for a result gets it
                for future in [future for future in self.futures.values() if not future.done()]:
                    future.set_exception(error)
            over.set_result(None)

        Thread(target=work, daemon=True).start()
        return over

    def carry_out(self) -> None:
        """Make tests of the reports and judge them, run them on the patches, write fixes."""
        plan, jobs = self.plan, tuple(self.futures)
        fixes = [job for job in jobs if job.is_repair]
        patches = [job for job in jobs if job.patch]
        attempts = [job for issue in plan.issues for job in plan.attempts(issue.id)]
        ranked = plan.ranked if fixes or patches else None
        self._each(self._attempt, [job for job in attempts if job in jobs or job.issue == ranked])
        if plan.given is not None and jobs:
            names = ("given", *sorted(issue.id for issue in plan.issues))
            self._given = self._once(Tests, plan.given, *names)
        if ranked is not None:
            self._prepare()
        if patches:
            self._brought = self._judge_brought()
        if ranked is not None:
            self._tell("no call of a bug test was varied", self._vary)
        self._each(self._run_patch, patches)
        self._each(self._repair, fixes)
        more = [fix.patch for fix, _ in distinct(self._results(fixes))]
        self._each(self._run_patch, [Job.of(plan.ranked, patch) for patch in more])
        about = {job.issue for job in jobs}
        for issue in [issue for issue in plan.issues if issue.id in about]:
            self._tell("the likeliest places were not looked for", partial(self._localise, issue))

    def _tell(self, what: str, step: Callable[[], object]) -> None:
        """Take a step that others do without; why it could not be taken is a problem."""
        try:
            if not self._is_stopped:
                step()
        except BrtError as problem:
            self.problems.append(f"{what}: {problem}")

    def _each(self, work: Callable[[Job], object], jobs: Sequence[Job]) -> None:
        """Do jobs in their order, as many at a time as there are threads for."""
        # A new one: another thread may be looking at those that there are.
        self.futures = self.futures | {job: Future() for job in jobs if job not in self.futures}
        left = deque(job for job in dict.fromkeys(jobs) if not self.futures[job].done())

        def take() -> None:
            while not self._is_stopped:
                try:
                    job = left.popleft()
                except IndexError:
                    return
                try:
                    self.futures[job].set_result(work(job))
                except BaseException as error:  # whoever waits for it gets it
                    self.futures[job].set_exception(error)

        number = self.plan.workers.threads if self.plan.workers else self.plan.jobs
        threads = [Thread(target=take, daemon=True) for _ in range(min(number, len(jobs)))]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        if self._is_stopped:
            raise CancelledError

    def stop(self) -> None:
        """Begin nothing more; what was begun goes on."""
        if not self._is_stopped:
            self._ended = frozenset(job for job, one in self.futures.items() if one.done())
        self._is_stopped = True

    def close(self) -> None:
        """Close what the repairs had open."""
        if self._repairing is not None:
            self._repairing.close()

    # -- the steps ----------------------------------------------------------------------

    def _attempt(self, job: Job) -> Attempt:
        """Read a report, make bug tests of it by a strategy, and judge them."""
        issue = self.plan.issue(job)
        bench = replace(
            self.workbench,
            found=lambda attempt: self._so_far.update({job: attempt}),
            say=lambda text: self.workbench.say(f"{job.strategy}-{job.index:02}: {text}"),
        )
        make = partial(make_attempt, issue, job, self.plan.strategies[job.strategy], bench)
        try:
            made = self._once(Attempt, make, "attempt", *job.key)
        except ModelProblem as problem:
            if attempt := self._so_far.get(job):
                note = Note(code="without-model", text=f"without the model: {problem}")
                self._so_far[job] = replace(attempt, notes=(*attempt.notes, note))
            raise
        reviews = self.plan.reviews
        tests = (with_review(t, reviews.get(t.test.id, Review.OPEN)) for t in made.tests)
        return replace(made, tests=tuple(tests))

    def _judge_brought(self) -> Tests:
        """Judge the tests that the patches bring."""
        from pytest_brt.guard import touched_of
        from pytest_brt.rank.patch_tests import find_patch_tests, judge_patch_tests

        bench, patches, issue = self.workbench, self.plan.patches, self.plan.ranked
        root = Path(bench.engine.subject.root)
        tests = find_patch_tests(patches, root, issue)
        if not tests:
            return ()
        reports = (report for report in self.plan.issues if report.id == issue)
        facts = next(map(bench.facts, reports), None)
        pool = tuple(touched_of(patches, root))
        judge = partial(judge_patch_tests, tests, pool, bench.engine, facts, bench.repeat)
        return self._once(Tests, judge, "brought", issue, *sorted(test.id for test in tests))

    def _run_patch(self, job: Job) -> PatchResult:
        """Run the tests of a report on a patch, and existing ones."""
        from pytest_brt.guard import touched_of
        from pytest_brt.rank.evaluate import evaluate

        tests, patch, issue = self.tests(job.issue), job.patch, job.issue
        assert patch is not None, "such jobs have one"
        candidates = tuple(judged for judged in tests if judged.judgement.candidate)
        run = partial(evaluate, calls=self._calls, guard=self._guard, share=self._ran.get)
        if workers := self.plan.workers:
            guard = self._guard
            touched = next(touched_of([patch], guard.root), None) if guard else None
            chosen = guard.choose(touched) if guard and touched else None
            run = partial(workers.run, chosen, self._calls)
        work = partial(run, patch, issue, tests, self.workbench.engine)
        names = ("row", issue, patch.name, patch.id, *(judged.test.id for judged in candidates))
        return self._once(PatchResult, work, *names)

    def _repair(self, job: Job) -> Repair:
        """Write patches for a report by a strategy."""
        assert self._repairing is not None, "it was prepared"
        repair = partial(self._repairing.repair, job.strategy, job.index)
        return self._once(Repair, repair, "repair", *job.key)

    def _vary(self) -> None:
        """Find what the bug tests call, and variations of that."""
        from pytest_brt.rank.variations import find_variations

        tests = [judged for judged in self.tests(self.plan.ranked) if judged.judgement.candidate]
        find = partial(find_variations, tests, self.workbench.engine)
        names = ("variations", self.plan.ranked, *(judged.test.id for judged in tests))
        self._calls = self._once(tuple[Variation, ...], find, *names)

    def _localise(self, issue: Issue) -> None:
        """Look where the bug of a report may be, for those who want to know or got no test."""
        has_test = any(judged.judgement.candidate for judged in self.tests(issue.id))
        if self.plan.wants_places or not has_test:
            from pytest_brt.pipeline.places import likely_places
            from pytest_brt.project.index import open_index

            bench = self.workbench
            bench.say(f"{issue.source}: looking for the likeliest places")
            with closing(open_index(Path(bench.engine.subject.root), bench.cache)) as index:
                places = likely_places(issue, bench, index)
            self._places.append(Localised(issue=issue.id, places=places))

    def _prepare(self) -> None:
        """Make what runs existing tests on patches, and what repairs: most runs import neither."""
        from pytest_brt.guard import EACH, LOOKING, Guard, touched_of

        plan, bench = self.plan, self.workbench
        pool = tuple(touched_of(plan.patches, Path(bench.engine.subject.root)))
        journal = bench.journal
        guard = Guard(
            bench.engine,
            pool,
            seconds=EACH if plan.guard is None else plan.guard / (len(pool) + LOOKING),
            say=bench.say,
            kept=journal and Journal(journal.path.with_name("existing.jsonl"), journal.setting),
        )
        self._guard = None if plan.guard == 0 else guard
        if any(job.is_repair for job in self.futures):
            from pytest_brt.pipeline.repairs import Repairing

            made = tuple(self._results(plan.attempts(plan.ranked)))
            self._repairing = Repairing(plan, bench, guard, made, self._given)

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
            if not (self.workbench.over or self._is_stopped):
                journal.put(value, *names)
        return value

    # -- what is known by now -----------------------------------------------------------

    def tests(self, issue: str) -> Tests:
        """Return the tests of a report, given ones, and those of its patches."""
        made = without_repeats(self._results(self.plan.attempts(issue)))
        tests = (judged for attempt in made for judged in attempt.tests)
        return (*tests, *self._given, *(self._brought if issue == self.plan.ranked else ()))

    def record(self) -> RunRecord:
        """Return all that is known by now: of what did not end, what it had found until then."""
        # First of all: a patch that ends meanwhile must not be missing in the ranks unsaid.
        missing = self._not_run()
        jobs = (job for issue in self.plan.issues for job in self.plan.attempts(issue.id))
        ranks = self._ranks(missing)
        return RunRecord(
            issues=self.plan.issues,
            attempts=without_repeats(filter(None, map(self._so_far_of, jobs))),
            given=self._given,
            brought=self._brought,
            ranks=ranks,
            tellings=self._tellings(ranks) if missing is None else (),
            tried=len(self._calls),
            sandbox=self.workbench.engine.sandbox.isolation,
            repairs=tuple(self._results(job for job in self.futures if job.is_repair)),
            localised=tuple(self._places),
            ranked=self.plan.ranked,
            not_run=missing,
        )

    def _results(self, jobs: Iterable[Job]) -> Iterator[Any]:
        """Yield the results of those jobs that came to an end, and did not break."""
        for future in [self.futures[job] for job in jobs if job in self.futures]:
            if future.done() and future.exception() is None:
                yield future.result()

    def _so_far_of(self, job: Job) -> Attempt | None:
        """Return an attempt, or what it had found where it did not end; None for nothing."""
        for attempt in self._results([job]):
            return attempt  # type: ignore[no-any-return]  # by its job
        partly, is_over = self._so_far.get(job), self.futures.get(job, Future()).done()
        if self._is_stopped:  # what is cut short ends, too
            is_over = job in self._ended
        if partly is None or is_over:
            return partly
        note = Note(code="interrupted", text="Partial results (interrupted)")
        return replace(partly, notes=(*partly.notes, note))

    def _ranks(self, lacking: NotRun | None = None) -> tuple[Rank, ...]:
        left_out = lacking.patches if lacking else ()
        results = tuple(self._results(job for job in self._rows() if job.name not in left_out))
        if not results:
            return ()
        from pytest_brt.pipeline.ranking import rank_patches

        tests = self.tests(self.plan.ranked)
        return rank_patches(results, tests, self._calls, is_whole=lacking is None)

    def _tellings(self, ranks: tuple[Rank, ...]) -> tuple[Telling, ...]:
        if not ranks:
            return ()
        from pytest_brt.pipeline.ranking import tellings_of

        return tellings_of(ranks, self._calls)

    def _not_run(self) -> NotRun | None:
        """Return the patches that have no result though it was asked for, if there are."""
        rows = self._rows()
        names = tuple(job.name for job in rows if not any(True for _ in self._results([job])))
        return NotRun(patches=names, of=len(rows)) if names else None

    def _rows(self) -> list[Job]:
        """Return the patches that are, or were, to be run, in the order in which they came."""
        order = {patch.name: number for number, patch in enumerate(self.plan.patches)}
        rows = [job for job in self.futures if job.patch]
        return sorted(rows, key=lambda job: order.get(job.name, len(order)))
