"""The main path of a run, `Run.carry_out`: from reports and patches to tests and results."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import CancelledError, Future
from contextlib import suppress
from dataclasses import replace
from functools import cached_property, partial
from threading import Thread
from typing import TYPE_CHECKING, Any

from pytest_brt.errors import BrtError, ModelProblem, OutOfTime, StoreProblem, UsageProblem
from pytest_brt.pipeline import Job, Plan, Tests, bench_of
from pytest_brt.reproduce.order import without_repeats
from pytest_brt.reproduce.strategy import Workbench
from pytest_brt.reproduce.user_tests import rejudge, with_review
from pytest_brt.types import (
    Attempt,
    Fix,
    FoundFix,
    Issue,
    JudgedTest,
    Note,
    PatchResult,
    Place,
    Repair,
    Review,
    RunRecord,
    bug_tests,
    made_tests,
)

if TYPE_CHECKING:  # what patches need is imported late: start-up time
    from pytest_brt.pipeline.ranking import Ranking
    from pytest_brt.project.index import Index

#: Wall-clock seconds for finding the commit that fixed a bug.
_SEARCH_SECONDS = 60.0
_INTERRUPTED = Note(code="interrupted", text="Partial results (interrupted)")


class Run:
    """Carries out a plan in the background; its results are there one by one."""

    def __init__(self, plan: Plan, bench: Workbench, jobs: Iterable[Job]) -> None:
        self.plan = plan
        self.bench = bench
        #: By their ids.
        self._issues = {issue.id: issue for issue in plan.issues}
        #: The results of what was asked for, and of what came up on the way.
        self.futures: dict[Job, Future[Any]] = {job: Future() for job in jobs}
        #: Why something was left out.
        self.problems: list[str] = []
        self._over: Future[None] = Future()
        #: Whether it was stopped before its end.
        self._is_stopped = False
        #: What attempts have found, also those that go on.
        self._found: dict[Job, Attempt] = {}
        #: The tests that were given, and those that patches bring.
        self._given: Tests = ()
        self._brought: Tests = ()
        self._places: dict[str, tuple[Place, ...]] = {}

    # -- the main path ------------------------------------------------------------------

    def start(self) -> Future[None]:
        """Carry out the plan on threads that do not keep Python alive; return when that ends."""

        def work() -> None:
            try:
                self.carry_out()
            except BaseException as error:  # whoever waits for a result gets it
                for future in self.futures.values():
                    if not future.done():
                        future.set_exception(error)
            self._over.set_result(None)

        Thread(target=work, daemon=True).start()
        return self._over

    def carry_out(self) -> None:
        """Make tests of the reports and judge them, run them on the patches, write fixes."""
        plan, jobs = self.plan, tuple(self.futures)
        patches = [job for job in jobs if job.patch]
        fixes = [job for job in jobs if job.is_repair]
        needed = {plan.ranked} if patches or fixes else set()
        attempts = [job for job in plan.attempts() if job in jobs or job.issue in needed]
        self._each(self._attempt, attempts)
        if plan.given is not None and jobs:
            self._given = plan.given()
        if needed:
            if patches:
                self._brought = self._judge_brought()
            tests = self.tests(plan.ranked)
            self._tell(
                "no call of a bug test was varied", partial(self._ranking.vary, tests)
            )
            self._each(self._run_patch, patches)
        if fixes:
            self._repair(fixes)
        self._tell("the likeliest places were not looked for", self._localise)

    def _judge_brought(self) -> Tests:
        """Judge the tests that patches bring, but for those that a person accepted before."""
        known = {judged.test.id for judged in self.tests(self.plan.ranked)}
        brought = self._as_reviewed(self._ranking.judge_brought())
        return tuple(judged for judged in brought if judged.test.id not in known)

    def _each(self, work: Callable[[Job], object], jobs: Sequence[Job]) -> None:
        """Do jobs in their order, as many at a time as there are threads for."""
        # A new one: another thread may be looking at those that there are.
        self.futures = self.futures | {
            job: Future() for job in jobs if job not in self.futures
        }
        left = iter(jobs)  # it gives each job to one thread

        def take() -> None:
            for job in left:
                if self._is_stopped:
                    return
                try:
                    self.futures[job].set_result(work(job))
                except BaseException as error:  # whoever waits for it gets it
                    self.futures[job].set_exception(error)

        threads = [
            Thread(target=take, daemon=True) for _ in range(min(self.plan.jobs, len(jobs)))
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        if self._is_stopped:
            raise CancelledError

    def _tell(self, what: str, step: Callable[[], object]) -> None:
        """Take a step that others do without; why it could not be taken is a problem."""
        try:
            step()
        except BrtError as problem:
            self.problems.append(f"{what}: {problem}")

    @property
    def is_over(self) -> bool:
        """Whether nothing is left to be done."""
        return self._over.done()

    def stop(self) -> None:
        """Begin nothing more; what was begun goes on."""
        self._is_stopped = not self.is_over

    # -- the steps ----------------------------------------------------------------------

    def _attempt(self, job: Job) -> Attempt:
        """Read a report, make bug tests of it by a strategy, and judge them."""
        strategy = self.plan.strategies[job.strategy]
        own = bench_of(job, strategy, self.bench)

        def keep(attempt: Attempt) -> None:
            self._found[job] = replace(attempt, cost=own.model.usage.cost)

        own, accepted = replace(own, found=keep), self._accepted(job)
        try:
            attempt = strategy.attempt(self._issues[job.issue], job.index, own)
            attempt = replace(attempt, tests=(*accepted, *attempt.tests))
            if attempt.settled and not job.index and not bug_tests(attempt.tests):
                attempt = replace(attempt, fix=_find_fix(attempt.settled[0], own))
            keep(attempt)
        except OutOfTime as over:
            keep(
                Attempt(
                    issue=job.issue,
                    strategy=job.strategy,
                    index=job.index,
                    tests=accepted,
                    notes=(Note(code="model-failed", text=str(over)),),
                )
            )
        except ModelProblem as problem:
            if before := self._found.get(job):
                note = Note(code="without-model", text=f"without the model: {problem}")
                keep(replace(before, notes=(*before.notes, note)))
            raise
        return self._found[job]

    def _accepted(self, job: Job) -> Tests:
        """Return the tests of a report that a person accepted before, as they do now."""
        tests = tuple(
            one
            for one in self.plan.reviewed
            if one.review is Review.ACCEPTED and one.test.issue == job.issue
        )
        return rejudge(tests, self.bench.engine) if tests and not job.index else ()

    @cached_property
    def _ranking(self) -> Ranking:
        """What runs patches, and ranks them."""
        from pytest_brt.pipeline.ranking import Ranking

        return Ranking(self.plan, self.bench)

    def _run_patch(self, job: Job) -> PatchResult:
        """Run the tests of a report on a patch, and existing ones.

        An interrupted run may have done so. What was cut short is not kept.
        """
        assert job.patch is not None, "such jobs have one"
        tests, journal = self.tests(job.issue), self.bench.journal
        ids = (judged.test.id for judged in bug_tests(tests))
        # Existing tests are chosen by what all patches change.
        pool = (patch.id for patch in self.plan.patches)
        names = job.name, job.patch.id, *ids, *pool, repr(self._ranking.calls)
        result = journal.get(PatchResult, *names)
        if result is None:
            result = self._ranking.run(job.patch, tests)
            if not self._is_stopped:
                with suppress(StoreProblem):  # the next run does it again
                    journal.put(result, *names)
        return result

    def _repair(self, fixes: Sequence[Job]) -> None:
        """Write patches for a report, and run them as those that were given."""
        from pytest_brt.agents.trials import RepairWork
        from pytest_brt.localise.suspects import given_places
        from pytest_brt.pipeline.repairs import repair

        plan, issue = self.plan, self._issues[self.plan.ranked]
        failing = bug_tests(t for t in self.tests(issue.id) if t not in self._brought)
        with self.bench.open_index() as index:
            open_work = partial(
                RepairWork,
                issue=issue,
                index=index,
                engine=self.bench.engine,
                failing=tuple(failing),
                guard=self._ranking.guard,
                is_guarded=plan.guard != 0,
                jobs=plan.jobs,
                places=given_places(plan.places, index)
                or self._likely_places(issue, index),
                is_place_given=bool(plan.places),
            )
            self._each(
                partial(repair, plan=plan, bench=self.bench, open_work=open_work), fixes
            )
        more = [fix.patch for fix, _ in distinct(self._results(fixes))]
        self._each(self._run_patch, plan.rows(more))

    def _localise(self) -> None:
        """Look where bugs of reports may be, for those who want to know or got no test."""
        asked = {job.issue for job in self.futures}
        for issue in self.plan.issues:
            is_wanted = self.plan.wants_places or not bug_tests(self.tests(issue.id))
            if issue.id in asked and is_wanted:
                self.bench.say(f"{issue.source}: looking for the likeliest places")
                with self.bench.open_index() as index:
                    self._places[issue.id] = self._likely_places(issue, index)

    def _likely_places(self, issue: Issue, index: Index) -> tuple[Place, ...]:
        """Return where a bug may be, likeliest first: by words, and by what its code runs."""
        from pytest_brt.localise.suspects import find_suspects
        from pytest_brt.observe.run_snippets import functions_run

        observed = self.bench.observed(issue)
        ran = functions_run(observed, index, self.bench.engine)
        return find_suspects(issue, index, ran=ran, raised=observed.raised)

    # -- what is known by now -----------------------------------------------------------

    def tests(self, issue: str) -> Tests:
        """Return the tests of a report, given ones, and those of its patches."""
        attempts = (attempt for attempt in self._attempts() if attempt.issue == issue)
        brought = self._brought if issue == self.plan.ranked else ()
        return (*made_tests(attempts), *self._given, *brought)

    def _attempts(self) -> tuple[Attempt, ...]:
        """Return the attempts, as far as they got, with what a person said of their tests."""
        attempts = []
        for job in self.plan.attempts():
            if found := self._found.get(job):
                tests = self._as_reviewed(found.tests)
                is_partial = self._is_stopped and not self._results([job])
                notes = (*found.notes, _INTERRUPTED) if is_partial else found.notes
                attempts.append(replace(found, tests=tests, notes=notes))
        return without_repeats(attempts)

    @cached_property
    def _reviews(self) -> dict[str, Review]:
        return {judged.test.id: judged.review for judged in self.plan.reviewed}

    def _as_reviewed(self, tests: Tests) -> Tests:
        """Return tests with what a person said of them before."""
        return tuple(
            with_review(one, self._reviews.get(one.test.id, Review.OPEN)) for one in tests
        )

    def _results(self, jobs: Iterable[Job]) -> list[Any]:
        """Return the results of those jobs that came to an end, and did not break."""
        futures = [self.futures[job] for job in jobs]
        return [one.result() for one in futures if one.done() and one.exception() is None]

    def record(self) -> RunRecord:
        """Return all that is known by now."""
        plan, rows = self.plan, [job for job in self.futures if job.patch]
        # First of all: a patch that ends meanwhile must not be missing in the ranks unsaid.
        results = self._results(rows)
        names = {result.patch.name for result in results}
        record = RunRecord(
            issues=plan.issues,
            attempts=self._attempts(),
            given=self._given,
            brought=self._brought,
            repairs=tuple(self._results(job for job in self.futures if job.is_repair)),
            places=tuple(self._places.items()),
            ranked=plan.ranked,
            not_run=tuple(job.name for job in rows if job.name not in names),
        )
        if results:
            return self._ranking.rank(record, results, self.tests(plan.ranked))
        return record


def distinct(repairs: Iterable[Repair]) -> tuple[tuple[FoundFix, Repair], ...]:
    """Return the fixes of several repairs, of equal ones only the first."""
    found: dict[str, tuple[FoundFix, Repair]] = {}
    for repair in repairs:
        for fix in repair.fixes:
            found.setdefault(fix.key, (fix, repair))
    return tuple(found.values())


def _find_fix(settled: JudgedTest, bench: Workbench) -> Fix | None:
    """Return the commit that fixed what could not be reproduced, None where it is not known."""
    from pytest_brt.patches.git import History  # git is asked for this alone
    from pytest_brt.revisions import find_fix

    bench.say("looking in the history for the commit that fixed it")
    deadline = min(bench.deadline, time.monotonic() + _SEARCH_SECONDS)
    try:
        history = History(bench.root)
        return find_fix(history, bench.engine, settled.test, deadline)
    except UsageProblem as problem:
        bench.say(str(problem))
        return None
