from __future__ import annotations

from dataclasses import replace

import pytest

from pytest_brt.oracle.judge import examine, run_tests
from pytest_brt.oracle.judge import judge as judge_by
from pytest_brt.sandbox.run_tests import Runner
from pytest_brt.types import CandidateTest, Frame, JudgedTest, OracleKind, Raised, TestRun, Verdict
from pytest_brt.types.report import Reading
from tests.reproduce.project import reading_of
from tests.support.outcomes import caused
from tests.support.rows import judged as judged_row

NOTHING = reading_of("It is off.")


def written(
    kind: OracleKind = OracleKind.GONE,
    *,
    source: str = "def test_a():\n    assert 1 != 1\n",
    expects: Raised | None = None,
) -> CandidateTest:
    return replace(judged_row(0, kind=kind).test, source=source, expects=expects)


def judge(test: CandidateTest, runs: tuple[TestRun, ...], reading: Reading = NOTHING) -> JudgedTest:
    return judge_by(test, runs, reading, confidence=0.5)


def judged_on(engine: Runner, test: CandidateTest, repeat: int) -> JudgedTest:
    return judge(test, run_tests([test], engine, repeat)[test.id])


HERE = Frame(path="pkg/core.py", line=3, function="first", project=True)


def run(verdict: Verdict, raised: str = "", message: str = "") -> TestRun:
    seen = Raised(type=raised, message=message, frames=(HERE,)) if raised else None
    made = judged_row(0).judgement.runs[0]
    return replace(made, verdict=verdict, cause=caused(verdict), raised=seen)


def test_another_exception_before_the_claim_is_none() -> None:
    judged = judge(written(), (run(Verdict.FAIL, "TypeError", "no"),))
    assert not judged.judgement.candidate
    assert "stopped before its check: TypeError: no" in judged.judgement.reason


def test_the_expected_exception_is_known_by_its_kind_and_its_place() -> None:
    expects = Raised(type="TypeError", message="no such key", frames=(replace(HERE, line=9),))

    def is_candidate(kind: str, expects: Raised) -> bool:
        failing = (run(Verdict.FAIL, kind, "other words"),)
        expecting = written(OracleKind.NO_RAISE, expects=expects)
        return judge(expecting, failing).judgement.candidate

    assert is_candidate("TypeError", expects)
    assert not is_candidate("KeyError", expects)
    elsewhere = replace(expects, frames=(replace(HERE, function="last"),))
    assert not is_candidate("TypeError", elsewhere)


def test_runs_that_differ_are_flaky() -> None:
    runs = (run(Verdict.FAIL, "AssertionError"), run(Verdict.PASS))
    assert judge(written(), runs).judgement.verdict is Verdict.FLAKY
    kinds = (run(Verdict.FAIL, "AssertionError"), run(Verdict.FAIL, "KeyError"))
    assert judge(written(), kinds).judgement.verdict is Verdict.FLAKY


@pytest.mark.parametrize(
    ("kind", "message", "said"),
    [
        ("URLError", "<urlopen error [Errno -2] Name or service not known>", "Name or service"),
        ("django.core.exceptions.ImproperlyConfigured", "no settings", "ImproperlyConfigured"),
    ],
)
def test_what_is_not_set_up_here_is_not_the_bug(kind: str, message: str, said: str) -> None:
    expecting = written(OracleKind.NO_RAISE, expects=Raised(type=kind, message=message))
    judged = judge(expecting, (run(Verdict.FAIL, kind, message),))
    assert not judged.judgement.candidate
    assert f"not set up on this machine: {said}" in judged.judgement.reason


STATES = reading_of("`f(1)` gives `9`, but should give `4`.\n\n`get(2)` raises `FormatError`.")
VALUES = reading_of("`f(1)` gives `9`, but should give `4`.")


@pytest.mark.parametrize(
    ("statement", "said"),
    [
        ("assert g() == 9", "asserts the value that the report calls wrong: 9"),
        ("assert f(1) == 5", "asserts 5, the report states 4"),
        ("self.assertEqual(5, f( 1 ))", "asserts 5, the report states 4"),
        (
            "pytest.raises(FormatError)",
            "asserts the exception that the report calls wrong: FormatError",
        ),
        ("pytest.raises(FormatError, match='why')", ""),
        ("assert f(1) == 4", ""),
        ("assert f(2) == 5", ""),
        ("assert g() != 9", ""),
    ],
)
def test_what_a_test_must_not_assert(statement: str, said: str) -> None:
    test = written(OracleKind.WRITTEN, source=f"def test_a():\n    {statement}\n")
    judged = judge(test, (run(Verdict.FAIL, "AssertionError"),), STATES)
    assert judged.judgement.candidate is (not said)
    assert said in judged.judgement.reason


@pytest.mark.parametrize(
    ("verdicts", "answers"),
    [
        ([Verdict.FAIL, Verdict.FAIL], [True, True, True, None, True]),
        ([Verdict.PASS], [False, None, True, None, None]),
        ([Verdict.BROKEN], [False, None, False, None, None]),
        ([Verdict.FAIL, Verdict.PASS], [True, False, True, None, True]),
    ],
)
def test_the_same_five_questions_of_every_test(
    verdicts: list[Verdict], answers: list[bool | None]
) -> None:
    runs = tuple(run(verdict, "AssertionError") for verdict in verdicts)
    findings = examine(written(OracleKind.WRITTEN), runs, NOTHING)
    assert [finding.answer for finding in findings] == answers


def test_a_crash_is_no_bug_of_a_report_about_values() -> None:
    crash = (run(Verdict.FAIL, "TypeError"),)
    about_values = judge(written(OracleKind.WRITTEN), crash, VALUES)
    assert about_values.judgement.reason == "the report does not name TypeError"
    about_a_crash = reading_of("It crashes: `f(1)` gives `9`, but should give `4`.")
    assert judge(written(OracleKind.WRITTEN), crash, about_a_crash).judgement.candidate


def test_hash_order_is_found_out(engine: Runner) -> None:
    source = "import sys\n\n\ndef test_a():\n    assert sys.flags.hash_randomization\n"
    judged = judged_on(engine, written(source=source), 2)
    assert judged.judgement.verdict is Verdict.FLAKY
    assert not judged.judgement.candidate


def test_only_what_the_project_does_is_a_bug_of_it(engine: Runner) -> None:
    reasons = {
        "assert max(101, max([102])) == max([101])": "no code of the project ran in it",
        "double(1)\n    int('x')": "fails in the test itself, not in the project: ValueError",
        "assert double(1) == 2": "",
    }
    head = "from pkg import double\n\n\ndef test_a():\n    "
    made = [
        replace(written(OracleKind.WRITTEN, source=f"{head}{body}\n"), id=body) for body in reasons
    ]
    runs = run_tests(made, engine, 1)
    for test in made:
        judgement = judge(test, runs[test.id]).judgement
        assert judgement.candidate is (not reasons[test.id])
        assert judgement.reason.startswith(reasons[test.id])


def test_what_passes_runs_once(engine: Runner) -> None:
    judged = judged_on(engine, written(source="def test_a():\n    pass\n"), 3)
    assert len(judged.judgement.runs) == 1
    assert judged.judgement.reason == "passes on this tree"
