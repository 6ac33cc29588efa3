"""The repairs of a report: what they share, made once, and each run of one."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from math import sqrt

from pytest_brt.agents.loop import Agent, run_agent
from pytest_brt.agents.specs import repair_values
from pytest_brt.agents.trials import RepairWork, Trial
from pytest_brt.errors import OutOfTime
from pytest_brt.guard import Guard, Touched, touched_by
from pytest_brt.model.request import Usage
from pytest_brt.pipeline import Job, Plan
from pytest_brt.project.index import Index
from pytest_brt.project.layout import is_test_path
from pytest_brt.reproduce.strategy import Workbench, seed_of
from pytest_brt.sandbox.placing import Test
from pytest_brt.store import Once
from pytest_brt.types import (
    FileChange,
    FixSource,
    Guarded,
    Issue,
    JudgedTest,
    Place,
    Repair,
    TestRun,
    Verdict,
)

#: Seconds that the whole suite may take where an agent asks for it, and that watching lines may.
_SUITE, _WATCHING = 120.0, 30.0
#: Files of existing tests that are watched beside the failing ones, places near which they are
#: looked for, and lines that are told.
_NEARBY, _FIRST, _LINES = 8, 6, 8
_NO_TEST = (
    "no test fails because of the bug, so no fix can be judged (give one with --brt-tests PATH, or "
    "take --brt-strategy auto)"
)


@dataclass(frozen=True, kw_only=True)
class Repairing:
    """Carries out the repairs of a report; safe to call from many threads."""

    plan: Plan
    issue: Issue
    bench: Workbench
    guard: Guard
    index: Index
    #: Where the bug may be.
    places: tuple[Place, ...]
    #: Tests that fail because of it, the most trusted first.
    failing: tuple[JudgedTest, ...]
    _lines: Once[str, Sequence[str]] = field(default_factory=Once)

    def repair(self, job: Job) -> Repair:
        """Carry out one run of a strategy; no model is asked after the deadline.

        Runs after the first are drawn more freely.

        Raises:
            ModelProblem: the model could not be asked even once.
            SubjectProblem: the project's interpreter cannot be started.
        """
        begin, bench, agent = time.perf_counter(), self.bench, self.plan.agents[job.strategy]
        temperature = agent.temperature or (0.6 if job.index else 0.0)
        agent = replace(agent, steps=bench.steps or agent.steps, temperature=temperature)
        usage = bench.model.usage.part(bench.deadline)
        work, trajectory = self._work(job, agent, usage), None
        reason = _NO_TEST if agent.states and not work.failing else ""
        try:
            if not reason:
                opening = agent.opening(repair_values(work, work.model.context))
                trajectory = run_agent(agent, work, opening)
                reason = trajectory.reason
        except OutOfTime as over:
            reason = str(over)
        if work.changes:
            work.try_fixes([work.changes])
        fixes = [one.fix for one in work.tried.values() if _is_shown(one)]
        shown = [work.given] if work.given else work.failing[: not agent.is_given]
        tried = "no fix that was tried passes the tests" if work.tried else "no fix was tried"
        return Repair(
            issue=job.issue,
            strategy=job.strategy,
            index=job.index,
            fixes=tuple(sorted(fixes, key=lambda fix: fix.broken)),
            brt=shown[0].test.name if shown else "",
            notes=() if fixes else (reason or tried,),
            trajectory=trajectory,
            cost=usage.cost,
            seconds=time.perf_counter() - begin,
        )

    def _work(self, job: Job, agent: Agent, usage: Usage) -> RepairWork:
        """Return what a run of a repair works with."""
        guard, bench = self.guard, self.bench
        # All such runs are given the same test, the likeliest (paper 001, 5.2.2).
        is_given = agent.is_given and job.index % 2 == 0
        given = next(iter(self.failing), None) if is_given else None
        source = given.test.source if given else None
        return RepairWork(
            issue=self.issue,
            index=self.index,
            model=bench.model.paid_by(usage, asks_again=agent.asks_again),
            editor=(bench.editor or bench.model).paid_by(usage, asks_again=agent.asks_again),
            seed=seed_of(job.issue, job.strategy, job.index, bench.seed),
            say=lambda text: bench.say(f"{job.strategy}-{job.index:02}: {text}"),
            changed={given.test.path: source.encode()} if given and source else {},
            engine=bench.engine,
            failing=self.failing,
            given=given,
            check=self._check,
            jobs=self.plan.jobs,
            places=self.places,
            is_place_given=bool(self.plan.places),
            suspect_lines=lambda: self._lines.get("", self._suspect_lines),
            run_suite=lambda: bench.engine.run(
                [Test(id=path, path=path) for path in guard.files.texts], seconds=_SUITE
            ),
            ends_early=agent.ends_early,
        )

    def _check(self, changes: tuple[FileChange, ...]) -> Guarded | None:
        """Run existing tests on a fix; None where none are wanted."""
        if self.plan.guard == 0:
            return None
        return self.guard.check(changes, touched_by(changes, self.guard.root))

    def _suspect_lines(self) -> Sequence[str]:
        """Return the lines that failing tests run, by Ochiai's score (Abreu et al. 2006).

        It is e_f / √((e_f + n_f)(e_f + e_p)) of the failing tests that run the line (e_f) or do not
        (n_f), and the passing ones near the likeliest places that do (e_p).
        """
        own, first = [Test.of(judged.test) for judged in self.failing], self.places[:_FIRST]
        if not own:
            return ()
        names = frozenset(name for place in first for name in place.function.split(".") if name)
        places = Touched(files=tuple(sorted({place.path for place in first})), names=names)
        near = [Test(id=path, path=path) for path in self.guard.files.nearest([places])[:_NEARBY]]
        files = [path for path in sorted(self.index.layout.files) if not is_test_path(path)]
        runs = self.bench.engine.run((*own, *near), watch=tuple(files), seconds=_WATCHING)
        ids = {test.id for test in own}
        failed = [run for run in runs if run.verdict is Verdict.FAIL and run.test in ids]
        passed = [run for run in runs if run.verdict is Verdict.PASS]
        in_failed = Counter(line for run in failed for line in _lines(run))
        in_passed = Counter(line for run in passed for line in _lines(run))
        scores = {
            line: count / sqrt(len(failed) * (count + in_passed[line]))
            for line, count in in_failed.items()
        }
        best = sorted(scores, key=lambda line: (-scores[line], line))[:_LINES]
        shown = [f"- {path}:{line} {scores[path, line]:.2f}" for path, line in best]
        return ["Lines by Ochiai's score, of what failing and passing tests run:", *shown]


def _lines(run: TestRun) -> Iterator[tuple[str, int]]:
    """Yield the lines that a test ran."""
    for path, mask in run.ran:
        bits = int(mask, 16)
        yield from ((path, line) for line in range(bits.bit_length()) if bits >> line & 1)


def _is_shown(trial: Trial) -> bool:
    """Whether a person is shown a fix: one that the agent wrote itself may break other tests."""
    is_own = trial.passes and bool(trial.fix.passed) and trial.fix.source is FixSource.AGENT
    return trial.stands or is_own
