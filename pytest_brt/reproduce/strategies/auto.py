"""The order in which strategies are tried, and when it is enough.

Replay costs nothing and comes first. Then come samples, as long as they tell anything new, then the
way over passing tests, then the agent. It ends once a test *stands* (the model quotes what asks for
it) or counts.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import chain, repeat

from pytest_brt.errors import ModelProblem, OutOfTime
from pytest_brt.observe.functions_run import functions_run
from pytest_brt.project.index import Index
from pytest_brt.reproduce.order import select
from pytest_brt.reproduce.prompt import gather
from pytest_brt.reproduce.questions import Judge, with_opinion
from pytest_brt.reproduce.replay import attempt as replay
from pytest_brt.reproduce.strategies.agent import AUTO_AGENT, write_tests
from pytest_brt.reproduce.strategies.invert import invert
from pytest_brt.reproduce.strategies.libro import Libro, size_of
from pytest_brt.reproduce.strategy import KEEP, Workbench
from pytest_brt.types import Attempt, Issue, JudgedTest, Note, Trajectory

#: Samples at most, and of each batch; those without a failing test that are enough to stop, and
#: those after which some that fail alike are.
MOST, _BATCHES, _HOPELESS, _LEAST, _AGREE = 48, (4, 4, 8, 8, 16), 16, 8, 3
#: Tests of one strategy that the model is asked about, and runs of the agent.
_ASKED, _RUNS = 3, 3


class Auto:
    """Makes the tests of one report in the cheapest way that gives good ones."""

    def __init__(self, issue: Issue, number: int, bench: Workbench, index: Index) -> None:
        self.issue = issue
        self.bench = bench
        self.first = replay(issue, number, bench)
        self.tests = list(self.first.tests)
        self.notes = list(self.first.notes)
        self.trajectories: list[Trajectory] = []
        observed = bench.observed(issue)
        ran = functions_run(observed, index, bench.engine)
        self.findings = gather(issue, index, bench, observed, ran)
        self.judge = Judge(self.findings, bench.model)
        #: Why the model could not be asked, the last time.
        self.problem: ModelProblem | None = None

    def run(self) -> Attempt:
        """Try one strategy after the other.

        Raises:
            ModelProblem: replay found nothing, and the model could not be asked even once.
            SubjectProblem: the project's interpreter cannot be started.
        """
        bench = self.bench
        bench.found(self._so_far())
        self._ask_about_tests()
        ways = {"libro": self._libro, "invert": self._invert, "agent": self._agent}
        late = []
        for name, way in ways.items():
            if self._is_enough():
                break
            bench.say(f"trying {name}")
            try:
                way()
            except OutOfTime:
                late.append(name)
            except ModelProblem as problem:
                self.problem = problem
                self._note("model-failed", f"{name}: {problem}")
            self._ask_about_tests()
        if self.problem is not None and not bench.model.usage.is_answered:
            if not self.tests:
                raise self.problem
            self._note("without-model", f"without the model: {self.problem}")
        if late:
            self._note("not-tried", f"more time (--brt-budget) would add: {', '.join(late)}")
        return self._so_far()

    def _so_far(self) -> Attempt:
        return replace(
            self.first,
            strategy="auto",
            tests=select(self.tests, KEEP),
            settled=() if self._candidates() else self.first.settled,
            notes=tuple(dict.fromkeys(self.notes)),
            trajectories=tuple(self.trajectories),
        )

    def _take(self, made: Attempt) -> None:
        self.tests += made.tests
        self.trajectories += made.trajectories
        self.notes += [replace(one, text=f"{made.strategy}: {one.text}") for one in made.notes]
        self.bench.found(self._so_far())

    def _note(self, code: str, text: str) -> None:
        self.notes.append(Note(code=code, text=text))

    def _replace(self, item: JudgedTest, new: JudgedTest) -> None:
        self.tests[self.tests.index(item)] = new

    # -- what the model says --

    def _ask_about_tests(self) -> None:
        """Ask about the likeliest new tests, the shortest of equals, until one stands."""
        new = [item for item in self._candidates() if self.judge.known(item) is None]
        new.sort(key=lambda i: (-i.judgement.confidence, len(i.test.source or "")))
        for item in new[:_ASKED]:
            if self.bench.over or any(map(self._says, self._candidates())):
                return
            self.bench.say(f"asking for an opinion of {item.test.name}")
            try:
                opinion = self.judge.opinion(item)
            except OutOfTime:
                return
            except ModelProblem as problem:
                self.problem = problem
                self._note("model-failed", str(problem))
                return
            self._replace(item, with_opinion(item, opinion))

    def _says(self, item: JudgedTest) -> bool | None:
        opinion = self.judge.known(item)
        return opinion.right if opinion else None

    def _candidates(self) -> list[JudgedTest]:
        return [item for item in self.tests if item.judgement.candidate]

    def _is_enough(self) -> bool:
        """Say whether a test stands, or counts and is not held for wrong."""
        says = [(item, self._says(item)) for item in self._candidates()]
        return any(said or (item.judgement.counts and said is None) for item, said in says)

    # -- the strategies --

    def _libro(self) -> None:
        """Draw samples, batch by batch, until some fail alike or none seems to."""
        bench = self.bench
        work = Libro(bench, self.findings, 0, bench.facts(self.issue), in_auto=True)
        most = bench.samples or MOST
        try:
            for size in chain(_BATCHES, repeat(_BATCHES[-1])):
                work.draw(min(size, most - work.samples))
                leading, drawn = max(map(size_of, work.clusters()), default=0), work.samples
                is_agreed = leading >= _AGREE and drawn >= _LEAST
                is_hopeless = not leading and drawn >= _HOPELESS
                if is_agreed or is_hopeless or drawn >= most or bench.over:
                    break
        finally:
            notes = (work.outcome(),) if work.samples else ()
            made = Attempt(
                issue=self.issue.id, strategy="libro", index=0, tests=work.tests(), notes=notes
            )
            self._take(made)

    def _invert(self) -> None:
        self._take(invert(0, self.bench, self.findings))

    def _agent(self) -> None:
        for number in range(_RUNS):
            made = write_tests(AUTO_AGENT, number, self.bench, self.findings)
            self._take(replace(made, strategy="agent"))
            if any(item.judgement.candidate for item in made.tests) or self.bench.over:
                return
