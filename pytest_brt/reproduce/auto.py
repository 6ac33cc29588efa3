"""The order in which strategies are tried, what each may use up, and when it is enough.

Replay costs nothing and comes first; what it found goes into every prompt, and the model is asked
whether it is right. Then come samples, as long as they tell anything new, then the way over
passing tests, then the agent. It ends once a test *stands* (the model quotes what asks for it, and
it passes on the other fix that the model names) or *counts* (see `Judgement.counts`).
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping
from dataclasses import replace

import msgspec

from pytest_brt.code.index import Index
from pytest_brt.errors import ModelProblem, OutOfTime
from pytest_brt.model.base import Prompt
from pytest_brt.model.metered import Meter, MeteredModel
from pytest_brt.oracle.facts import read_facts
from pytest_brt.reproduce.agent.run import free_agent
from pytest_brt.reproduce.agent.task import Found
from pytest_brt.reproduce.claims import first_claim
from pytest_brt.reproduce.invert import invert
from pytest_brt.reproduce.libro.pool import MOST, Sampled, agreement, next_batch, why_stop
from pytest_brt.reproduce.libro.run import Libro
from pytest_brt.reproduce.likeliest import likeliest_places
from pytest_brt.reproduce.model_tests.reduce import reduce_test
from pytest_brt.reproduce.opinion import Opinions, is_confirmed, with_opinion
from pytest_brt.reproduce.prompting.context import Hints, gather_hints, suspecting
from pytest_brt.reproduce.prompting.fit import Brief, PromptTooLong
from pytest_brt.reproduce.replay.run import attempt as replay
from pytest_brt.reproduce.select import select
from pytest_brt.reproduce.strategy import Workbench
from pytest_brt.types import (
    Attempt,
    AttemptNote,
    Issue,
    JudgedTest,
    Miss,
    OracleKind,
    Trajectory,
    Verdict,
)
from pytest_brt.types.attempt import (
    ModelFailed,
    NotAsked,
    NotTried,
    Question,
    SamplingStopped,
    StopReason,
    Untried,
    WithoutModel,
)

#: Share of the time that is left that one strategy may use up, so that the next has some too.
_SHARE = 0.5
#: Tests of one strategy that the model is asked about.
_OPINIONS = 3
#: Runs of the agent at most, and steps of each.
_RUNS, _STEPS = 3, 15
#: Tests that the agent is told of which were not accepted, and characters of what is told.
_REFUSED, _LINE = 5, 200

#: Tries a strategy: the workbench that it has.
Try = Callable[[Workbench], None]


def auto(issue: Issue, index: int, bench: Workbench, project: Index) -> Attempt:
    """Make the tests of one issue in the cheapest way that gives good ones.

    Raises:
        ModelProblem: replay found nothing, and the model could not be asked even once.
        SubjectProblem: the subject's interpreter cannot be started.
    """
    return _Auto(issue, index, bench, project).run()


class _Auto:
    """One attempt; it collects what the strategies find."""

    def __init__(self, issue: Issue, index: int, bench: Workbench, project: Index) -> None:
        self.issue = issue
        self.index = index
        self.bench = bench
        self.project = project
        self.facts = read_facts(bench.reading(issue))
        self.brief = self._brief(Hints())
        self.opinions = Opinions(self.brief, self.facts)
        self.tests: list[JudgedTest] = []
        self.misses: tuple[Miss, ...] = ()
        self.settled: tuple[JudgedTest, ...] = ()
        self.notes: list[AttemptNote] = []
        self.trajectories: list[Trajectory] = []
        #: Whether a model ever answered, and why it did not.
        self.answered = False
        self.problem: ModelProblem | None = None
        self.late: list[Untried] = []
        #: Ids of tests whose confidence has the model's word in it, or that it was not told of.
        self.heard: set[str] = set()

    def run(self) -> Attempt:
        first = replay(self.issue, self.index, self.bench)
        self.misses = first.misses
        self.settled = first.settled
        self._take("replay", first)
        strategies: Mapping[Untried, Try] = {
            Untried.LIBRO: self._libro,
            Untried.INVERT: self._invert,
            Untried.AGENT: self._agent,
        }
        if self.bench.over:
            self.late = [] if self._is_enough() else list(strategies)
        else:
            self._prepare(first)
            self._search(strategies)
        self._cut()
        if not self.tests and not self.answered and self.problem is not None:
            raise self.problem
        if self.late:
            self.notes.append(NotTried(what=tuple(self.late)))
        if not self.answered and self.problem is not None:
            self.notes.append(WithoutModel(said=str(self.problem)))
        return self._attempt()

    def _prepare(self, first: Attempt) -> None:
        """Find out what prompts need, and have replay's tests judged."""
        bench = self.bench
        hints = gather_hints(
            self.issue,
            self.project,
            bench.engine,
            buggy=bench.buggy,
            host=bench.host,
            replayed=bench.observed(self.issue),
            attempt=first,
        )
        self._use(hints)
        self._judge()
        if self._is_enough():
            return
        # What the model holds for wrong is no example.
        wrong = {item.test.source for item in self.tests if self._says(item) is False}
        tests = tuple(source for source in hints.tests if source not in wrong)
        self._use(replace(self._narrowed(hints), tests=tests))

    def _search(self, strategies: Mapping[Untried, Try]) -> None:
        for name, strategy in strategies.items():
            if self._is_enough():
                return
            if self.bench.over:
                self.late.append(name)
                continue
            self.bench.say(f"trying {name}")
            self._try(name, strategy)
            self._judge()

    def _use(self, hints: Hints) -> None:
        self.brief = self.opinions.brief = self._brief(hints)

    def _brief(self, hints: Hints) -> Brief:
        return Brief(
            issue=self.issue,
            hints=hints,
            prompts=self.bench.prompts,
            model=self.bench.model,
            index=self.project,
        )

    def _attempt(self) -> Attempt:
        return Attempt(
            issue=self.issue.id,
            strategy="auto",
            index=self.index,
            tests=select(self.tests, self.bench.keep),
            misses=self.misses,
            settled=() if self._candidates() else self.settled,
            notes=tuple(dict.fromkeys(self.notes)),
            trajectories=tuple(self.trajectories),
        )

    def _ask(self, prompt: Prompt) -> str:
        return self.bench.model.complete(prompt)[0].text

    def _narrowed(self, hints: Hints) -> Hints:
        """Let the model say which suspects are the likeliest, as far as it can be asked."""
        try:
            brief = self._brief(Hints())
            suspects = likeliest_places(hints.suspects, self.project, brief, self._ask)
        except (PromptTooLong, OutOfTime):
            return hints
        except ModelProblem as problem:
            self.problem = problem
            self.notes.append(NotAsked(question=Question.PLACE, said=str(problem)))
            return hints
        bench = self.bench
        return suspecting(hints, suspects, self.issue, self.project, bench.engine, host=bench.host)

    def _try(self, name: Untried, strategy: Try) -> None:
        """Let one strategy use its share of the time; its failure leaves others their chance."""
        bench = self.bench
        if name is not Untried.AGENT and not math.isinf(bench.deadline):
            deadline = time.monotonic() + (bench.deadline - time.monotonic()) * _SHARE
            model = MeteredModel(bench.model, Meter(), deadline)
            bench = replace(bench, model=model, deadline=deadline)
        try:
            strategy(bench)
            self.answered = True
        except OutOfTime:
            self.late.append(name)
        except ModelProblem as problem:
            self.problem = problem
            self.notes.append(ModelFailed(by=name, said=str(problem)))

    def _judge(self) -> None:
        """Ask the model of the likeliest new tests whether they are right, until one stands.

        What rules can say is said by then, also of replay's; `invert` asked of its own already.
        """
        new = [item for item in self._candidates() if item.test.id not in self.heard]
        new.sort(key=lambda item: -item.judgement.confidence)
        for item in new[:_OPINIONS]:
            if self.bench.over or self._stands():
                return
            self.bench.say(f"asking for an opinion of {item.test.name}")
            try:
                opinion = self.opinions.of(item, self._ask)
                self.answered = True
            except OutOfTime:
                return
            except ModelProblem as problem:
                self.problem = problem
                self.notes.append(NotAsked(question=Question.TESTS, said=str(problem)))
                return
            self.heard.add(item.test.id)
            agrees = is_confirmed(item, self.facts)
            self.tests[self.tests.index(item)] = with_opinion(item, opinion, agrees=agrees)

    def _is_enough(self) -> bool:
        """Say whether a test stands, or counts and is not held for wrong."""
        counting = [item for item in self._candidates() if item.judgement.counts]
        return self._stands() or any(self._says(item) is not False for item in counting)

    def _stands(self) -> bool:
        """Say whether the model holds a test for right."""
        return any(self._says(item) for item in self._candidates())

    def _says(self, item: JudgedTest) -> bool | None:
        opinion = self.opinions.known(item)
        return opinion.right if opinion else None

    def _candidates(self) -> list[JudgedTest]:
        return [item for item in self.tests if item.judgement.candidate]

    def _cut(self) -> None:
        """Cut what the best tests do not need; the model was asked about all of them by now."""
        best = sorted(self._candidates(), key=lambda item: -item.judgement.confidence)
        for item in best[: self.bench.keep]:
            if item.test.oracle.kind is OracleKind.WRITTEN:
                small = reduce_test(item, self.bench.engine, self.bench.repeat, self.facts)
                self.tests[self.tests.index(item)] = small

    def _take(self, by: str, made: Attempt) -> None:
        self.tests += made.tests
        self.trajectories += made.trajectories
        self.notes += [msgspec.structs.replace(note, by=by) for note in made.notes]
        self.bench.found(self._attempt())

    def _libro(self, bench: Workbench) -> None:
        """Draw samples, batch by batch, until more would not tell anything new."""
        most = bench.samples or MOST
        work = Libro(self.issue, 0, bench, self.project, told=self.brief.hints)
        history: list[Sampled] = []
        why: StopReason | None = None
        try:
            while why is None:
                work.draw(next_batch(history, most))
                self.answered = True
                leading = agreement(work.clusters())
                history.append(Sampled(samples=work.samples, leading=leading))
                why = why_stop(history, most)
                if why is None and work.bench.over:
                    why = StopReason.TIME
                    self.late.append(Untried.SAMPLES)
        except OutOfTime:
            self.late.append(Untried.SAMPLES)
        finally:
            stopped = []
            if why is not None:
                last = history[-1]
                stopped.append(SamplingStopped(why=why, samples=last.samples, alike=last.leading))
            made = Attempt(
                issue=self.issue.id,
                strategy="libro",
                index=0,
                tests=work.tests() if history else (),
                notes=(*stopped, *work.notes, *work.told()),
            )
            self._take("libro", made)

    def _invert(self, bench: Workbench) -> None:
        hints, opinions = self.brief.hints, self.opinions
        made = invert(self.issue, 0, bench, self.project, told=hints, opinions=opinions)
        self.heard |= {item.test.id for item in made.tests}
        self._take("invert", made)

    def _agent(self, bench: Workbench) -> None:
        found = Found(hints=self.brief.hints, best=self._best(), refused=self._refused())
        bench = replace(bench, steps=bench.steps or _STEPS)
        for number in range(_RUNS):
            if bench.over:
                self.late.append(Untried.RUNS)
                return
            made = free_agent(self.issue, number, bench, self.project, found)
            self._take("agent", made)
            if any(item.judgement.candidate for item in made.tests):
                return

    def _best(self) -> str:
        """Return the likeliest test that the model does not hold for wrong, "" without one."""
        stand = [item for item in self._candidates() if self._says(item) is not False]
        best = max(stand, key=lambda item: item.judgement.confidence, default=None)
        return (best.test.source or "").strip() if best else ""

    def _refused(self) -> tuple[str, ...]:
        """Return what other tests demand and why they were not accepted, a line each."""
        told: dict[str, None] = {}
        for item in sorted(self.tests, key=lambda item: item.judgement.verdict != Verdict.FAIL):
            opinion = self.opinions.known(item)
            reason = item.judgement.reason
            if opinion is not None and opinion.right is False:
                reason = opinion.reason
            elif item.judgement.candidate or not _was_to_fail(item):
                continue
            claim = first_claim(item.test.source or "") or item.test.name
            line = " ".join(f"`{claim}`: {reason}".split())
            told[line if len(line) <= _LINE else f"{line[: _LINE - 1]}…"] = None
        return tuple(told)[:_REFUSED]


def _was_to_fail(item: JudgedTest) -> bool:
    """Say whether a model's test was asked to fail: `invert` has some pass first."""
    if item.test.oracle.kind is not OracleKind.WRITTEN:
        return False
    return item.test.origin.strategy != "invert" or item.judgement.verdict is not Verdict.PASS
