"""Pass, then invert: a test that pins the wrong behaviour, turned round (as AssertFlip does).

A model finds it easier to write a test that passes than one that fails for the right reason. So
it plans a test, writes one that passes on the buggy tree, and only then is its assertion turned
round by what the report says should happen. What replay saw the report's code do is the first
such test, without a question asked.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from pytest_brt.agent.report_text import report_text
from pytest_brt.code.index import Index
from pytest_brt.errors import OutOfTime
from pytest_brt.model.base import Prompt, Role, Sampling
from pytest_brt.oracle.facts import matches, read_facts
from pytest_brt.oracle.judge import refusal, run_tests
from pytest_brt.oracle.write import slug
from pytest_brt.render.causes import run_words
from pytest_brt.reproduce.asking import PREFILL, STOP, Talk, answer_room, seed_of
from pytest_brt.reproduce.model_tests.confidence import judge_written
from pytest_brt.reproduce.model_tests.make import Maker, Written
from pytest_brt.reproduce.model_tests.reduce import reduce_test
from pytest_brt.reproduce.opinion import Opinions, with_opinion
from pytest_brt.reproduce.pin import pinned_tests
from pytest_brt.reproduce.prompting.context import Hints, gather_hints
from pytest_brt.reproduce.prompting.fit import Brief, PromptTooLong, bug_values, fitted, listings_of
from pytest_brt.reproduce.prompting.transcript import Stance
from pytest_brt.reproduce.select import dropped, select
from pytest_brt.reproduce.strategy import Workbench
from pytest_brt.types import Attempt, Ending, Issue, JudgedTest, Origin, TestRun, Verdict
from pytest_brt.types.attempt import PlansFailed

#: Plans, each told of those before; versions of a passing test per plan, and of a turned one.
PLANS, VERSIONS, TURNS = 3, 4, 3
#: Longest plan in tokens; its characters, as the model is told, and those that it may be longer.
_PLAN, LONGEST_PLAN, _OVER = 160, 300, 100
#: Tokens of what all questions begin with; long reports take more.
_TOKENS = 1_150
_SAMPLING = Sampling(temperature=0.2, top_p=0.95, max_tokens=512)
#: Lines of a failure that a model is shown.
_LINES = 10


def plan_prompt(brief: Brief, index: Index, seed: int, earlier: Sequence[str]) -> Prompt:
    """Return the question for a plan; those `earlier` did not work.

    Raises:
        PromptTooLong: it does not fit the model.
    """
    values = {"longest_plan": LONGEST_PLAN, "earlier": tuple(earlier)}
    return _prompt("plan", {}, brief, index, seed, values)


def version_prompt(
    task: str, texts: Mapping[str, str], brief: Brief, index: Index, seed: int, **values: object
) -> Prompt:
    """Return the question for a test: the `task` is "write", "refine" or "flip".

    `texts` is what it is about, the last of them shortened first.

    Raises:
        PromptTooLong: it does not fit the model.
    """
    return _prompt("test", texts, brief, index, seed, {"task": task, **values})


def _prompt(
    kind: str,
    texts: Mapping[str, str],
    brief: Brief,
    index: Index,
    seed: int,
    values: Mapping[str, object],
) -> Prompt:
    hints, prompts = brief.hints, brief.prompts
    parts = {
        **texts,
        "report": report_text(brief.issue),
        "session": "\n".join(hints.session),
        "imports": "\n".join(hints.imports),
        "fixtures": hints.fixtures,
    }
    is_plan = kind == "plan"
    sampling = replace(
        _SAMPLING,
        seed=seed,
        max_tokens=answer_room(brief.model, _PLAN if is_plan else _SAMPLING.max_tokens),
        stop=() if is_plan else STOP,
    )

    def build(found: Mapping[str, str]) -> Prompt:
        every = {**bug_values(brief, found), **values}
        return Prompt(
            messages=(
                prompts.message(Role.SYSTEM, "invert/system", **every),
                prompts.message(Role.USER, f"invert/{kind}.user", **every),
            ),
            sampling=sampling,
            prefill="" if is_plan else PREFILL,
            weighty=values.get("task") != "write",
            purpose=str(values.get("task", kind)),
        )

    def beginning(found: Mapping[str, str]) -> Prompt:
        # Without what is asked, so that all questions begin with the same code.
        shared = prompts.message(Role.USER, "shared/bug", **bug_values(brief, found))
        return Prompt(messages=(shared,))

    listings = listings_of(replace(hints, host=""), index)
    order = ("suspected", "fixtures", "imports", "session", "report", *reversed(tuple(texts)))
    return fitted(build, parts, order, brief, listings, most=_TOKENS, frame=beginning)[0]


@dataclass(frozen=True, slots=True, kw_only=True)
class Version:
    """One version of a test, and what it did on the buggy tree."""

    written: Written
    runs: tuple[TestRun, ...]
    #: What happened, for the model.
    observation: str
    #: It fails for a reason that stands.
    is_candidate: bool
    #: And the failure is what the report speaks of, as far as rules can tell.
    is_reported: bool
    #: It passes, and runs code of the project.
    passes: bool

    @property
    def source(self) -> str:
        """The test as a module."""
        return self.written.test.source or ""


def invert(
    issue: Issue,
    index: int,
    bench: Workbench,
    project: Index,
    *,
    told: Hints | None = None,
    opinions: Opinions | None = None,
) -> Attempt:
    """Make failing tests of `issue` by way of passing ones.

    `told` is what `auto` found out before, and `opinions` what the model said of tests there.

    Raises:
        ModelProblem: the model cannot be asked.
        SubjectProblem: the subject's interpreter cannot be started.
        StoreProblem: the record of the talk cannot be written.
    """
    work = _Inversion(issue, index, bench, project, told, opinions)
    ending, reason = work.run()
    tests = select(work.judged(), bench.keep)
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
    """One run at one issue; not for several threads."""

    def __init__(
        self,
        issue: Issue,
        index: int,
        bench: Workbench,
        project: Index,
        told: Hints | None,
        opinions: Opinions | None,
    ) -> None:
        self.bench = bench
        self.project = project
        replayed = bench.observed(issue)
        hints = told or gather_hints(
            issue, project, bench.engine, buggy=bench.buggy, host=bench.host, replayed=replayed
        )
        self.talk = Talk(
            bench.model, bench.log(issue, f"{'auto-' if told else ''}invert-{index:02}")
        )
        self.brief = Brief(
            issue=issue, hints=hints, prompts=bench.prompts, model=bench.model, index=project
        )
        self.maker = Maker(issue=issue, index=project, folder=bench.folder, host=bench.host)
        self.facts = read_facts(bench.reading(issue))
        self.opinions = opinions or Opinions(self.brief, self.facts)
        # What the report calls right cannot be turned into a test that fails.
        name = f"test_{slug(issue.title)}"
        turnable = hints.stance is Stance.WRONG
        self.pinned = list(pinned_tests(replayed, name).items()) if turnable else []
        self.versions: dict[str, Version] = {}
        #: Keys of candidates that the model was asked about.
        self.asked: set[str] = set()
        self.plans: list[str] = []
        self._seed = seed_of(issue.id, "invert", index, bench.seed)

    def run(self) -> tuple[Ending, str]:
        """Go from plan to plan; return how it ended, and why in a line."""
        for _ in range(PLANS):
            if self.bench.over:
                return Ending.TIME, "time limit reached"
            try:
                passing = self._from_pinned() or self._from_plan()
                if passing is not None and passing.passes:
                    self._turn(passing)
            except PromptTooLong as problem:
                return Ending.TOKENS, str(problem)
            except OutOfTime as problem:
                return Ending.TIME, str(problem)
            if self._has_accepted():
                return Ending.FINISH, "a passing test was turned into one that fails as reported"
        return Ending.STEPS, f"no plan of {PLANS} came to a test that fails as reported"

    def _from_pinned(self) -> Version | None:
        """Return the next test that pins what replay saw and does pass, if there is one."""
        while self.pinned:
            source, plan = self.pinned.pop(0)
            version = self._version(f"```python\n{source}```")
            if version is not None and version.passes:
                self.plans.append(plan)
                self.bench.say(f"pinned what happens now: {plan}")
                return version
        return None

    def _from_plan(self) -> Version | None:
        """Return the last version of the test that a new plan came to, None without one."""
        prompt = plan_prompt(self.brief, self.project, self._next_seed(), self.plans)
        plan = textwrap.shorten(
            self.talk.ask("plan", prompt), LONGEST_PLAN + _OVER, placeholder="…"
        )
        self.talk.note("", None)
        self.plans.append(plan)
        self.bench.say(f"plan {len(self.plans)}: {plan[:80]}")
        version: Version | None = None
        for _ in range(VERSIONS):
            if version is None:
                version = self._try("write", {"plan": plan})
            else:
                texts = {"code": version.source, "happened": version.observation}
                problems = version.written.problems
                version = self._try("refine", texts, problems=problems) or version
            if version is not None and (version.passes or version.is_reported):
                break
            if self.bench.over:
                break
        if version is not None and version.is_reported:
            # It was to pass and fails as the report says: what was wanted in the end.
            self._judge(version)
        return version

    def _turn(self, passing: Version) -> None:
        """Have the assertion turned round until the test fails for a reason that stands."""
        version: Version | None = None
        for _ in range(TURNS):
            texts = {"code": passing.source, "tried": "", "happened": ""}
            if version is not None:
                texts |= {"tried": version.source, "happened": version.observation}
            version = self._try("flip", texts, parent=passing)
            if version is not None and version.is_candidate:
                self._judge(version)
                return
            if self.bench.over:
                return

    def _next_seed(self) -> int:
        return (self._seed + len(self.talk.steps)) % 2**31

    def _try(
        self,
        task: str,
        texts: Mapping[str, str],
        *,
        parent: Version | None = None,
        problems: tuple[str, ...] = (),
    ) -> Version | None:
        """Ask for a test and run it; None when the reply has none."""
        seed = self._next_seed()
        prompt = version_prompt(task, texts, self.brief, self.project, seed, problems=problems)
        version = self._version(self.talk.ask(task, prompt), parent)
        if version is None:
            self.talk.note("the reply has no test that parses")
        else:
            self.talk.note(version.observation, version.runs[0].verdict)
            self.bench.say(f"{task}: {version.runs[0].verdict}")
        return version

    def _version(self, reply: str, parent: Version | None = None) -> Version | None:
        """Run the tests in a reply and return the one that counts, None when it has none.

        That is one that fails as it should where a passing one was to be turned (`parent`),
        and one that passes otherwise.
        """
        origin = Origin(
            strategy="invert",
            model=self.bench.model.name,
            parent=parent.written.test.id if parent else "",
        )
        made = self.maker.make(reply, origin)
        new = [item for item in made if item.key not in self.versions]
        bench = self.bench
        tests = [item.test for item in new]
        runs = run_tests(tests, bench.engine, bench.repeat, deadline=bench.deadline)
        for item in new:
            self.versions[item.key] = self._ran(item, runs[item.test.id])
        found = [self.versions[item.key] for item in made]
        if parent:
            return max(found, key=lambda one: (one.is_candidate, one.passes), default=None)
        return max(found, key=lambda one: (one.passes, one.is_reported), default=None)

    def _ran(self, item: Written, runs: tuple[TestRun, ...]) -> Version:
        why_not = refusal(item.test, runs, self.facts)
        passes = bool(runs) and all(run.verdict is Verdict.PASS for run in runs)
        is_own = uses_project(item.test.source or "", runs, self.project.packages)
        if not why_not and runs[0].mismatch:
            why_not = "the project has no such thing, or cannot be called like this"
        if not why_not and not is_own:
            why_not = "it runs no code of the project"
        match = "" if why_not else matches(self.facts, item.test.source or "", runs[0].raised)
        observation = _observation(runs, why_not)
        if passes and not is_own:
            observation = f"It passes, but {_without_project(self.project.packages)}"
        return Version(
            written=item,
            runs=runs,
            observation=observation,
            is_candidate=not why_not,
            is_reported=bool(match),
            passes=passes and is_own,
        )

    def _judge(self, version: Version) -> None:
        """Have the model say whether a candidate is about the bug; its word is kept."""

        def ask(prompt: Prompt) -> str:
            reply = self.talk.ask("judge", prompt)
            self.talk.note("", Verdict.FAIL)
            return reply

        self.asked.add(version.written.key)
        self.opinions.of(self._judged(version), ask)

    def _judged(self, version: Version) -> JudgedTest:
        return judge_written(version.written.test, version.runs, self.facts)

    def _has_accepted(self) -> bool:
        """Say whether a candidate was judged, and not held for another bug."""
        judged = (self._judged(self.versions[key]) for key in self.asked)
        opinions = (self.opinions.known(item) for item in judged)
        return any(opinion is not None and opinion.right is not False for opinion in opinions)

    def judged(self) -> tuple[JudgedTest, ...]:
        """Return every version, judged; candidates without what their failure does not need."""
        found = []
        for key, version in self.versions.items():
            item = self._judged(version)
            opinion = self.opinions.known(item)
            if key in self.asked and opinion is not None:
                small = reduce_test(item, self.bench.engine, self.bench.repeat, self.facts)
                # What it turned had passed: the model knew what the code does now.
                item = with_opinion(small, opinion, agrees=True)
            elif item.judgement.candidate:
                # It was to pass, or demands nonsense.
                item = dropped(item, "fails, but not as was wanted")
            found.append(item)
        return tuple(found)


def uses_project(source: str, runs: Sequence[TestRun], packages: Sequence[str]) -> bool:
    """Say whether a test runs code of the project, through its test helpers too.

    Where the run does not tell, an import of one of the `packages` does.
    """
    used = runs[0].used_project if runs else None
    if used is not None:
        return used
    names = "|".join(map(re.escape, packages))
    return not names or bool(re.search(rf"(?m)^\s*(?:from|import)\s[^\n]*\b(?:{names})\b", source))


def _without_project(packages: Sequence[str]) -> str:
    if not packages:
        return "it runs no code of the project."
    return f"it does not use the package `{packages[0]}`: import it from there."


def _observation(runs: tuple[TestRun, ...], why_not: str) -> str:
    if not runs:
        return "It did not run."
    run = runs[0]
    if run.verdict is Verdict.PASS:
        return "It passes."
    if run.verdict is not Verdict.FAIL:
        return f"It cannot run ({run.verdict}): {run_words(run)}"
    shown = "It fails."
    if run.raised:
        lines = run.raised.message.strip().split("\n")[:_LINES]
        shown = "\n".join([f"It fails with {run.raised.type}: {lines[0]}", *lines[1:]])
    return f"{shown}\nThis test is not accepted: {why_not}." if why_not else shown
