"""Pass, then invert: a test of the wrong behaviour that passes, turned round (as AssertFlip does).

A model finds it easier to write a test that passes than one that fails for the right reason.
"""

from __future__ import annotations

from collections.abc import Mapping

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
    observed = bench.observed(issue)
    findings = gather(
        issue, index, engine=bench.engine, observed=observed, buggy=bench.buggy, host=bench.host
    )
    return inverted(number, bench, findings)


def inverted(number: int, bench: Workbench, findings: Findings) -> Attempt:
    """Make a failing test by way of passing ones, by what was found out; raises as `invert`."""
    work = _Inversion(number, bench, findings)
    said, ending = f"no plan of {_PLANS} came to a test that fails as reported", Ending.STEPS
    found: JudgedTest | None = None
    try:
        found = work.run()
    except OutOfTime as problem:
        said, ending = str(problem), Ending.TIME
    return Attempt(
        issue=findings.issue.id,
        strategy="invert",
        index=number,
        tests=(found,) if found is not None else (),
        notes=(Note(code="plans-failed", text=said),) if found is None else (),
        endings=(Ending.FINISH if found is not None else ending,),
    )


class _Inversion:
    """One run at one report."""

    def __init__(self, number: int, bench: Workbench, findings: Findings) -> None:
        issue, index = findings.issue, findings.index
        self.bench = bench
        self.findings = findings
        self._seed = seed_of(issue.id, "invert", number, bench.seed)
        folder = bench.engine.subject.test_root
        self._extractor = Extractor(issue=issue, index=index, folder=folder, host=bench.host)

    def run(self) -> JudgedTest | None:
        plans: list[str] = []
        for _ in range(_PLANS):
            plans.append(" ".join(self._ask("plan", plans=plans).split())[:400])
            self.bench.say(f"plan {len(plans)}: {plans[-1][:80]}")
            passing = turned = None
            for _ in range(_VERSIONS):
                passing = self._test("write", plan=plans[-1], before=passing)
                if passing is None or passing.judgement.verdict is Verdict.PASS:
                    break
            if passing is None or passing.judgement.verdict is not Verdict.PASS:
                continue
            for _ in range(_VERSIONS):
                turned = self._test("turn", passing=passing, before=turned)
                if turned is not None and turned.judgement.candidate:
                    return turned
        return None

    def _test(self, task: str, **values: object) -> JudgedTest | None:
        """Ask for a test and run it; None where the reply has none."""
        reply, bench = self._ask(task, **values), self.bench
        made = self._extractor.tests(reply, Origin(strategy="invert", model=bench.model.name))
        if not made:
            return None
        test = made[0].test
        runs = run_tests([test], bench.engine, bench.repeat, deadline=bench.deadline)[test.id]
        return judge_written(test, runs, bench.facts(self.findings.issue))

    def _ask(self, task: str, **values: object) -> str:
        self._seed += 1

        def build(told: Mapping[str, object]) -> Request:
            every = {"plan": "", "plans": [], "passing": None, "before": None, **told, **values}
            text = render("invert", task=task, **every)
            seed = self._seed % 2**31
            return Request(messages=(Message("user", text),), temperature=0.2, seed=seed)

        model = self.bench.model
        return model.text(fitted(build, self.findings.values, _ORDER, model)[0])
