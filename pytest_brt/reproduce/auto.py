"""The order in which ways are tried, what each may use up, and when it is enough.

Replay costs nothing and comes first; what it found goes into every prompt, and the model is asked
whether it is right. Then come samples, as long as they tell anything new, then the way over
passing tests, then the agent.
"""

from __future__ import annotations

import math
import re
import time
from collections.abc import Callable
from dataclasses import replace

import msgspec

from pytest_brt.code.index import Index
from pytest_brt.errors import ModelProblem, OutOfTime
from pytest_brt.model.base import Prompt
from pytest_brt.model.metered import Meter, MeteredModel
from pytest_brt.oracle.facts import read_facts
from pytest_brt.reproduce.agent.kit import Found
from pytest_brt.reproduce.agent.run import agent
from pytest_brt.reproduce.invert.run import invert
from pytest_brt.reproduce.libro.pool import MOST, Sampled, agreement, next_batch, why_stop
from pytest_brt.reproduce.libro.run import Libro, PromptForm
from pytest_brt.reproduce.model_tests.small import made_small
from pytest_brt.reproduce.opinion import Opinion, chosen, opinion_of, with_opinion
from pytest_brt.reproduce.prompting.context import Hints, gather_hints, suspecting
from pytest_brt.reproduce.prompting.fit import Brief, PromptTooLong
from pytest_brt.reproduce.replay.run import attempt as replay
from pytest_brt.reproduce.select import together
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

#: A test that is at least so likely F→P is enough.
ENOUGH = 0.7
#: Share of the time that is left that one way may use up, so that the next has some too.
_SHARE = 0.5
#: Tests of one way that the model is asked about.
_OPINIONS = 3
#: Runs of the agent at most, and steps of each.
_RUNS, _STEPS = 3, 15
#: What batches are drawn with in turn, for other tests: whether the core of the report alone is
#: shown, and the form of the prompt, where it is not the usual one.
_CONTEXTS = ((False, None), (True, None), (False, PromptForm.EXAMPLES))
#: Begins a line that claims something.
_CLAIM = re.compile(r"\s*(?:assert\b|with \S*raises|with \S*warns|self\.assert)")
#: Tests that the agent is told of which were not accepted, and characters of what is told.
_REFUSED, _LINE = 5, 200


def auto(issue: Issue, index: int, bench: Workbench, project: Index) -> Attempt:
    """Make the tests of one issue in the cheapest way that gives good ones.

    Raises:
        ModelProblem: replay found nothing, and the model could not be asked even once.
        SubjectProblem: the subject's interpreter cannot be started.
    """
    return _Auto(issue, index, bench, project).run()


