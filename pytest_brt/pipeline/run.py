"""The main path of a run, `Run.carry_out`: from reports and patches to tests and results."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future
from dataclasses import replace
from functools import cached_property, partial
from pathlib import Path
from threading import Lock, Thread
from typing import TYPE_CHECKING, Any, TypeVar

from pytest_brt.errors import BrtError, ModelProblem
from pytest_brt.once import Once
from pytest_brt.pipeline.attempts import make_attempt
from pytest_brt.pipeline.plan import Case, Job, Plan
from pytest_brt.reproduce.order import without_repeats
from pytest_brt.reproduce.strategy import Workbench
from pytest_brt.types import (
    Attempt,
    JudgedTest,
    Localised,
    Note,
    NotRun,
    PatchResult,
    Rank,
    Repair,
    RunRecord,
    Telling,
    distinct,
)

if TYPE_CHECKING:  # what patches need is a quarter of the package: a run without any imports none
    from pytest_brt.guard import Guard
    from pytest_brt.pipeline.repairs import Repairing
    from pytest_brt.rank.guarding import Guarding
    from pytest_brt.rank.matrix import Ran

T = TypeVar("T")
Tests = tuple[JudgedTest, ...]


class Run:
    """Carries out a plan in the background; its results are there one by one."""

    def __init__(self, plan: Plan, workbench: Workbench, jobs: Iterable[Job]) -> None:
        self.plan = plan
        self.workbench = workbench
        #: The results of what was asked for, and of what came up on the way.
        self.futures: dict[Job, Future[Any]] = {job: Future() for job in jobs}
        #: Why something was left out.
        self.problems: list[str] = []
        self._waiting: deque[Job] = deque()
        self._is_stopped = False
        #: When all must be over, as `time.monotonic` counts.
        self._deadline = time.monotonic() + plan.budget
        #: What attempts that did not end have found, and why they ended that needed a model.
        self._so_far: dict[Job, Attempt] = {}
        self._unanswered: dict[Job, ModelProblem] = {}
        #: The tests that were given, and those that patches bring, by issue.
        self._given: Tests = ()
        self._brought: dict[str, Tests] = {}
        #: By issue and normal form of the patch.
        self._ran: Once[tuple[str, str], Ran] = Once()
        self._guardings: dict[str, Guarding] = {}
        self._lock = Lock()
        self._places: list[Localised] = []
        self._tellings: list[Telling] = []
        #: By issue: the patches that handle the reported input alone, each with what shows it.
        self._special: dict[str, dict[str, str]] = {}

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
        asked, cases = tuple(self.futures), self.plan.cases
        on_tests = {job.issue for job in asked if job.patch or job.is_repair}
        attempts = [job for case in cases for job in self.plan.attempts(case)]
        self._each(self._attempt, [j for j in attempts if j in asked or j.issue in on_tests])
        if self.plan.given is not None:
            names = ("given", *sorted(case.issue_id for case in cases))
            self._given = self._once(Tests, self.plan.given, *names)
        for case in cases:
            if case.patches and case.issue_id in on_tests:
                self._brought[case.issue_id] = self._judge_brought(case)
        self._each(self._run_patch, [job for job in asked if job.patch])
        self._each(self._repair, [job for job in asked if job.is_repair])
        fixes = distinct(self._results(job for job in asked if job.is_repair))
        self._each(self._run_patch, [Job(issue=r.issue, patch=fix.patch) for fix, r in fixes])
        for case in cases:
            if not self._is_stopped:
                self._finish(case)

    def _each(self, work: Callable[[Job], object], jobs: Sequence[Job]) -> None:
        """Do jobs in their order, as many at a time as there are threads for."""
        self.futures |= {job: Future() for job in jobs if job not in self.futures}
        self._waiting = deque(() if self._is_stopped else jobs)

        def take() -> None:
            while self._waiting:
                try:
                    job = self._waiting.popleft()
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

    def stop(self) -> None:
        """Begin nothing more; what was begun goes on."""
        self._is_stopped = True
        self._waiting.clear()

    def close(self) -> None:
        """Close what the repairs had open."""
        if "_repairing" in vars(self):
            self._repairing.close()

    # -- the steps ----------------------------------------------------------------------

    def _attempt(self, job: Job) -> Attempt:
        """Read a report, make bug tests of it by a strategy, and judge them."""
        issue = self.plan.issue(job)
        bench = replace(
            self.workbench,
            deadline=self._deadline,
            found=lambda attempt: self._so_far.update({job: attempt}),
            say=lambda text: self.workbench.say(f"{job.strategy}-{job.index:02}: {text}"),
        )
        make = partial(make_attempt, issue, job, self.plan.strategies[job.strategy], bench)
        try:
            return self._once(Attempt, make, "attempt", *job.names)
        except ModelProblem as problem:
            self._unanswered[job] = problem
            raise

    def _judge_brought(self, case: Case) -> Tests:
        """Judge the tests that the patches of a case bring."""
        from pytest_brt.guard import touched_of
        from pytest_brt.rank.brought import find_brought, judge_brought

        bench = self.workbench
        root = Path(bench.engine.subject.root)
        tests = find_brought(case.patches, root, case.issue_id)
        if not tests:
            return ()
        facts = bench.facts(case.issue) if case.issue else None
        pool = tuple(touched_of(case.patches, root))
        judge = partial(judge_brought, tests, pool, bench.engine, facts, bench.repeat)
        return self._once(Tests, judge, "brought", case.issue_id, *sorted(t.id for t in tests))

    def _run_patch(self, job: Job) -> PatchResult:
        """Run the tests of a report on a patch, and existing ones."""
        case, patch = self.plan.case(job), job.patch
        assert patch is not None, "such jobs have one"
        tests = self.tests(case)
        from pytest_brt.rank.matrix import run_patch

        candidates = tuple(judged for judged in tests if judged.judgement.candidate)
        engine, workers = self.workbench.engine, self.plan.workers
        guarding = self._guarding(case)

        def work() -> PatchResult:
            if workers is not None:
                chosen = guarding.choose_for(patch, candidates) if guarding else None
                return workers.run(patch, case.issue_id, tests, chosen, engine.subject)
            return run_patch(
                patch,
                case.issue_id,
                tests,
                engine,
                guarding=guarding,
                # Patches that make the same program are run once.
                share=lambda normal, run: self._ran.get((case.issue_id, normal), run),
            )

        names = ("row", case.issue_id, patch.name, patch.id, *(t.test.id for t in candidates))
        return self._once(PatchResult, work, *names)

    def _repair(self, job: Job) -> Repair:
        """Write patches for a report by a strategy."""
        attempts = tuple(self._results(self.plan.attempts(self.plan.case(job))))
        repair = partial(
            self._repairing.repair,
            self.plan.issue(job),
            job.strategy,
            job.index,
            attempts=attempts,
            given=self._given,
            deadline=self._deadline,
        )
        return self._once(Repair, repair, "repair", *job.names)

    def _finish(self, case: Case) -> None:
        """Compare the leading patches, and look where the bug of a report may be."""
        try:
            self._compare(case)
        except BrtError as problem:
            self.problems.append(f"leading patches were not compared further: {problem}")
        found = any(judged.judgement.candidate for judged in self.tests(case))
        if (issue := case.issue) is None or (found and not self.plan.wants_places):
            return
        self.workbench.say(f"{issue.source}: looking for the likeliest places")
        try:
            localise = partial(self._repairing.localise, issue)
            self._places.append(self._once(Localised, localise, "place", issue.id))
        except BrtError as problem:
            self.problems.append(f"the likeliest places were not looked for: {problem}")

    def _compare(self, case: Case) -> None:
        """Try the patches of a case on variations of what its bug tests call, if all were run."""
        ranks = self._ranks(case)
        if len(ranks) < 2 or self._not_run(case):
            return
        from pytest_brt.pipeline.ranking import find_special_cases, find_telling

        self._special[case.issue_id] = find_special_cases(ranks, self.tests(case), self.workbench)
        telling = find_telling(self._ranks(case), self.tests(case), self.workbench)
        self._tellings += [telling] if telling is not None else []

    @cached_property
    def _guard(self) -> Guard:
        """What runs existing tests on patches."""
        from pytest_brt.guard import Guard

        return Guard(self.workbench.engine)

    @cached_property
    def _repairing(self) -> Repairing:
        """What repairs and localises; most runs do neither, and import none of it."""
        from pytest_brt.pipeline.repairs import Repairing, RepairPlan

        return Repairing(self.plan.repairs or RepairPlan(), self.workbench, self._guard)

    def _guarding(self, case: Case) -> Guarding | None:
        """Return what chooses the existing tests of a case's patches, the same for all of them."""
        from pytest_brt.rank.guarding import Guarding

        bench = self.workbench
        with self._lock:
            if self.plan.guard != 0 and case.issue_id not in self._guardings:
                self._guardings[case.issue_id] = Guarding(
                    guard=self._guard,
                    patches=case.patches,
                    total=self.plan.guard,
                    say=bench.say,
                    kept=bench.cache and bench.cache / "existing-tests.json",
                    setting=bench.journal.setting if bench.journal else "",
                )
        return self._guardings.get(case.issue_id)

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

    # -- what is known by now -----------------------------------------------------------

    def tests(self, case: Case) -> Tests:
        """Return the tests of a case: those of its report, given ones, and those of patches."""
        made = without_repeats(self._results(self.plan.attempts(case)))
        tests = (judged for attempt in made for judged in attempt.tests)
        return (*tests, *self._given, *self._brought.get(case.issue_id, ()))

    def record(self) -> RunRecord:
        """Return all that is known by now: of what did not end, what it had found until then."""
        cases = self.plan.cases
        # First of all: a patch that ends meanwhile must not be missing in the ranks unsaid.
        missing = [self._not_run(case) for case in cases]
        attempts = [self._so_far_of(job) for case in cases for job in self.plan.attempts(case)]
        return RunRecord(
            issues=tuple(case.issue for case in cases if case.issue),
            attempts=without_repeats(filter(None, attempts)),
            given=self._given,
            brought=tuple(test for tests in self._brought.values() for test in tests),
            ranks=tuple(
                rank
                for case, lacking in zip(cases, missing, strict=True)
                for rank in self._ranks(case, lacking)
            ),
            tellings=tuple(self._tellings),
            sandbox=self.workbench.engine.sandbox.isolation,
            repairs=tuple(self._results(job for job in self.futures if job.is_repair)),
            localised=tuple(self._places),
            not_run=tuple(filter(None, missing)),
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
        note = Note(code="interrupted", text="Partial results (interrupted)")
        if problem := self._unanswered.get(job):
            note = Note(code="without-model", text=f"without the model: {problem}")
        found = self._so_far.get(job)
        return found and replace(found, notes=(*found.notes, note))

    def _ranks(self, case: Case, lacking: NotRun | None = None) -> tuple[Rank, ...]:
        left_out = lacking.patches if lacking else ()
        jobs = [job for job in self._of(case) if job.name not in left_out]
        results = tuple(self._results(jobs))
        if not results:
            return ()
        from pytest_brt.pipeline.ranking import rank_patches

        special = self._special.get(case.issue_id, {})
        return rank_patches(results, self.tests(case), special, is_whole=lacking is None)

    def _not_run(self, case: Case) -> NotRun | None:
        """Return the patches of a case that have no result though it was asked for, if any."""
        jobs = self._of(case)
        names = [job.name for job in jobs if not list(self._results([job]))]
        if not names:
            return None
        return NotRun(issue=case.issue_id, patches=tuple(names), of=len(jobs))

    def _of(self, case: Case) -> list[Job]:
        """Return the patches of a case that are, or were, to be run, in their order."""
        asked = [job for job in self.futures if job.patch and job.issue == case.issue_id]
        order = {patch.name: number for number, patch in enumerate(case.patches)}
        return sorted(asked, key=lambda job: order.get(job.name, len(order)))
