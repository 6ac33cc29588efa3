"""Rows and tests for the tests of ranking, in one line each."""

from __future__ import annotations

from pytest_brt.rank.ranking import rank
from pytest_brt.types import (
    CandidateTest,
    Evidence,
    Guarded,
    JudgedTest,
    Judgement,
    Measured,
    Oracle,
    OracleKind,
    Origin,
    Patch,
    PatchResult,
    Raised,
    Rank,
    Regression,
    TestRun,
    Verdict,
)
from tests.support.outcomes import caused

#: Enough of those that lead are right, whatever they lead on.
LEADERS = {str(evidence): Measured(right=50, of=50) for evidence in Evidence}
VERDICTS = {"p": Verdict.PASS, "f": Verdict.FAIL, "?": Verdict.INVALID, "c": Verdict.CRASH}


def ranked(results: tuple[PatchResult, ...], tests: tuple[JudgedTest, ...]) -> tuple[Rank, ...]:
    """Rank, where leaders on any evidence are right."""
    return rank(results, tests, LEADERS)


def row(name: str, cells: str = "", **facts: object) -> PatchResult:
    """Return a row: one letter per test t0, t1, …"""
    patch = Patch(id=name, name=name, text="")
    facts.setdefault("normal", name)
    return PatchResult(
        patch=patch,
        cells=tuple(
            TestRun(
                test=f"t{number}", node="", verdict=VERDICTS[letter], cause=caused(VERDICTS[letter])
            )
            for number, letter in enumerate(cells)
        ),
        **facts,  # type: ignore[arg-type]
    )


def judged(
    number: int,
    confidence: float = 0.65,
    kind: OracleKind = OracleKind.EQUALS,
    message: str | None = None,
) -> JudgedTest:
    """Return candidate t<number>; each fails in its own way unless `message` says so.

    So many of a hundred such tests were right that it is as likely as `confidence` says.
    """
    said = f"assert {number}" if message is None else message
    run = TestRun(
        test=f"t{number}",
        node="test_a",
        verdict=Verdict.FAIL,
        cause=caused(Verdict.FAIL),
        raised=Raised(type="AssertionError", message=said),
    )
    test = CandidateTest(
        id=f"t{number}",
        name="test_a",
        issue="",
        origin=Origin(strategy="replay"),
        oracle=Oracle(kind=kind, sentence=""),
        path=f"test_{number}.py",
        source="",
    )
    judgement = Judgement(
        verdict=Verdict.FAIL,
        candidate=True,
        reason="",
        confidence=confidence,
        runs=(run,),
        evidence=Evidence.OTHER,
        measured=Measured(right=round(104 * confidence) - 2, of=100),
    )
    return JudgedTest(test=test, judgement=judgement)


def broken(count: int, ran: int = 20) -> Guarded:
    """Return what the guard found when `count` existing tests fail newly."""
    return Guarded(
        ran=ran,
        total=100,
        regressions=tuple(
            Regression(test=f"tests/test_x.py::test_{number}", reason="assert 1 == 2")
            for number in range(count)
        ),
    )