class _Auto:
    """One attempt; it collects what the ways find."""

    def __init__(self, issue: Issue, index: int, bench: Workbench, project: Index) -> None:
        self.issue = issue
        self.index = index
        self.bench = bench
        self.project = project
        self.tests: list[JudgedTest] = []
        self.misses: tuple[Miss, ...] = ()
        self.settled: tuple[JudgedTest, ...] = ()
        self.notes: list[AttemptNote] = []
        self.trajectories: list[Trajectory] = []
        #: Whether a model ever answered, and why it did not.
        self.answered = False
        self.problem: ModelProblem | None = None
        self.late: list[Untried] = []
        #: What the model says of the tests that it was asked about, by their ids.
        self.opinions: dict[str, Opinion] = {}
        self.facts = read_facts(bench.reading(issue))

    def run(self) -> Attempt:
        first = replay(self.issue, self.index, self.bench)
        self.misses = first.misses
        self.settled = first.settled
        self._take("replay", first)
        ways = {
            Untried.LIBRO: self._libro,
            Untried.INVERT: self._invert,
            Untried.AGENT: self._agent,
        }
        hints: Hints | None = None
        for name, way in ways.items():
            if self.bench.over:
                if not self._enough():
                    self.late.append(name)
                continue
            if hints is None:
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
                self._judge(hints)
                hints = hints if self._enough() else self._narrowed(hints)
            if self._enough():
                break
            self.bench.say(f"trying {name}")
            self._try(name, way, hints)
            self._judge(hints)
        self._cut()
        if not self.tests and not self.answered and self.problem is not None:
            raise self.problem
        if self.late:
            self.notes.append(NotTried(what=tuple(self.late)))
        if not self.answered and self.problem is not None:
            self.notes.append(WithoutModel(said=str(self.problem)))
        return self._attempt()

    def _attempt(self) -> Attempt:
        doubted = {test for test, said in self.opinions.items() if said.right is False}
        return Attempt(
            issue=self.issue.id,
            strategy="auto",
            index=self.index,
            tests=together(self.tests, self.bench.keep, doubted),
            misses=self.misses,
            settled=() if self._candidates() else self.settled,
            notes=tuple(dict.fromkeys(self.notes)),
            trajectories=tuple(self.trajectories),
        )

    def _ask(self, prompt: Prompt) -> str:
        return self.bench.model.complete(prompt)[0].text

    def _brief(self, hints: Hints) -> Brief:
        bench = self.bench
        return Brief(issue=self.issue, hints=hints, prompts=bench.prompts, model=bench.model)

    def _narrowed(self, hints: Hints) -> Hints:
        """Let the model say which suspects are the likeliest, as far as it can be asked."""
        try:
            suspects = chosen(hints.suspects, self._brief(Hints()), self._ask)
        except (PromptTooLong, OutOfTime):
            return hints
        except ModelProblem as problem:
            self.problem = problem
            self.notes.append(NotAsked(question=Question.PLACE, said=str(problem)))
            return hints
        bench = self.bench
        return suspecting(hints, suspects, self.issue, self.project, bench.engine, host=bench.host)

    def _try(self, name: Untried, way: Callable[[Hints, Workbench], None], hints: Hints) -> None:
        """Let one way use its share of the time; its failure leaves the others their chance."""
        bench = self.bench
        if name is not Untried.AGENT and not math.isinf(bench.deadline):
            deadline = time.monotonic() + (bench.deadline - time.monotonic()) * _SHARE
            model = MeteredModel(bench.model, Meter(), deadline)
            bench = replace(bench, model=model, deadline=deadline)
        try:
            way(hints, bench)
            self.answered = True
        except OutOfTime:
            self.late.append(name)
        except ModelProblem as problem:
            self.problem = problem
            self.notes.append(ModelFailed(by=name, said=str(problem)))

    def _judge(self, hints: Hints) -> None:
        """Ask the model of the likeliest new tests whether they are right, until one is.

        What rules can say is said by then, also of replay's; `invert` asked of its own already.
        """
        new = [item for item in self._candidates() if item.test.id not in self.opinions]
        new = [item for item in new if item.test.origin.strategy != "invert"]
        new.sort(key=lambda item: -item.judgement.confidence)
        for item in new[:_OPINIONS]:
            if self.bench.over or self._enough(approved=True):
                return
            self.bench.say(f"asking for an opinion of {item.test.name}")
            try:
                opinion = opinion_of(item, self._brief(hints), self._ask)
                self.answered = True
            except PromptTooLong:
                opinion = Opinion(right=None)
            except OutOfTime:
                return
            except ModelProblem as problem:
                self.problem = problem
                self.notes.append(NotAsked(question=Question.TESTS, said=str(problem)))
                return
            self.opinions[item.test.id] = opinion
            place = self.tests.index(item)
            self.tests[place] = with_opinion(item, opinion, self.facts)

    def _enough(self, *, approved: bool = False) -> bool:
        """Say whether a test is likely enough that the model does not hold for wrong.

        With `approved`, only one that it holds for right; many that are likely need one of those.
        """
        said = {item.test.id: self._says(item) for item in self.tests}
        stand = [item for item in self.tests if said[item.test.id] is not False]
        if approved:
            stand = [item for item in stand if said[item.test.id]]
        found = [item.judgement.confidence for item in stand if item.judgement.counts]
        many = len(found) >= self.bench.keep and any(said.values())
        return many or max(found, default=0.0) >= ENOUGH

    def _says(self, item: JudgedTest) -> bool | None:
        opinion = self.opinions.get(item.test.id)
        return opinion.right if opinion else None

    def _candidates(self) -> list[JudgedTest]:
        return [item for item in self.tests if item.judgement.candidate]

    def _cut(self) -> None:
        """Cut what the best tests do not need; the model was asked about all of them by now."""
        best = sorted(self._candidates(), key=lambda item: -item.judgement.confidence)
        for item in best[: self.bench.keep]:
            if item.test.oracle.kind is OracleKind.WRITTEN:
                small = made_small(item, self.bench.engine, self.bench.repeat, self.facts)
                self.tests[self.tests.index(item)] = small

    def _take(self, by: str, made: Attempt) -> None:
        self.tests += made.tests
        self.trajectories += made.trajectories
        self.notes += [msgspec.structs.replace(note, by=by) for note in made.notes]
        self.bench.found(self._attempt())

    def _libro(self, hints: Hints, bench: Workbench) -> None:
        """Draw samples, batch by batch, until more would not tell anything new."""
        most = bench.samples or MOST
        work = Libro(self.issue, 0, bench, self.project, told=hints)
        history: list[Sampled] = []
        why: StopReason | None = None
        try:
            while why is None:
                core, form = _CONTEXTS[len(history) % len(_CONTEXTS)]
                work.draw(next_batch(history, most), core=core, form=form)
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

    def _invert(self, hints: Hints, bench: Workbench) -> None:
        self._take("invert", invert(self.issue, 0, bench, self.project, told=hints))

    def _agent(self, hints: Hints, bench: Workbench) -> None:
        found = Found(hints=hints, best=self._best(), refused=self._refused())
        bench = replace(bench, steps=bench.steps or _STEPS)
        for number in range(_RUNS):
            if bench.over:
                self.late.append(Untried.RUNS)
                return
            made = agent(self.issue, number, bench, self.project, found)
            self._take("agent", made)
            if any(item.judgement.candidate for item in made.tests):
                return

    def _best(self) -> str:
        """Return the likeliest test that the model does not hold for wrong, "" without one."""
        stand = [item for item in self._candidates() if self._says(item) is not False]
        best = max(stand, key=lambda item: item.judgement.confidence, default=None)
        return (best.test.source or "").strip() if best else ""

    def _refused(self) -> tuple[str, ...]:
        """Return what other tests claim and why they were not accepted, a line each."""
        told: dict[str, None] = {}
        for item in sorted(self.tests, key=lambda item: item.judgement.verdict != Verdict.FAIL):
            said_no = self._says(item) is False
            written = item.test.oracle.kind is OracleKind.WRITTEN
            if not said_no and (item.judgement.candidate or not written):
                continue
            reason = self.opinions[item.test.id].reason if said_no else item.judgement.reason
            line = " ".join(f"`{_claim(item)}`: {reason}".split())
            told[line if len(line) <= _LINE else f"{line[: _LINE - 1]}…"] = None
        return tuple(told)[:_REFUSED]


def _claim(item: JudgedTest) -> str:
    lines = (item.test.source or item.test.name).split("\n")
    return next((line.strip() for line in lines if _CLAIM.match(line)), item.test.name)
