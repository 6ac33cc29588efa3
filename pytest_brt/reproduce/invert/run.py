"""Pass, then invert: a test that pins the wrong behaviour, turned round (as AssertFlip does).

A model finds it easier to write a test that passes than one that fails for the right reason. So
it plans a test, writes one that passes on the buggy tree, and only then is its assertion turned
round by what the report says should happen. What replay saw the report's code do is the first
such test, without a question asked.
"""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import replace

from pytest_brt.code.index import Index
from pytest_brt.errors import OutOfTime
from pytest_brt.model.base import Prompt, Role, Sampling
from pytest_brt.oracle.facts import read_facts
from pytest_brt.oracle.write import slug
from pytest_brt.reproduce.asking import PREFILL, STOP, Talk, answer_room, seed_of
from pytest_brt.reproduce.invert.tries import TriedVersion, Tries, starts
from pytest_brt.reproduce.model_tests.make import Maker
from pytest_brt.reproduce.opinion import Opinion, opinion_of
from pytest_brt.reproduce.prompting.context import Hints, gather_hints
from pytest_brt.reproduce.prompting.fit import (
    Brief,
    PromptTooLong,
    bug_values,
    fitted,
    listings_of,
    report_text,
)
from pytest_brt.reproduce.prompting.transcript import Stance
from pytest_brt.reproduce.select import select
from pytest_brt.reproduce.strategy import Workbench
from pytest_brt.types import Attempt, Ending, Issue, Verdict
from pytest_brt.types.attempt import PlansFailed

#: Longest plan, in tokens.
_PLAN = 160
#: Its characters, as the model is told.
LONGEST_PLAN = 300
#: Tokens of what all questions begin with; long reports take more.
_TOKENS = 1_150
_SAMPLING = Sampling(temperature=0.2, top_p=0.95, max_tokens=512)


def invert_prompt(
    kind: str, texts: Mapping[str, str], brief: Brief, index: Index, seed: int, **more: object
) -> Prompt:
    """Return the question of a `kind`: "plan", "write", "refine" or "flip".

    `texts` and `more` are what its prompt, ``invert/KIND.user``, asks about; of `texts` the last
    ones are shortened first.

    Raises:
        PromptTooLong: it does not fit the model.
    """
    hints, prompts = brief.hints, brief.prompts
    parts = {
        **texts,
        "report": report_text(brief.issue),
        "session": "\n".join(hints.session),
        "imports": "\n".join(hints.imports),
        "fixtures": hints.fixtures,
    }
    is_plan = kind == "plan"
    room = answer_room(brief.model, _PLAN if is_plan else _SAMPLING.max_tokens)
    stop = () if is_plan else STOP

    def build(found: Mapping[str, str]) -> Prompt:
        values = {**bug_values(brief, found), "longest_plan": LONGEST_PLAN, **more}
        return Prompt(
            messages=(
                prompts.message(Role.SYSTEM, "invert/system", **values),
                prompts.message(Role.USER, f"invert/{kind}.user", **values),
            ),
            sampling=replace(_SAMPLING, seed=seed, max_tokens=room, stop=stop),
            prefill="" if is_plan else PREFILL,
            weighty=kind != "write",
            purpose=kind,
        )

    def beginning(found: Mapping[str, str]) -> Prompt:
        # Without what is asked, so that all questions begin with the same code.
        return Prompt(
            messages=(prompts.message(Role.USER, "shared/bug", **bug_values(brief, found)),)
        )

    listings = listings_of(replace(hints, host=""), index)
    order = ("suspected", "fixtures", "imports", "session", "report", *reversed(tuple(texts)))
    return fitted(build, parts, order, brief, listings, most=_TOKENS, frame=beginning)[0]


#: Characters that a plan may be longer than it was told to be.
_OVER = 100
#: Versions of the turned test, per plan.
_INVERSIONS = 3
#: So many equal failures in a row end a plan, and so many fruitless plans everything.
_IDENTICAL = 3
#: Plans, each told of those before, and further versions of a test that does not pass, per plan.
PLANS, _REFINEMENTS = 11, 10


def invert(
    issue: Issue,
    index: int,
    bench: Workbench,
    project: Index,
    *,
    told: Hints | None = None,
    start: bool = True,
    plans: int = PLANS,
) -> Attempt:
    """Make failing tests of `issue` by way of passing ones.

    `told` is what `auto` found out before. Where what replay saw is not to be the `start`, a plan
    comes first.

    Raises:
        ModelProblem: the model cannot be asked.
        SubjectProblem: the subject's interpreter cannot be started.
        StoreProblem: the record of the talk cannot be written.
    """
    work = _Inversion(issue, index, bench, project, told)
    if not start:
        work.starts.clear()
    ending, reason = work.run(plans)
    tests = select(work.tries.judged(), bench.keep)
    found = any(item.judgement.candidate for item in tests)
    return Attempt(
        issue=issue.id,
        strategy="invert",
        index=index,
        tests=tests,
        notes=() if found else (PlansFailed(said=reason),),
        trajectories=(work.talk.close(ending, reason),),
    )


