"""The order in which strategies are tried, and when it is enough.

Replay costs nothing and comes first. Then come samples, as long as they tell anything new, then the
way over passing tests, then the agent. It ends once a test *stands* (the model quotes what asks for
it, and it passes on the other fix that the model names) or counts.
"""

from __future__ import annotations

import math
import time
from dataclasses import replace
from itertools import chain, repeat

from pytest_brt.errors import ModelProblem, OutOfTime, Overflowed
from pytest_brt.observe.functions_run import functions_run
from pytest_brt.project.index import Index
from pytest_brt.reproduce.order import select
from pytest_brt.reproduce.prompt import gather, with_places
from pytest_brt.reproduce.questions import Judge, Opinion, claims_of, likeliest_places, with_opinion
from pytest_brt.reproduce.reduce import reduce_test
from pytest_brt.reproduce.replay import attempt as replay
from pytest_brt.reproduce.strategies.agent import AUTO_AGENT, write_tests
from pytest_brt.reproduce.strategies.invert import inverted
from pytest_brt.reproduce.strategies.libro import Libro
from pytest_brt.reproduce.strategy import KEEP, Workbench
from pytest_brt.types import Attempt, Issue, JudgedTest, Note, OracleKind, Trajectory

#: Samples at most, and of each batch; those without a failing test that are enough to stop, and
#: those after which some that fail alike are.
MOST, _BATCHES, _HOPELESS, _LEAST, _AGREE = 48, (4, 4, 8, 8, 16), 16, 8, 3
#: Share of the time that is left that one strategy may use up, so that the next has some too.
_SHARE = 0.5
#: Tests of one strategy that the model is asked about, runs of the agent, tests it is told of.
_ASKED, _RUNS, _REFUSED = 3, 3, 5


def auto(issue: Issue, number: int, bench: Workbench, index: Index) -> Attempt:
    """Make the tests of one report in the cheapest way that gives good ones.

    Raises:
        ModelProblem: replay found nothing, and the model could not be asked even once.
        SubjectProblem: the project's interpreter cannot be started.
    """
    return _Auto(issue, number, bench, index).run()


