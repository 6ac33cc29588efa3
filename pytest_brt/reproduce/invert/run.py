"""Pass, then invert: a test that pins the wrong behaviour, turned round (as AssertFlip does).

A model finds it easier to write a test that passes than one that fails for the right reason. So
it plans a test, writes one that passes on the buggy tree, and only then is its assertion turned
round by what the report says should happen. What replay saw the report's code do is the first
such test, without a question asked.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field

from pytest_brt.code.index import Index
from pytest_brt.dialogue.trajectory import Log
from pytest_brt.errors import OutOfTime
from pytest_brt.model.base import Prompt, Sampling
from pytest_brt.observe.watch import watch
from pytest_brt.oracle.facts import read_facts
from pytest_brt.oracle.write import slug
from pytest_brt.reading.script import read_script
from pytest_brt.reproduce.asking import Asker, Talk, seed_of
from pytest_brt.reproduce.invert.prompt import LONGEST_PLAN, Questions
from pytest_brt.reproduce.invert.start import starts
from pytest_brt.reproduce.invert.tries import Tried, Tries
from pytest_brt.reproduce.model_tests.make import Maker
from pytest_brt.reproduce.opinion import Opinion, opinion_of
from pytest_brt.reproduce.prompting.context import Hints, gather_hints
from pytest_brt.reproduce.prompting.cuts import whole_sentences
from pytest_brt.reproduce.prompting.fit import PromptTooLong
from pytest_brt.reproduce.prompting.transcript import Stance
from pytest_brt.reproduce.select import select
from pytest_brt.reproduce.strategy import Workbench
from pytest_brt.types import Attempt, Ending, Issue, Verdict

#: Characters that a plan may be longer than it was told to be.
_OVER = 100
#: Versions of the turned test, per plan.
_INVERSIONS = 3
#: So many equal failures in a row end a plan, and so many fruitless plans everything.
_IDENTICAL = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class InvertSettings:
    """How hard it tries."""

    #: Further plans after the first, each told of those before.
    regenerations: int = 10
    #: Further versions of a test that does not pass, per plan.
    refinements: int = 10
    sampling: Sampling = field(
        default_factory=lambda: Sampling(temperature=0.2, top_p=0.95, max_tokens=512)
    )
    #: Whether what replay saw is the first test; else a plan is.
    start: bool = True
    keep: int | None = None
    repeat: int = 2
    #: 0-based number of the run; each has other seeds.
    index: int = 0
    #: What its talk is called in records.
    name: str = "invert"
    hints: Hints | None = None


def invert(issue: Issue, index: Index, bench: Workbench, settings: InvertSettings) -> Attempt:
    """Make failing tests of `issue` by way of passing ones.

    Raises:
        ModelProblem: the model cannot be asked.
        SubjectProblem: the subject's interpreter cannot be started.
        StoreProblem: the record of the talk cannot be written.
    """
    begin = time.monotonic()
    work = _Inversion(issue, index, bench, settings)
    ending, reason = work.run()
    tests = select(work.tries.judged(), settings.keep)
    found = any(item.judgement.candidate for item in tests)
    return Attempt(
        issue=issue.id,
        strategy="invert",
        index=settings.index,
        tests=tests,
        notes=() if found else (reason, *work.notes),
        seconds=time.monotonic() - begin,
        cost=work.talk.cost,
        trajectories=(work.talk.close(ending, reason),),
    )


class _Inversion:
    """One run at one issue."""

    def __init__(
        self, issue: Issue, index: Index, bench: Workbench, settings: InvertSettings
    ) -> None:
        self.issue = issue
        self.bench = bench
        self.settings = settings
        self.notes: list[str] = []
        script = read_script(issue)
        self.replayed = watch(script, bench.engine)
        self.hints = settings.hints or gather_hints(
            issue,
            index,
            bench.engine,
            buggy=bench.buggy,
            host=bench.host,
            replayed=self.replayed,
        )
        log = Log(
            issue.id,
            f"{settings.name}-{settings.index:02}",
            title=issue.title,
            journal=bench.journal,
            folder=bench.record,
        )
        self.talk = Talk(Asker(bench.model, deadline=bench.deadline), log)
        self.questions = Questions(
            issue=issue,
            hints=self.hints,
            index=index,
            prompts=bench.prompts,
            model=bench.model,
            sampling=settings.sampling,
        )
        maker = Maker(
            issue=issue,
            index=index,
            test_root=bench.engine.subject.test_root,
            host=bench.host,
        )
        self.tries = Tries(
            maker=maker,
            facts=read_facts(issue),
            engine=bench.engine,
            repeat=settings.repeat,
            model=bench.model.name,
            deadline=bench.deadline,
        )
        # What the report calls right cannot be turned into a test that fails.
        start = settings.start and self.hints.stance is Stance.WRONG
        self._starts = list(starts(self.replayed, _name(issue))) if start else []
        self._plans: list[str] = []
        self._seed = seed_of(issue.id, "invert", settings.index, bench.seed)

    def run(self) -> tuple[Ending, str]:
        """Go from plan to plan; return how it ended, and why in a line."""
        fruitless: list[str] = []
        for _ in range(self.settings.regenerations + 1):
            if self.talk.asker.over:
                return Ending.TIME, "the time was over"
            try:
                came = self._one_plan()
            except PromptTooLong as problem:
                return Ending.TOKENS, str(problem)
            except OutOfTime as problem:
                return Ending.TIME, str(problem)
            if self.tries.accepted():
                return Ending.FINISH, "a passing test was turned into one that fails as reported"
            fruitless.append(came.split("\n")[0])
            last = fruitless[-_IDENTICAL:]
            if len(last) == _IDENTICAL and len(set(last)) == 1:
                return Ending.LOOP, f"{len(last)} plans in a row came to the same: {last[0]}"
        return Ending.STEPS, f"no plan of {len(fruitless)} came to a test that fails as reported"

    def _one_plan(self) -> str:
        """Take one plan as far as it goes; return in a line what came of it."""
        passing = self._from_start() or self._from_plan()
        if passing is None or not passing.passes:
            return passing.told if passing else "no test was written"
        return self._turned(passing)

    def _from_start(self) -> Tried | None:
        """Return the next test that pins what replay saw and does pass, if there is one."""
        while self._starts:
            start = self._starts.pop(0)
            tried = self.tries.run(f"```python\n{start.source}```")
            if tried is not None and tried.passes:
                self._plans.append(start.plan)
                self.bench.say(f"pinned what happens now: {start.plan}")
                return tried
        return None

    def _from_plan(self) -> Tried | None:
        plan = self._ask("plan", lambda seed: self.questions.plan(tuple(self._plans), seed))
        plan = whole_sentences(" ".join(plan.split()), LONGEST_PLAN + _OVER)
        self.talk.note("", None)
        self._plans.append(plan)
        self.bench.say(f"plan {len(self._plans)}: {plan[:80]}")
        reply = self._ask("write", lambda seed: self.questions.write(plan, seed))
        tried = self._try(reply)
        failures: list[str] = []
        for _ in range(self.settings.refinements):
            if tried is not None and (tried.passes or tried.reported):
                break
            failures.append(tried.told if tried else "no test")
            last = failures[-_IDENTICAL:]
            same = len(last) == _IDENTICAL and len(set(last)) == 1
            if same or self.talk.asker.over:
                break
            tried = self._try(self._refined(tried, plan)) or tried
        if tried is not None and tried.reported:
            # It was to pass and fails as the report says: what was wanted in the end.
            self._judge(tried)
        return tried

    def _refined(self, tried: Tried | None, plan: str) -> str:
        if tried is None:
            return self._ask("write", lambda seed: self.questions.write(plan, seed))
        code, happened = tried.written.test.source or "", tried.told
        return self._ask(
            "refine",
            lambda seed: self.questions.refine(code, happened, tried.written.problems, seed),
        )

    def _turned(self, passing: Tried) -> str:
        code = passing.written.test.source or ""
        tried: Tried | None = None
        seen: list[str] = []
        for _ in range(_INVERSIONS):
            before = (tried.written.test.source or "") if tried else ""
            happened = tried.told if tried else ""
            reply = self._ask("flip", _flip(self.questions, code, before, happened))
            tried = self._try(reply, parent=passing)
            seen.append(tried.told if tried else "no test")
            if tried is not None and tried.candidate:
                if self._judge(tried):
                    return tried.told
                break
            if self.talk.asker.over:
                break
        else:
            self._by_rule(passing)
        return seen[-1] if seen else "no test"

    def _by_rule(self, passing: Tried) -> None:
        """Turn the test round without the model, where the report names what is wrong."""
        tried = self.tries.turn(passing)
        if tried is not None and tried.candidate:
            self.bench.say("turned round by rule")
            self._judge(tried)

    def _ask(self, action: str, make: Callable[[int], Prompt]) -> str:
        return self.talk.ask(action, make((self._seed + len(self.talk.steps)) % 2**31))

    def _try(self, reply: str, *, parent: Tried | None = None) -> Tried | None:
        tried = self.tries.run(reply, parent=parent)
        if tried is None:
            self.talk.note("the reply has no test that parses")
        else:
            self.talk.note(tried.told, tried.run.verdict)
            self.bench.say(f"{self.talk.steps[-1].action}: {tried.run.verdict}")
        return tried

    def _judge(self, tried: Tried) -> bool:
        """Have the model say whether a candidate is about the bug; its word is kept."""

        def ask(prompt: Prompt) -> str:
            reply = self.talk.ask("judge", prompt)
            self.talk.note("", Verdict.FAIL)
            return reply

        try:
            opinion = opinion_of(
                self.tries.judge(tried),
                self.issue,
                self.hints,
                prompts=self.bench.prompts,
                model=self.bench.model,
                ask=ask,
            )
        except PromptTooLong:
            opinion = Opinion(right=None)
        self.tries.opinions[tried.written.test.id] = opinion
        return opinion.right is not False


def _flip(questions: Questions, code: str, before: str, happened: str) -> Callable[[int], Prompt]:
    return lambda seed: questions.flip(code, before, happened, seed)


def _name(issue: Issue) -> str:
    return f"test_{slug(issue.source, issue.title)}"
