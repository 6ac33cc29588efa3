"""The repairs of one invocation: what those of an issue share, made once, and each run of one."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from threading import Lock

from pytest_brt.code.index import Index, open_index
from pytest_brt.codec import content_id
from pytest_brt.errors import ModelProblem, OutOfTime
from pytest_brt.guard import Guard
from pytest_brt.localise.places import find_places
from pytest_brt.localise.sign import Key
from pytest_brt.model.base import Model
from pytest_brt.model.kept import asked_anew
from pytest_brt.model.metered import Meter, MeteredModel
from pytest_brt.observe.functions_run import functions_run
from pytest_brt.oracle.facts import read_facts
from pytest_brt.rank.guarding import hints_of
from pytest_brt.repair.bench import RepairBench
from pytest_brt.repair.bug import Bug, guard_check, make_bug, trusted
from pytest_brt.repair.choose_brt import choose_brt
from pytest_brt.repair.strategy import RepairStrategy
from pytest_brt.reproduce.opinion import Opinions
from pytest_brt.reproduce.prompting.context import gather_hints
from pytest_brt.reproduce.prompting.fit import Brief
from pytest_brt.reproduce.strategy import Workbench
from pytest_brt.types import Attempt, Issue, JudgedTest, Localised, Repair

#: Seconds that existing tests may take on one fix, unless the user wants less.
_GUARD = 3.0


@dataclass(frozen=True, slots=True, kw_only=True)
class RepairPlan:
    """What is to be repaired, and how."""

    #: Ids of issues.
    issues: frozenset[str]
    #: In the order in which they are tried.
    strategies: Mapping[str, RepairStrategy]
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
        self._bugs: dict[str, Bug] = {}
        #: What a model said of the tests of each issue; it is asked by one thread at a time.
        self._opinions: dict[str, Opinions] = {}
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
        bench = self._workbench
        meter = Meter(bench.meter)

        def paid(model: Model) -> MeteredModel:
            return MeteredModel(asked_anew(model, strategy), meter, deadline)

        bug = self._bug(issue, attempts, given)
        seed = int(content_id(issue.id, strategy, str(index), str(bench.seed)), 16) % 2**31
        way = self.plan.strategies[strategy]
        repairing = replace(
            self._repairing(bug, seed, deadline),
            model=paid(bench.model),
            editor=None if bench.editor is None else paid(bench.editor),
            say=lambda text: bench.say(f"{strategy}-{index:02}: {text}"),
        )
        try:
            if way.alternates and index % 2 == 0:
                # One test is drawn for a bug, and all its runs are given it (paper 001, 5.2.2).
                drawn = int(content_id(issue.id, strategy, str(bench.seed)), 16) % 2**31
                brt = self._choose(repairing, attempts, given, drawn)
                repairing = replace(repairing, brt=brt)
            done = way.attempt(index, repairing)
        except OutOfTime as over:
            done = Repair(
                issue=issue.id, strategy=strategy, index=index, fixes=(), notes=(str(over),)
            )
        return replace(done, cost=meter.cost, seconds=time.perf_counter() - begin)

    def _repairing(self, bug: Bug, seed: int, deadline: float) -> RepairBench:
        return RepairBench(
            bug=bug,
            model=self._workbench.model,
            steps=self._workbench.steps,
            seed=seed,
            deadline=deadline,
            journal=self._workbench.journal,
        )

    def _choose(
        self,
        bench: RepairBench,
        attempts: Sequence[Attempt],
        given: Sequence[JudgedTest],
        seed: int,
    ) -> JudgedTest | None:
        known = {test.test.id for one in attempts if one.strategy == "auto" for test in one.tests}

        def says(judged: JudgedTest) -> bool | None:
            # Of its own tests `auto` has asked the model: those that it holds for right count.
            own = judged.test.id in known
            return judged.judgement.counts if own else self._says(bench, judged)

        return choose_brt(attempts, given, seed, says)

    def _says(self, bench: RepairBench, judged: JudgedTest) -> bool | None:
        """Return whether the model holds a failing test for right; None where it cannot say."""
        with self._asking:
            bug, model = bench.bug, bench.model
            if bug.issue.id not in self._opinions:
                brief = Brief(
                    issue=bug.issue,
                    hints=gather_hints(bug.issue, bug.index),
                    prompts=bug.prompts,
                    model=model,
                    index=bug.index,
                )
                facts = read_facts(self._workbench.reading(bug.issue))
                self._opinions[bug.issue.id] = Opinions(brief, facts)
            opinions = self._opinions[bug.issue.id]
            try:
                return opinions.of(judged, lambda p: model.complete(p)[0].text).right
            except ModelProblem:
                return None

    def localise(self, issue: Issue) -> Localised:
        """Return where the bug may be, by the report and what its code runs.

        Raises:
            SubjectProblem: the project's interpreter cannot be started.
        """
        places = find_places(issue, self._open(), ran=self._ran(issue))
        return Localised(issue=issue.id, places=places)

    def _ran(self, issue: Issue) -> frozenset[Key]:
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

    def _bug(self, issue: Issue, attempts: Sequence[Attempt], given: Sequence[JudgedTest]) -> Bug:
        index = self._open()
        with self._lock:
            if issue.id not in self._bugs:
                failing = trusted((*given, *(t for one in attempts for t in one.tests)))
                hints, guard = hints_of(failing), self.plan.guard
                allowance = _GUARD if guard is None else min(guard, _GUARD)
                check = guard_check(self._guard, hints, allowance)
                self._bugs[issue.id] = make_bug(
                    issue,
                    engine=self._workbench.engine,
                    index=index,
                    failing=failing,
                    guard=self._guard,
                    check=check,
                    hints=hints,
                    prompts=self._workbench.prompts,
                    given=self.plan.given,
                    ran=lambda: self._ran(issue),
                    jobs=self.plan.jobs,
                )
            return self._bugs[issue.id]
