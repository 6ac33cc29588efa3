"""The repairs of one invocation: what those of an issue share, made once, and each run of one."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from threading import Lock

from pytest_brt.agents.choose import choose_brt
from pytest_brt.agents.loop import Agent
from pytest_brt.agents.repairing import run_repair
from pytest_brt.agents.trials import RepairWork
from pytest_brt.errors import ModelProblem, OutOfTime
from pytest_brt.guard import Guard, Touched, touched_by
from pytest_brt.localise.ochiai import rank_lines
from pytest_brt.localise.suspects import Function, find_suspects, given_places
from pytest_brt.model.model import Model
from pytest_brt.observe.functions_run import functions_run
from pytest_brt.project.index import Index, open_index
from pytest_brt.project.layout import is_test_path
from pytest_brt.rank.guarding import hints_of
from pytest_brt.reproduce.prompt import gather
from pytest_brt.reproduce.questions import Judge
from pytest_brt.reproduce.strategy import Workbench, seed_of
from pytest_brt.sandbox.placing import Test
from pytest_brt.types import (
    Attempt,
    FileChange,
    Guarded,
    Issue,
    JudgedTest,
    Localised,
    Repair,
    TestRun,
    Verdict,
)

#: Seconds that existing tests may take on one fix, unless the user wants less; that the whole suite
#: may take where an agent asks for it, and that watching lines may.
_GUARD, _SUITE, _WATCHING = 3.0, 120.0, 30.0
#: Existing tests that are watched beside the failing ones, places near which they are looked for,
#: and lines that are told.
_NEARBY, _FIRST, _LINES = 60, 6, 8


@dataclass(frozen=True, slots=True, kw_only=True)
class RepairPlan:
    """What is to be repaired, and how."""

    #: Ids of issues.
    issues: frozenset[str]
    #: In the order in which they are tried.
    strategies: Mapping[str, Agent]
    #: Places that the user names, as in PATH:FIRST-LAST.
    given: tuple[str, ...] = ()
    #: Seconds for existing tests in all; 0 is none, None leaves it to us.
    guard: float | None = None
    #: Folder to keep the project's index in; None for memory.
    cache: Path | None = None
    #: Fixes that are tried at a time.
    jobs: int = 2


class Repairing:
    """Carries out repairs and localisations; safe to call from many threads."""

    def __init__(self, plan: RepairPlan, workbench: Workbench, guard: Guard) -> None:
        self.plan = plan
        self._workbench = workbench
        self._guard = guard
        self._lock = Lock()
        self._index: Index | None = None
        #: What a model said of the tests of each issue; it is asked by one thread at a time.
        self._judges: dict[str, Judge] = {}
        self._asking = Lock()

    def repair(
        self,
        issue: Issue,
        strategy: str,
        index: int,
        *,
        attempts: Sequence[Attempt],
        given: Sequence[JudgedTest],
        deadline: float,
    ) -> Repair:
        """Carry out the run `index` of one strategy; no model is asked after `deadline`.

        Raises:
            ModelProblem: the model could not be asked even once.
            SubjectProblem: the project's interpreter cannot be started.
        """
        begin = time.perf_counter()
        bench, agent = self._workbench, self.plan.strategies[strategy]
        agent = replace(agent, steps=bench.steps or agent.steps)
        usage = bench.model.usage.part(deadline)
        model = bench.model.paid_by(usage, asks_again=agent.asks_again)
        editor = bench.editor or bench.model
        work = self._work(issue, agent, [*given, *(t for one in attempts for t in one.tests)])
        work.model, work.editor = model, editor.paid_by(usage, asks_again=agent.asks_again)
        work.seed = seed_of(issue.id, strategy, index, bench.seed)
        work.say = lambda text: bench.say(f"{strategy}-{index:02}: {text}")
        try:
            if agent.is_given and index % 2 == 0:
                # One test is drawn for a bug, and all its runs are given it (paper 001, 5.2.2).
                drawn = seed_of(issue.id, strategy, bench.seed)
                work.given = self._choose(issue, model, attempts, given, drawn)
            done = run_repair(agent, index, work)
        except OutOfTime as over:
            note = str(over)
            done = Repair(issue=issue.id, strategy=strategy, index=index, fixes=(), notes=(note,))
        done = replace(done, strategy=strategy)
        return replace(done, cost=usage.cost, seconds=time.perf_counter() - begin)

    def _work(self, issue: Issue, agent: Agent, tests: Sequence[JudgedTest]) -> RepairWork:
        """Return what a run of a repair works with."""
        index, engine, guard = self._open(), self._workbench.engine, self._guard
        candidates = [judged for judged in tests if judged.judgement.candidate]
        failing = tuple(sorted(candidates, key=lambda judged: -judged.judgement.confidence))
        hints = hints_of(failing)
        allowance = _GUARD if self.plan.guard is None else min(self.plan.guard, _GUARD)

        def check(changes: tuple[FileChange, ...]) -> Guarded | None:
            if allowance <= 0:
                return None
            touched = touched_by(changes, guard.root)
            return guard.check(changes, touched, allowance=allowance, hints=hints)

        def run_suite() -> Sequence[TestRun]:
            targets = tuple(Test(id=path, path=path) for path in guard.files.texts)
            return engine.run(targets, seconds=_SUITE) if targets else ()

        given = self.plan.given
        places = given_places(given, index) if given else ()
        return RepairWork(
            issue=issue,
            index=index,
            model=self._workbench.model,
            editor=self._workbench.model,
            engine=engine,
            failing=failing,
            check=check,
            jobs=self.plan.jobs,
            places=places or find_suspects(issue, index, ran=self._ran(issue)),
            is_place_given=bool(places),
            suspect_lines=cache(lambda: tuple(self._suspect_lines(issue, failing))),
            run_suite=run_suite,
            ends_early=agent.ends_early,
        )

    def _suspect_lines(self, issue: Issue, failing: Sequence[JudgedTest]) -> Iterator[str]:
        """Yield lines by Ochiai's score over failing tests and passing ones near the places."""
        if not failing:
            return
        index, engine = self._open(), self._workbench.engine
        first = find_suspects(issue, index, limit=_FIRST)
        paths = tuple(sorted({place.path for place in first}))
        names = frozenset(name for place in first for name in place.function.split(".") if name)
        touched = Touched(files=paths, names=names)
        near = self._guard.near(touched, _NEARBY) if first else ()
        own = [Test.of(judged.test) for judged in failing]
        files = tuple(sorted(path for path in index.layout.files if not is_test_path(path)))
        runs = engine.run((*own, *near), watch=files, seconds=_WATCHING)
        ids = {target.id for target in own}
        bad = [run for run in runs if run.verdict is Verdict.FAIL and run.test in ids]
        lines = rank_lines(bad, [run for run in runs if run.verdict is Verdict.PASS])[:_LINES]
        if lines:
            yield "Lines by Ochiai's score, of what failing and passing tests run:"
        yield from (f"- {path}:{line} {score:.2f}" for (path, line), score in lines)

    def _choose(
        self,
        issue: Issue,
        model: Model,
        attempts: Sequence[Attempt],
        given: Sequence[JudgedTest],
        seed: int,
    ) -> JudgedTest | None:
        known = {test.test.id for one in attempts if one.strategy == "auto" for test in one.tests}

        def says(judged: JudgedTest) -> bool | None:
            if judged.test.id in known:  # of its own tests `auto` has asked the model
                return judged.judgement.counts
            with self._asking:
                if issue.id not in self._judges:
                    self._judges[issue.id] = Judge(
                        gather(issue, self._open(), self._workbench), model
                    )
                with suppress(ModelProblem):
                    return self._judges[issue.id].opinion(judged).right
                return None

        return choose_brt(attempts, given, seed, says)

    def localise(self, issue: Issue) -> Localised:
        """Return where the bug may be, by the report and what its code runs.

        Raises:
            SubjectProblem: the project's interpreter cannot be started.
        """
        places = find_suspects(issue, self._open(), ran=self._ran(issue))
        return Localised(issue=issue.id, places=places)

    def _ran(self, issue: Issue) -> frozenset[Function]:
        """Return the functions that a report's code runs."""
        bench = self._workbench
        return functions_run(bench.observed(issue), self._open(), bench.engine)

    def close(self) -> None:
        """Close the index."""
        with self._lock:
            if self._index is not None:
                self._index.close()

    def _open(self) -> Index:
        with self._lock:
            if self._index is None:
                root = Path(self._workbench.engine.subject.root)
                self._index = open_index(root, self.plan.cache)
            return self._index
