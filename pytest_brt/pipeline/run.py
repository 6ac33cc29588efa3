"""The main path of a run, `Run.carry_out`: from reports and patches to tests and results."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import CancelledError, Future
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING, Any

from pytest_brt.errors import BrtError, ModelProblem, OutOfTime, StoreProblem, UsageProblem
from pytest_brt.pipeline import Job, Plan
from pytest_brt.reproduce.order import without_repeats
from pytest_brt.reproduce.strategy import Workbench
from pytest_brt.reproduce.user_tests import with_review
from pytest_brt.types import (
    Attempt,
    Fix,
    Issue,
    JudgedTest,
    Note,
    PatchResult,
    Place,
    Review,
    RunRecord,
    distinct,
)

if TYPE_CHECKING:  # what patches need is a quarter of the package: a run without any imports none
    from pytest_brt.pipeline.ranking import Ranking
    from pytest_brt.project.index import Index

Tests = tuple[JudgedTest, ...]
#: Wall-clock seconds for finding the commit that fixed a bug.
_SEARCH_SECONDS = 60.0
_INTERRUPTED = Note(code="interrupted", text="Partial results (interrupted)")


class Run:
    """Carries out a plan in the background; its results are there one by one."""

    def __init__(self, plan: Plan, workbench: Workbench, jobs: Iterable[Job]) -> None:
        self.plan = plan
        self.bench = replace(workbench, deadline=time.monotonic() + plan.budget)
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
        self._ranking: Ranking | None = None
        self._places: dict[str, tuple[Place, ...]] = {}

    # -- the main path ------------------------------------------------------------------

    def start(self) -> Future[None]:
        """Carry out the plan on threads that do not keep Python alive; return when that ends."""

        def work() -> None:
            try:
                self.carry_out()
            except BaseException as error:  # whoever waits for a result gets it
                for future in [future for future in self.futures.values() if not future.done()]:
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
        attempts = [job for issue in plan.issues for job in plan.attempts(issue.id)]
        self._each(self._attempt, [job for job in attempts if job in jobs or job.issue in needed])
        if plan.given is not None and jobs:
            self._given = plan.given()
        if needed:
            self._open_ranking(is_brought=bool(patches))
            self._each(self._run_patch, patches)
        if fixes:
            self._repair(fixes)
        self._tell("the likeliest places were not looked for", self._localise)

    def _each(self, work: Callable[[Job], object], jobs: Sequence[Job]) -> None:
        """Do jobs in their order, as many at a time as there are threads for."""
        # A new one: another thread may be looking at those that there are.
        self.futures = self.futures | {job: Future() for job in jobs if job not in self.futures}
        left = iter(jobs)  # it gives each job to one thread

        def take() -> None:
            for job in left:
                if self._is_stopped:
                    return
                try:
                    self.futures[job].set_result(work(job))
                except BaseException as error:  # whoever waits for it gets it
                    self.futures[job].set_exception(error)

        threads = [Thread(target=take, daemon=True) for _ in range(min(self.plan.jobs, len(jobs)))]
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

    def stop(self) -> None:
        """Begin nothing more; what was begun goes on."""
        self._is_stopped = not self._over.done()

    # -- the steps ----------------------------------------------------------------------

    def _attempt(self, job: Job) -> Attempt:
        """Read a report, make bug tests of it by a strategy, and judge them.

        Models are paid for this attempt alone, and asked in time.
        """
        shared, reviews = self.bench, self.plan.reviews
        strategy = self.plan.strategies[job.strategy]
        usage = shared.model.usage.part(shared.deadline)

        def found(attempt: Attempt, *notes: Note) -> None:
            tests = (with_review(t, reviews.get(t.test.id, Review.OPEN)) for t in attempt.tests)
            self._found[job] = replace(
                attempt,
                tests=tuple(tests),
                notes=(*attempt.notes, *notes),
                cost=usage.cost,
            )

        bench = replace(
            shared,
            model=shared.model.paid_by(usage, asks_again=strategy.asks_again),
            editor=shared.editor and shared.editor.paid_by(usage, asks_again=strategy.asks_again),
            say=lambda text: shared.say(f"{job.strategy}-{job.index:02}: {text}"),
            found=found,
        )
        try:
            attempt = strategy.attempt(self._issue(job.issue), job.index, bench)
            if attempt.settled and not job.index and not _candidates(attempt.tests):
                attempt = replace(attempt, fix=_find_fix(attempt.settled[0], bench))
            found(attempt)
        except OutOfTime as over:
            nothing = Attempt(issue=job.issue, strategy=job.strategy, index=job.index, tests=())
            found(nothing, Note(code="model-failed", text=str(over)))
        except ModelProblem as problem:
            if job in self._found:
                text = f"without the model: {problem}"
                found(self._found[job], Note(code="without-model", text=text))
            raise
        return self._found[job]

    def _open_ranking(self, *, is_brought: bool) -> None:
        """Open what runs patches, with the tests that they bring, and calls to tell them by."""
        from pytest_brt.pipeline.ranking import Ranking

        self._ranking = ranking = Ranking(self.plan, self.bench)
        if is_brought:
            self._brought = ranking.judge_brought()
        tests = _candidates(self.tests(self.plan.ranked))
        self._tell("no call of a bug test was varied", partial(ranking.vary, tests))

    def _run_patch(self, job: Job) -> PatchResult:
        """Run the tests of a report on a patch, and existing ones.

        An interrupted run may have done so. What was cut short is not kept.
        """
        assert self._ranking is not None, "it was opened"
        assert job.patch is not None, "such jobs have one"
        tests, journal = self.tests(job.issue), self.bench.journal
        ids = (judged.test.id for judged in _candidates(tests))
        names = job.issue, job.name, job.patch.id, *ids
        result = journal.get(PatchResult, *names) if journal else None
        if result is None:
            result = self._ranking.run(job.patch, tests)
            if journal and not self._is_stopped:
                with suppress(StoreProblem):  # the next run does it again
                    journal.put(result, *names)
        return result

    def _repair(self, fixes: Sequence[Job]) -> None:
        """Write patches for a report, and run them as those that were given."""
        from pytest_brt.localise.suspects import given_places
        from pytest_brt.pipeline.repairs import Repairing

        assert self._ranking is not None, "it was opened"
        plan, issue = self.plan, self._issue(self.plan.ranked)
        failing = [t for t in _candidates(self.tests(issue.id)) if t not in self._brought]
        with self._open_index() as index:
            places = given_places(plan.places, index) or self._likely_places(issue, index)
            repairing = Repairing(
                plan=plan,
                issue=issue,
                bench=self.bench,
                guard=self._ranking.guard,
                index=index,
                places=places,
                failing=tuple(sorted(failing, key=lambda t: -t.judgement.confidence)),
            )
            self._each(repairing.repair, fixes)
        more = [fix.patch for fix, _ in distinct(self._results(fixes))]
        self._each(self._run_patch, plan.rows(more))

    def _localise(self) -> None:
        """Look where bugs of reports may be, for those who want to know or got no test."""
        asked = {job.issue for job in self.futures}
        for issue in self.plan.issues:
            has_test = any(_candidates(self.tests(issue.id)))
            if issue.id in asked and (self.plan.wants_places or not has_test):
                self.bench.say(f"{issue.source}: looking for the likeliest places")
                with self._open_index() as index:
                    self._places[issue.id] = self._likely_places(issue, index)

    def _likely_places(self, issue: Issue, index: Index) -> tuple[Place, ...]:
        """Return where a bug may be, likeliest first: by words, and by what its code runs."""
        from pytest_brt.localise.suspects import find_suspects
        from pytest_brt.observe.run_snippets import functions_run

        observed = self.bench.observed(issue)
        ran = functions_run(observed, index, self.bench.engine)
        return find_suspects(issue, index, ran=ran, raised=observed.raised)

    def _open_index(self) -> Index:
        from pytest_brt.project.index import open_index

        return open_index(Path(self.bench.engine.subject.root), self.bench.cache)

    def _issue(self, name: str) -> Issue:
        return next(issue for issue in self.plan.issues if issue.id == name)

    # -- what is known by now -----------------------------------------------------------

    def tests(self, issue: str) -> Tests:
        """Return the tests of a report, given ones, and those of its patches."""
        made = (judged for attempt in self._attempts(issue) for judged in attempt.tests)
        return (*made, *self._given, *(self._brought if issue == self.plan.ranked else ()))

    def _attempts(self, issue: str) -> tuple[Attempt, ...]:
        """Return the attempts at a report; of one that did not end, what it had found by then."""
        attempts = []
        for job in self.plan.attempts(issue):
            if attempt := self._found.get(job):
                is_partial = self._is_stopped and not self._results([job])
                notes = (_INTERRUPTED,) if is_partial else ()
                attempts.append(replace(attempt, notes=(*attempt.notes, *notes)))
        return without_repeats(attempts)

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
            attempts=tuple(one for issue in plan.issues for one in self._attempts(issue.id)),
            given=self._given,
            brought=self._brought,
            repairs=tuple(self._results(job for job in self.futures if job.is_repair)),
            places=tuple(self._places.items()),
            ranked=plan.ranked,
            not_run=tuple(job.name for job in rows if job.name not in names),
        )
        if self._ranking and results:
            return self._ranking.rank(record, results, self.tests(plan.ranked))
        return record


def _candidates(tests: Iterable[JudgedTest]) -> Tests:
    return tuple(judged for judged in tests if judged.judgement.candidate)


def _find_fix(settled: JudgedTest, bench: Workbench) -> Fix | None:
    """Return the commit that fixed what could not be reproduced, None where it is not known."""
    from pytest_brt.patches.git import History  # git is asked for this alone
    from pytest_brt.revisions import find_fix

    bench.say("looking in the history for the commit that fixed it")
    deadline = min(bench.deadline, time.monotonic() + _SEARCH_SECONDS)
    try:
        history = History(Path(bench.engine.subject.root))
        return find_fix(history, bench.engine, settled.test, deadline)
    except UsageProblem as problem:
        bench.say(str(problem))
        return None
