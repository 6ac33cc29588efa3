from __future__ import annotations

from dataclasses import replace

import pytest

from pytest_brt.oracle.judge import examine, missing_here, run_tests
from pytest_brt.oracle.judge import judge as judge_by
from pytest_brt.sandbox.run_tests import Runner
from pytest_brt.types import (
    CandidateTest,
    Frame,
    JudgedTest,
    Oracle,
    OracleKind,
    Origin,
    Raised,
    TestRun,
    Verdict,
)
from pytest_brt.types.report import Reading
from tests.reproduce.project import reading_of
from tests.support.outcomes import caused

NOTHING = reading_of("It is off.")


def written(
    kind: OracleKind = OracleKind.GONE,
    *,
    source: str = "def test_a():\n    assert 1 != 1\n",
    expects: Raised | None = None,
) -> CandidateTest:
    return CandidateTest(
        id="t",
        name="test_a",
        issue="i",
        origin=Origin(strategy="replay"),
        oracle=Oracle(kind=kind, sentence="s"),
        path="tests/test_a.py",
        source=source,
        expects=expects,
    )


def judge(test: CandidateTest, runs: tuple[TestRun, ...], reading: Reading = NOTHING) -> JudgedTest:
    return judge_by(test, runs, reading, confidence=0.5)


def judged_on(engine: Runner, test: CandidateTest, repeat: int) -> JudgedTest:
    return judge(test, run_tests([test], engine, repeat)[test.id])


def run(verdict: Verdict, raised: str = "", message: str = "") -> TestRun:
    seen = Raised(
        type=raised,
        message=message,
        frames=(Frame(path="pkg/core.py", line=3, function="first", project=True),),
    )
    return TestRun(
        test="t",
        node="test_a",
        verdict=verdict,
        cause=caused(verdict),
        raised=seen if raised else None,
    )


def test_a_failed_claim_is_a_candidate() -> None:
    judged = judge(written(), (run(Verdict.FAIL, "AssertionError"),) * 2)
    assert judged.judgement.candidate
    assert judged.judgement.confidence == 0.5


def test_another_exception_before_the_claim_is_none() -> None:
    judged = judge(written(), (run(Verdict.FAIL, "TypeError", "no"),))
    assert not judged.judgement.candidate
    assert "stopped before its check: TypeError: no" in judged.judgement.reason


def test_the_expected_exception_is_a_candidate_and_says_where() -> None:
    here = Frame(path="pkg/core.py", line=9, function="first", project=True)
    expects = Raised(type="IndexError", message="", frames=(here,))
    right = judge(written(OracleKind.NO_RAISE, expects=expects), (run(Verdict.FAIL, "IndexError"),))
    assert right.judgement.candidate
    other = judge(written(OracleKind.NO_RAISE, expects=expects), (run(Verdict.FAIL, "KeyError"),))
    assert not other.judgement.candidate


def test_runs_that_differ_are_flaky() -> None:
    runs = (run(Verdict.FAIL, "AssertionError"), run(Verdict.PASS))
    assert judge(written(), runs).judgement.verdict is Verdict.FLAKY
    kinds = (run(Verdict.FAIL, "AssertionError"), run(Verdict.FAIL, "KeyError"))
    assert judge(written(), kinds).judgement.verdict is Verdict.FLAKY


def test_no_network_is_not_the_bug() -> None:
    message = "<urlopen error [Errno -2] Name or service not known>"
    expects = Raised(type="URLError", message=message)
    judged = judge(
        written(OracleKind.NO_RAISE, expects=expects), (run(Verdict.FAIL, "URLError", message),)
    )
    assert not judged.judgement.candidate
    assert "not set up on this machine: Name or service" in judged.judgement.reason


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


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ("assert max(101, max([102])) == max([101])", "no code of the project ran in it"),
        ("double(1)\n    int('x')", "fails in the test itself, not in the project: ValueError"),
        ("import json\n    json.loads('{')", "no code of the project ran in it"),
        ("assert double(1) == 2", ""),
        ("first([])", ""),
    ],
)
def test_only_what_the_project_does_is_a_bug_of_it(engine: Runner, body: str, reason: str) -> None:
    source = f"from pkg import double, first\n\n\ndef test_a():\n    {body}\n"
    judged = judged_on(engine, written(OracleKind.WRITTEN, source=source), 1)
    assert judged.judgement.candidate is (not reason)
    assert judged.judgement.reason.startswith(reason)


def test_what_is_not_set_up_here_is_no_bug() -> None:
    lacking = run(Verdict.FAIL, "django.core.exceptions.ImproperlyConfigured", "no settings")
    assert (
        "not set up on this machine"
        in judge(written(OracleKind.WRITTEN), (lacking,)).judgement.reason
    )


def test_what_passes_runs_once(engine: Runner) -> None:
    judged = judged_on(engine, written(source="def test_a():\n    pass\n"), 3)
    assert len(judged.judgement.runs) == 1
    assert judged.judgement.reason == "passes on this tree"


def test_the_same_exception_from_another_place_is_another() -> None:
    here = Frame(path="pkg/core.py", line=9, function="first", project=True)
    seen = Raised(type="TypeError", message="no such key", frames=(here,))

    def is_candidate(expects: Raised) -> bool:
        expecting = written(OracleKind.NO_RAISE, expects=expects)
        failing = (run(Verdict.FAIL, "TypeError", "other words"),)
        return judge(expecting, failing).judgement.candidate

    assert is_candidate(seen)
    assert not is_candidate(replace(seen, frames=(replace(here, function="last"),)))


@pytest.mark.parametrize(
    ("type_", "message", "said"),
    [
        (
            "RuntimeError",
            'Database access not allowed, use the "django_db" mark to enable it.',
            "Database access not allowed",
        ),
        (
            "django.test.testcases.DatabaseOperationForbidden",
            "Database queries to 'default' are not allowed in SimpleTestCase subclasses.",
            "are not allowed in SimpleTestCase subclasses",
        ),
        ("OSError", "Multiple exceptions: [Errno 111] Connect call failed", "Connect call failed"),
        ("ConnectionRefusedError", "[Errno 111] Connection refused", "Connection refused"),
        ("AssertionError", "assert 1 == 2", ""),
    ],
)
def test_exceptions_of_the_surroundings(type_: str, message: str, said: str) -> None:
    assert missing_here(Raised(type=type_, message=message)) == said


def test_without_an_exception_nothing_is_said() -> None:
    assert missing_here(None) == ""