class _Inversion:
    """One run at one issue."""

    def __init__(
        self, issue: Issue, index: int, bench: Workbench, project: Index, told: Hints | None
    ) -> None:
        self.bench = bench
        replayed = bench.observed(issue)
        hints = told or gather_hints(
            issue, project, bench.engine, buggy=bench.buggy, host=bench.host, replayed=replayed
        )
        log = bench.log(issue, f"{'auto-' if told else ''}invert-{index:02}")
        self.talk = Talk(bench.model, log)
        self.brief = Brief(issue=issue, hints=hints, prompts=bench.prompts, model=bench.model)
        self.project = project
        maker = Maker(
            issue=issue, index=project, test_root=bench.engine.subject.test_root, host=bench.host
        )
        self.tries = Tries(maker=maker, facts=read_facts(bench.reading(issue)), bench=bench)
        # What the report calls right cannot be turned into a test that fails.
        turnable = hints.stance is Stance.WRONG
        name = f"test_{slug(issue.source, issue.title)}"
        self.starts = list(starts(replayed, name).items()) if turnable else []
        self._plans: list[str] = []
        self._first = seed_of(issue.id, "invert", index, bench.seed)

    def run(self, plans: int) -> tuple[Ending, str]:
        """Go from plan to plan; return how it ended, and why in a line."""
        fruitless: list[str] = []
        for _ in range(plans):
            if self.bench.over:
                return Ending.TIME, "the time was over"
            try:
                passing = self._from_start() or self._from_plan()
                came = passing.told if passing else "no test was written"
                if passing is not None and passing.passes:
                    came = self._turned(passing)
            except PromptTooLong as problem:
                return Ending.TOKENS, str(problem)
            except OutOfTime as problem:
                return Ending.TIME, str(problem)
            if self.tries.has_accepted():
                return Ending.FINISH, "a passing test was turned into one that fails as reported"
            fruitless.append(came.split("\n")[0])
            if _is_stuck(fruitless):
                return Ending.LOOP, f"{_IDENTICAL} plans in a row came to the same: {fruitless[-1]}"
        return Ending.STEPS, f"no plan of {len(fruitless)} came to a test that fails as reported"

    def _from_start(self) -> TriedVersion | None:
        """Return the next test that pins what replay saw and does pass, if there is one."""
        while self.starts:
            source, plan = self.starts.pop(0)
            tried = self.tries.run(f"```python\n{source}```")
            if tried is not None and tried.passes:
                self._plans.append(plan)
                self.bench.say(f"pinned what happens now: {plan}")
                return tried
        return None

    def _from_plan(self) -> TriedVersion | None:
        plan = self._ask("plan", {}, earlier=tuple(self._plans))
        plan = textwrap.shorten(plan, LONGEST_PLAN + _OVER, placeholder="…")
        self.talk.note("", None)
        self._plans.append(plan)
        self.bench.say(f"plan {len(self._plans)}: {plan[:80]}")
        tried: TriedVersion | None = None
        failures: list[str] = []
        for _ in range(1 + _REFINEMENTS):
            if tried is None:
                tried = self._try("write", {"plan": plan})
            else:
                texts = {"code": tried.source, "happened": tried.told}
                tried = self._try("refine", texts, problems=tried.written.problems) or tried
            if tried is not None and (tried.passes or tried.reported):
                break
            failures.append(tried.told if tried else "no test")
            if _is_stuck(failures) or self.bench.over:
                break
        if tried is not None and tried.reported:
            # It was to pass and fails as the report says: what was wanted in the end.
            self._judge(tried)
        return tried

    def _turned(self, passing: TriedVersion) -> str:
        tried: TriedVersion | None = None
        came = "no test"
        for _ in range(_INVERSIONS):
            before, happened = (tried.source, tried.told) if tried else ("", "")
            texts = {"code": passing.source, "tried": before, "happened": happened}
            tried = self._try("flip", texts, parent=passing)
            came = tried.told if tried else "no test"
            if tried is not None and tried.candidate:
                self._judge(tried)
                break
            if self.bench.over:
                break
        return came

    def _ask(self, kind: str, texts: Mapping[str, str], **more: object) -> str:
        seed = (self._first + len(self.talk.steps)) % 2**31
        prompt = invert_prompt(kind, texts, self.brief, self.project, seed, **more)
        return self.talk.ask(kind, prompt)

    def _try(
        self,
        kind: str,
        texts: Mapping[str, str],
        *,
        parent: TriedVersion | None = None,
        **more: object,
    ) -> TriedVersion | None:
        """Ask for a test and run it; None when the reply has none."""
        tried = self.tries.run(self._ask(kind, texts, **more), parent=parent)
        if tried is None:
            self.talk.note("the reply has no test that parses")
        else:
            self.talk.note(tried.told, tried.runs[0].verdict)
            self.bench.say(f"{kind}: {tried.runs[0].verdict}")
        return tried

    def _judge(self, tried: TriedVersion) -> None:
        """Have the model say whether a candidate is about the bug; its word is kept."""

        def ask(prompt: Prompt) -> str:
            reply = self.talk.ask("judge", prompt)
            self.talk.note("", Verdict.FAIL)
            return reply

        try:
            opinion = opinion_of(self.tries.judge(tried), self.brief, ask)
        except PromptTooLong:
            opinion = Opinion(right=None)
        self.tries.opinions[tried.written.test.id] = opinion


def _is_stuck(told: Sequence[str]) -> bool:
    return len(told) >= _IDENTICAL and len(set(told[-_IDENTICAL:])) == 1
