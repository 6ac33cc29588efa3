"""The repairs of one invocation: what those of an issue share, made once, and each run of one."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from pytest_brt.agents.loop import Agent
from pytest_brt.agents.repairing import run_repair
from pytest_brt.agents.trials import RepairWork
from pytest_brt.errors import OutOfTime
from pytest_brt.guard import Guard, Touched, touched_by
from pytest_brt.localise.ochiai import rank_lines
from pytest_brt.localise.suspects import given_places
from pytest_brt.model.request import Usage
from pytest_brt.once import Once
from pytest_brt.pipeline.places import likely_places
from pytest_brt.pipeline.plan import Plan
from pytest_brt.project.index import open_index
from pytest_brt.project.layout import is_test_path
from pytest_brt.reproduce.strategy import Workbench, seed_of
from pytest_brt.sandbox.placing import Test
from pytest_brt.types import (
    Attempt,
    FileChange,
    Guarded,
    JudgedTest,
    Repair,
    TestRun,
    Verdict,
)

#: Seconds that the whole suite may take where an agent asks for it, and that watching lines may.
_SUITE, _WATCHING = 120.0, 30.0
#: Files of existing tests that are watched beside the failing ones, places near which they are
#: looked for, and lines that are told.
_NEARBY, _FIRST, _LINES = 8, 6, 8


class Repairing:
    """Carries out the repairs of a report; safe to call from many threads."""

    def __init__(
        self,
        plan: Plan,
        bench: Workbench,
        guard: Guard,
        attempts: Sequence[Attempt],
        given: Sequence[JudgedTest],
    ) -> None:
        """Look for the places where the bug may be; close it when done.

        Raises:
            SubjectProblem: the project's interpreter cannot be started.
        """
        issue = next(issue for issue in plan.issues if issue.id == plan.ranked)
        self._plan, self._issue, self._bench, self._guard = plan, issue, bench, guard
        self._index = open_index(Path(bench.engine.subject.root), bench.cache)
        self.close = self._index.close
        tests = (*given, *(judged for attempt in attempts for judged in attempt.tests))
        candidates = (judged for judged in tests if judged.judgement.candidate)
        self._failing = tuple(sorted(candidates, key=lambda j: -j.judgement.confidence))
        self._named = given_places(plan.places, self._index) if plan.places else ()
        self._places = self._named or likely_places(issue, bench, self._index)
        #: The lines to suspect.
        self._shared: Once[str, Any] = Once()

    def repair(self, strategy: str, index: int) -> Repair:
        """Carry out one run of a strategy; no model is asked after the deadline.

        Raises:
            ModelProblem: the model could not be asked even once.
            SubjectProblem: the project's interpreter cannot be started.
        """
        begin, bench, issue = time.perf_counter(), self._bench, self._issue
        agent = self._plan.agents[strategy]
        agent = replace(agent, steps=bench.steps or agent.steps)
        usage = bench.model.usage.part(bench.deadline)
        work = self._work(usage, agent)
        work.seed = seed_of(issue.id, strategy, index, bench.seed)
        work.say = lambda text: bench.say(f"{strategy}-{index:02}: {text}")
        try:
            if agent.is_given and index % 2 == 0:
                # All these runs are given the same test, the likeliest (paper 001, 5.2.2).
                work.given = next(iter(self._failing), None)
            done = run_repair(agent, index, work)
        except OutOfTime as over:
            note = str(over)
            done = Repair(issue=issue.id, strategy=strategy, index=index, fixes=(), notes=(note,))
        seconds = time.perf_counter() - begin
        return replace(done, strategy=strategy, cost=usage.cost, seconds=seconds)

    def _work(self, usage: Usage, agent: Agent) -> RepairWork:
        """Return what a run of a repair works with."""
        engine, guard, bench = self._bench.engine, self._guard, self._bench

        def check(changes: tuple[FileChange, ...]) -> Guarded | None:
            return (
                None
                if self._plan.guard == 0
                else guard.check(changes, touched_by(changes, guard.root))
            )

        def run_suite() -> Sequence[TestRun]:
            targets = tuple(Test(id=path, path=path) for path in guard.files.texts)
            return engine.run(targets, seconds=_SUITE) if targets else ()

        return RepairWork(
            issue=self._issue,
            index=self._index,
            model=bench.model.paid_by(usage, asks_again=agent.asks_again),
            editor=(bench.editor or bench.model).paid_by(usage, asks_again=agent.asks_again),
            engine=engine,
            failing=self._failing,
            check=check,
            jobs=self._plan.jobs,
            places=self._places,
            is_place_given=bool(self._named),
            suspect_lines=lambda: self._shared.get("", lambda: tuple(self._suspect_lines())),
            run_suite=run_suite,
            ends_early=agent.ends_early,
        )

    def _suspect_lines(self) -> Iterator[str]:
        """Yield lines by Ochiai's score over failing tests and passing ones near the places."""
        own = [Test.of(judged.test) for judged in self._failing]
        if not own:
            return
        first = self._places[:_FIRST]
        paths = tuple(sorted({place.path for place in first}))
        names = frozenset(name for place in first for name in place.function.split(".") if name)
        tests = self._guard.files.nearest([Touched(files=paths, names=names)]) if first else ()
        near = [Test(id=path, path=path) for path in tests[:_NEARBY]]
        files = [path for path in sorted(self._index.layout.files) if not is_test_path(path)]
        runs = self._bench.engine.run((*own, *near), watch=tuple(files), seconds=_WATCHING)
        ids = {target.id for target in own}
        bad = [run for run in runs if run.verdict is Verdict.FAIL and run.test in ids]
        lines = rank_lines(bad, [run for run in runs if run.verdict is Verdict.PASS])[:_LINES]
        if lines:
            yield "Lines by Ochiai's score, of what failing and passing tests run:"
        yield from (f"- {path}:{line} {score:.2f}" for (path, line), score in lines)