class _Auto:
    """One attempt; it collects what the strategies find."""

    def __init__(self, issue: Issue, number: int, bench: Workbench, index: Index) -> None:
        self.issue = issue
        self.number = number
        self.bench = bench
        self.facts = bench.facts(issue)
        self.first = replay(issue, number, bench)
        self.tests: list[JudgedTest] = []
        self.notes: list[Note] = []
        self.trajectories: list[Trajectory] = []
        self.late: list[str] = []
        #: Why the model could not be asked.
        self.problem: ModelProblem | None = None
        observed = bench.observed(issue)
        ran = functions_run(observed, index, bench.engine)
        self.findings = gather(issue, index, bench, observed, ran)
        self.judge = Judge(self.findings, self.facts, bench.model)

    def run(self) -> Attempt:
        self._take("replay", self.first)
        self._ask_about_tests()
        if not self._is_enough() and not self.bench.over:
            self._find_places()
        ways = {"libro": self._libro, "invert": self._invert, "agent": self._agent}
        for name, way in ways.items():
            if self._is_enough():
                break
            bench = self._with_share(name == "agent")
            try:
                if bench.over:
                    raise OutOfTime("the time is used up")
                bench.say(f"trying {name}")
                way(bench)
            except OutOfTime:
                self.late.append(name)
            except ModelProblem as problem:
                self._fail(problem, name)
            self._ask_about_tests()
        if self.problem is not None and not self.bench.model.usage.is_answered:
            if not self.tests:
                raise self.problem
            text = f"without the model: {self.problem}"
            self.notes.append(Note(code="without-model", text=text))
        if self.late:
            text = f"more time (--brt-budget) would add: {', '.join(self.late)}"
            self.notes.append(Note(code="not-tried", text=text))
        self._reduce()
        return self._result()

    def _reduce(self) -> None:
        """Cut what the best do not need; the model was asked about all of them by now."""
        best = sorted(self._candidates(), key=lambda item: -item.judgement.confidence)
        for item in best[:KEEP]:
            if item.test.oracle.kind is OracleKind.WRITTEN:
                small = reduce_test(item, self.bench.engine, self.bench.repeat)
                self._replace(item, small)

    def _result(self) -> Attempt:
        return Attempt(
            issue=self.issue.id,
            strategy="auto",
            index=self.number,
            tests=select(self.tests, KEEP),
            misses=self.first.misses,
            settled=() if self._candidates() else self.first.settled,
            notes=tuple(dict.fromkeys(self.notes)),
            trajectories=tuple(self.trajectories),
        )

    def _take(self, by: str, made: Attempt) -> None:
        self.tests += made.tests
        self.trajectories += made.trajectories
        self.notes += [replace(note, text=f"{by}: {note.text}") for note in made.notes]
        self.bench.found(self._result())

    def _replace(self, item: JudgedTest, new: JudgedTest) -> None:
        self.tests[self.tests.index(item)] = new

    def _fail(self, problem: ModelProblem, by: str = "") -> None:
        """Note why the model could not be asked; what did not fit, others may ask it."""
        if not isinstance(problem, OutOfTime | Overflowed) or by:
            self.problem = problem
            text = f"{by}: {problem}" if by else str(problem)
            self.notes.append(Note(code="model-failed", text=text))

    # -- what the model says --

    def _find_places(self) -> None:
        """Let the model say which places are the likeliest, and show a test that may be right."""
        good = [item for item in self._candidates() if self._says(item) is not False]
        findings = replace(self.findings, test=(good[0].test.source or "") if good else "")
        try:
            places = likeliest_places(findings, self.bench.model)
            seen = self.bench.observed(self.issue).observations
            findings = with_places(findings, places, self.bench, seen)
        except ModelProblem as problem:
            self._fail(problem)
        self.findings = self.judge.findings = findings

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
            except ModelProblem as problem:
                self._fail(problem)
                return
            self._replace(item, with_opinion(item, opinion, self.facts))

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

    def _with_share(self, is_last: bool) -> Workbench:
        """Return the workbench for one strategy, which may not use up all of the time."""
        bench = self.bench
        if is_last or math.isinf(bench.deadline):
            return bench
        deadline = time.monotonic() + (bench.deadline - time.monotonic()) * _SHARE
        model = bench.model.paid_by(bench.model.usage.part(deadline))
        return replace(bench, model=model, deadline=deadline)

    def _libro(self, bench: Workbench) -> None:
        """Draw samples, batch by batch, until some fail alike or none seems to."""
        work = Libro(bench, self.findings, in_auto=True)
        most = bench.samples or MOST
        try:
            for size in chain(_BATCHES, repeat(_BATCHES[-1])):
                work.draw(min(size, most - work.samples))
                leading, drawn = work.leading(), work.samples
                is_agreed = leading >= _AGREE and drawn >= _LEAST
                is_hopeless = not leading and drawn >= _HOPELESS
                if is_agreed or is_hopeless or drawn >= most or bench.over:
                    break
        finally:
            notes = [*work.notes, *([work.outcome()] if work.samples else [])]
            made = Attempt(
                issue=self.issue.id, strategy="libro", index=0, tests=work.tests(), notes=(*notes,)
            )
            self._take("libro", made)

    def _invert(self, bench: Workbench) -> None:
        self._take("invert", inverted(0, bench, self.findings))

    def _agent(self, bench: Workbench) -> None:
        for number in range(_RUNS):
            if bench.over:
                return
            made = write_tests(AUTO_AGENT, number, bench, self.findings, self._refused())
            self._take("agent", made)
            if any(item.judgement.candidate for item in made.tests):
                return

    def _refused(self) -> list[str]:
        """Return what other tests demand and why they were not accepted, a line each."""
        lines: dict[str, None] = {}
        for item in self.tests:
            opinion = self.judge.known(item) or Opinion(None, item.judgement.reason)
            if not item.judgement.candidate or opinion.right is False:
                claims, _ = claims_of(item.test.source or "", 0)
                line = f"`{(*claims, item.test.name)[0]}`: {opinion.reason}"
                lines[" ".join(line.split())[:200]] = None
        return list(lines)[:_REFUSED]
