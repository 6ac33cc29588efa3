"""By the rules: what of a model's tests is a candidate, and what two failures have in common."""

from __future__ import annotations

import pytest

from pytest_brt.oracle.judge import failure_key
from pytest_brt.reproduce.model_tests.confidence import is_repairable
from pytest_brt.types import (
    Frame,
    TestRun,
    Verdict,
)
from pytest_brt.types.cause import BodyRaised, Phase, PhaseFailed
from tests.reproduce.model_tests.judging import CRASH, PRODUCT, judged, run

NO_FIXTURE = PhaseFailed(phase=Phase.SETUP, text="fixture 'a' not found")
DENIED = PhaseFailed(phase=Phase.SETUP, denied="ENETUNREACH")


def test_a_failed_claim_about_the_quoted_value_is_a_candidate() -> None:
    found = judged(run(), run()).judgement
    assert found.candidate
    assert "the report quotes the value 'a-b'" in found.reason
    assert found.confidence > judged(run(message="assert 3 == 4")).judgement.confidence


@pytest.mark.parametrize(
    ("runs", "said"),
    [
        ((), "the test did not run"),
        ((run(verdict=Verdict.PASS, raised=""),), "passes on this tree"),
        (
            (run("", verdict=Verdict.BROKEN, cause=NO_FIXTURE),),
            "setup failed: fixture 'a' not found",
        ),
        ((run(), run(verdict=Verdict.PASS, raised="")), "runs on the same tree differ: FAIL, PASS"),
        ((run(), run(raised="KeyError")), "runs on the same tree differ: FAIL, FAIL"),
        ((run("OSError", "[Errno 101] Network is unreachable"),), "caused by the isolation"),
        (
            (run("AttributeError", "module 'datetime' has no attribute 'now'"),),
            "error in the test itself",
        ),
        ((run(raised=""),), "failed, but the exception could not be read"),
    ],
)
def test_what_is_no_candidate(runs: tuple[TestRun, ...], said: str) -> None:
    found = judged(*runs).judgement
    assert not found.candidate
    assert found.confidence == 0
    assert found.reason.startswith(said)


def test_a_test_that_demands_the_complaint_is_refused() -> None:
    source = "def test_a():\n    assert g(1) == 1\n    assert f(1) == 'a-b'\n"
    other = run(message="assert 3 == 1")
    refused = judged(other, source=source).judgement
    assert refused.reason == "asserts the value that the report calls wrong: 'a-b'"
    source = "def test_a():\n    with pytest.raises(KeyError):\n        f(1)\n    f(2)\n"
    refused = judged(other, source=source, facts=CRASH).judgement
    assert refused.reason == "asserts the exception that the report calls wrong: KeyError"


def test_a_test_that_fails_as_reported_may_demand_the_same_of_other_inputs() -> None:
    source = "def test_a():\n    with pytest.raises(KeyError):\n        f('no')\n    f(1)\n"
    crash = run("KeyError", "'a'", frames=(PRODUCT,))
    assert judged(crash, source=source, facts=CRASH).judgement.candidate


def test_a_crash_counts_by_what_the_report_is_about() -> None:
    crash = run("KeyError", "'a'", frames=(PRODUCT,))
    named, other = judged(crash, facts=CRASH).judgement, judged(crash).judgement
    assert named.candidate
    assert "raises KeyError in pkg/core.py, f; the report names KeyError" in named.reason
    assert other.candidate
    assert "crashes, though the report is about a wrong value" in other.reason
    assert other.confidence < named.confidence


def test_calling_the_project_wrongly_is_kept_far_down() -> None:
    found = judged(run("TypeError", "f() takes 1", cause=BodyRaised(mismatch=True))).judgement
    assert found.candidate
    assert found.confidence < 0.1


@pytest.mark.parametrize(
    ("broken", "repairable"),
    [
        (run("ImportError", "no name", verdict=Verdict.BROKEN), True),
        (run("ModuleNotFoundError", "no module", verdict=Verdict.BROKEN), True),
        (run("NameError", "x", verdict=Verdict.BROKEN), True),
        (run("_pytest.fixtures.FixtureLookupError", "x", verdict=Verdict.BROKEN), True),
        (run("", verdict=Verdict.BROKEN, cause=NO_FIXTURE), True),
        (run("ZeroDivisionError", "x", verdict=Verdict.BROKEN), False),
        (run("ImportError", "x", verdict=Verdict.BROKEN, cause=DENIED), False),
        (run("NameError", "x"), False),
        (run("AttributeError", "module 'os.path' has no attribute 'x'"), True),
        (run("AttributeError", "module 'pkg' has no attribute 'x'"), False),
        (run("", verdict=Verdict.TIMEOUT), False),
    ],
)
def test_what_only_lacks_names_can_be_repaired(broken: TestRun, repairable: bool) -> None:
    assert is_repairable(broken) is repairable


def test_equal_failures_have_equal_keys() -> None:
    first = run(message="assert <A at 0x7f01> == 1\n  in test_one")
    assert failure_key(first) == failure_key(run(message="assert <A at 0x7fff> == 1"))
    assert failure_key(first) != failure_key(run(message="assert 2 == 1"))
    crash = run("KeyError", "1", frames=(PRODUCT,))
    elsewhere = run(
        "KeyError", "1", frames=(Frame(path="b.py", line=1, function="g", project=True),)
    )
    assert failure_key(crash) != failure_key(elsewhere)
