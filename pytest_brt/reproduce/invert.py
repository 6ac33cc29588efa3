"""Pass, then invert: a test of the wrong behaviour that passes, turned round (as AssertFlip does).

A model finds it easier to write a test that passes than one that fails for the right reason.
"""

from __future__ import annotations

from dataclasses import dataclass

from pytest_brt.agents.prompts import render
from pytest_brt.model.request import Message
from pytest_brt.reproduce.extract import read_tests
from pytest_brt.reproduce.order import judge_tests
from pytest_brt.reproduce.prompt import Findings, fitted
from pytest_brt.reproduce.strategy import Workbench, seed_of
from pytest_brt.types import Attempt, JudgedTest, Note, Origin, Verdict

#: Plans, each told of those before, and versions of a passing test and of a turned one for each.
_PLANS, _VERSIONS = 3, 3
_NONE = Note(code="plans-failed", text="no plan came to a test that fails as reported")


def invert(number: int, bench: Workbench, findings: Findings) -> Attempt:
    """Make a failing test of a report by way of passing ones.

    Raises:
        ModelProblem: the model cannot be asked.
        SubjectProblem: the project's interpreter cannot be started.
    """
    issue = findings.issue.id
    work = _Inversion(bench, findings, seed_of(issue, "invert", number))
    plans: list[str] = []
    for _ in range(_PLANS):
        plan = work.ask("plan", plans=plans).strip()[:400]
        plans.append(plan)
        passing = work.write("write", plan=plan)
        if passing and (test := work.write("turn", passing=passing)):
            return Attempt(issue=issue, strategy="invert", index=number, tests=(test,))
    return Attempt(issue=issue, strategy="invert", index=number, tests=(), notes=(_NONE,))


@dataclass(slots=True)
class _Inversion:
    """One run at one report."""

    bench: Workbench
    findings: Findings
    seed: int

    def write(self, task: str, **values: object) -> JudgedTest | None:
        """Ask for a test until one does what is wanted; each is told of the one before."""
        bench, issue = self.bench, self.findings.issue
        index, folder = self.findings.index, bench.engine.subject.test_root
        origin = Origin(strategy="invert", model=bench.model.name)
        before = None
        for _ in range(_VERSIONS):
            reply = self.ask(task, before=before, **values)
            tests = read_tests(reply, issue, index, origin, folder)
            for before in judge_tests(tests[:1], bench, issue):
                passes = before.judgement.verdict is Verdict.PASS
                if passes if task == "write" else before.judgement.candidate:
                    return before
        return None

    def ask(self, task: str, **own: object) -> str:
        """Return the answer to the next question."""
        self.seed = (self.seed + 1) % 2**31

        def build(**values: object) -> tuple[Message, ...]:
            return (Message("user", render("invert", task=task, **values, **own)),)

        model = self.bench.model
        request = fitted(self.findings, model, build, temperature=0.2, seed=self.seed)
        return model.text(request)
