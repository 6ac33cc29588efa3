"""Pass, then invert: a test of the wrong behaviour that passes, turned round (as AssertFlip does).

A model finds it easier to write a test that passes than one that fails for the right reason.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from pytest_brt.agents.prompts import render
from pytest_brt.errors import OutOfTime
from pytest_brt.model.request import Message, Request
from pytest_brt.oracle.judge import run_tests
from pytest_brt.project.index import Index
from pytest_brt.reproduce.extract import Extractor
from pytest_brt.reproduce.prompt import Findings, fitted, gather
from pytest_brt.reproduce.rate import judge_written
from pytest_brt.reproduce.strategy import Workbench, seed_of
from pytest_brt.types import Attempt, Ending, Issue, JudgedTest, Note, Origin, Verdict

#: Plans, each told of those before, and versions of a passing test and of a turned one for each.
_PLANS, _VERSIONS = 3, 3
_ORDER = ("test", "host", "imports", "session")


def invert(issue: Issue, number: int, bench: Workbench, index: Index) -> Attempt:
    """Make a failing test of a report by way of passing ones.

    Raises:
        ModelProblem: the model cannot be asked.
        SubjectProblem: the project's interpreter cannot be started.
    """
    return inverted(number, bench, gather(issue, index, bench, bench.observed(issue)))


def inverted(number: int, bench: Workbench, findings: Findings) -> Attempt:
    """Make a failing test by way of passing ones, by what was found out; raises as `invert`."""
    issue = findings.issue.id
    test, ending = None, Ending.STEPS
    said = f"no plan of {_PLANS} came to a test that fails as reported"
    try:
        test = _Inversion(bench, findings, seed_of(issue, "invert", number, bench.seed)).run()
    except OutOfTime as problem:
        said, ending = str(problem), Ending.TIME
    return Attempt(
        issue=issue,
        strategy="invert",
        index=number,
        tests=(test,) if test else (),
        notes=() if test else (Note(code="plans-failed", text=said),),
        endings=(Ending.FINISH if test else ending,),
    )


@dataclass(slots=True)
class _Inversion:
    """One run at one report."""

    bench: Workbench
    findings: Findings
    seed: int

    def run(self) -> JudgedTest | None:
        plans: list[str] = []
        for _ in range(_PLANS):
            plans.append(" ".join(self._ask("plan", plans=plans).split())[:400])
            self.bench.say(f"plan {len(plans)}: {plans[-1][:80]}")
            passing = self._test(_passes, "write", plan=plans[-1])
            turned = self._test(_fails, "turn", passing=passing) if passing else None
            if turned:
                return turned
        return None

    def _test(
        self, is_wanted: Callable[[JudgedTest], bool], task: str, **values: object
    ) -> JudgedTest | None:
        """Ask for a test until one does what is wanted; each is told of the one before."""
        bench, issue = self.bench, self.findings.issue
        folder, origin = (
            bench.engine.subject.test_root,
            Origin(strategy="invert", model=bench.model.name),
        )
        extractor = Extractor(
            issue=issue, index=self.findings.index, folder=folder, host=bench.host
        )
        before = None
        for _ in range(_VERSIONS):
            reply = self._ask(task, before=before, **values)
            for one in extractor.tests(reply, origin)[:1]:
                runs = run_tests([one.test], bench.engine, bench.repeat, deadline=bench.deadline)
                before = judge_written(one.test, runs[one.test.id], bench.facts(issue))
                if is_wanted(before):
                    return before
        return None

    def _ask(self, task: str, **values: object) -> str:
        self.seed = (self.seed + 1) % 2**31

        def build(told: Mapping[str, object]) -> Request:
            every = {"plan": "", "plans": [], "passing": None, "before": None, **told, **values}
            text = render("invert", task=task, **every)
            return Request(messages=(Message("user", text),), temperature=0.2, seed=self.seed)

        model = self.bench.model
        return model.text(fitted(build, self.findings.values, _ORDER, model)[0])


def _passes(item: JudgedTest) -> bool:
    return item.judgement.verdict is Verdict.PASS


def _fails(item: JudgedTest) -> bool:
    return item.judgement.candidate
