from __future__ import annotations

from dataclasses import replace

import pytest

from pytest_brt.execute.engine import Engine
from pytest_brt.oracle.facts import Facts
from pytest_brt.oracle.judge import Rating, is_isolation, is_unset_variable, run_tests
from pytest_brt.oracle.judge import judge as judge_by
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
from tests.support.outcomes import caused


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


def judge(
    test: CandidateTest, runs: tuple[TestRun, ...], wrong: tuple[str, ...] = ()
) -> JudgedTest:
    facts = Facts(text="", crash=False, context="", wrong=wrong)
    return judge_by(test, runs, facts, lambda _: Rating(confidence=0.5, reasons=("why",)))


def judged_on(engine: Engine, test: CandidateTest, repeat: int) -> JudgedTest:
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
    assert judged.judgement.reason == "still returns the reported value; why"


def test_another_exception_before_the_claim_is_none() -> None:
    judged = judge(written(), (run(Verdict.FAIL, "TypeError", "no"),))
    assert not judged.judgement.candidate
    assert "stopped before its check: TypeError: no" in judged.judgement.reason


def test_the_expected_exception_is_a_candidate_and_says_where() -> None:
    expects = Raised(type="IndexError", message="")
    right = judge(written(OracleKind.NO_RAISE, expects=expects), (run(Verdict.FAIL, "IndexError"),))
    assert right.judgement.candidate
    assert right.judgement.reason.startswith("raises IndexError in pkg/core.py, first")
    other = judge(written(OracleKind.NO_RAISE, expects=expects), (run(Verdict.FAIL, "KeyError"),))
    assert not other.judgement.candidate


def test_runs_that_differ_are_flaky() -> None:
    runs = (run(Verdict.FAIL, "AssertionError"), run(Verdict.PASS))
    assert judge(written(), runs).judgement.verdict is Verdict.FLAKY
    kinds = (run(Verdict.FAIL, "AssertionError"), run(Verdict.FAIL, "KeyError"))
    assert judge(written(), kinds).judgement.verdict is Verdict.FLAKY


def test_no_network_is_not_the_bug() -> None:
    message = "<urlopen error [Errno -2] Name or service not known>"
    assert is_isolation(Raised(type="URLError", message=message))
    expects = Raised(type="URLError", message=message)
    judged = judge(
        written(OracleKind.NO_RAISE, expects=expects), (run(Verdict.FAIL, "URLError", message),)
    )
    assert not judged.judgement.candidate
    assert "isolation" in judged.judgement.reason


def test_a_test_that_pins_the_bug_is_refused() -> None:
    pins = written(source="def test_a():\n    assert f() == 9\n")
    judged = judge(pins, (run(Verdict.FAIL, "AssertionError"),), wrong=("9",))
    assert not judged.judgement.candidate
    assert "asserts the value that the report calls wrong: 9" in judged.judgement.reason


def test_hash_order_is_found_out(engine: Engine) -> None:
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
def test_only_what_the_project_does_is_a_bug_of_it(engine: Engine, body: str, reason: str) -> None:
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


def test_what_passes_runs_once(engine: Engine) -> None:
    judged = judged_on(engine, written(source="def test_a():\n    pass\n"), 3)
    assert len(judged.judgement.runs) == 1
    assert judged.judgement.reason == "passes on this tree"


def test_the_same_exception_that_says_another_thing_elsewhere_is_another() -> None:
    seen = Raised(type="TypeError", message="cannot multiply 'a' by 3")
    expecting = written(OracleKind.NO_RAISE, expects=seen)

    def is_candidate(message: str) -> bool:
        return judge(expecting, (run(Verdict.FAIL, "TypeError", message),)).judgement.candidate

    assert is_candidate("cannot multiply 'b' by 40")
    assert not is_candidate("got an unexpected keyword argument 'msg'")
    here = Frame(path="pkg/core.py", line=9, function="first", project=True)
    placed = written(
        OracleKind.NO_RAISE, expects=Raised(type="TypeError", message="no such key", frames=(here,))
    )
    assert judge(placed, (run(Verdict.FAIL, "TypeError", "other words"),)).judgement.candidate


def test_a_variable_that_is_not_set_here_is_no_bug() -> None:
    frames = (
        Frame(path="pkg/shop.py", line=6, function="price", project=True),
        Frame(path="/usr/lib/python3.11/os.py", line=679, function="__getitem__"),
    )
    unset = Raised(type="KeyError", message="'SHOP'", frames=frames)
    assert is_unset_variable(unset)
    assert not is_unset_variable(replace(unset, frames=frames[:1]))
    assert not is_unset_variable(replace(unset, type="ValueError"))
    assert not is_unset_variable(replace(unset, frames=()))
