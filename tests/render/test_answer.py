"""The one sentence that a report comes to."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from pytest_brt.render.answer import answer_issue
from pytest_brt.types import (
    Attempt,
    Cost,
    Fix,
    JudgedTest,
    OracleKind,
    Origin,
    Verdict,
)
from tests.render.samples import LEFT_OUT, UNCLEAR, said
from tests.support.rows import judged

TESTS = (judged(0), judged(1))
ASKED = Cost(calls=1)
NONE_SHOWS = "Not reproduced: no test made from the report shows it"
AGAIN = (
    "give the model more time or steps (--brt-budget, --brt-steps), or try a larger one "
    "('pytest-brt models')"
)


def attempt(*tests: JudgedTest, strategy: str = "replay", **rest: Any) -> Attempt:
    return Attempt(issue="i", strategy=strategy, index=0, tests=tests, **rest)


def of_report(attempts: list[Attempt]) -> str:
    return answer_issue(attempts).text


def no_bug_test(number: int, verdict: Verdict) -> JudgedTest:
    test = judged(number)
    found = replace(test.judgement, verdict=verdict, candidate=False, reason=f"it is {verdict}")
    return replace(test, judgement=found)


def by_model(test: JudgedTest, strategy: str = "libro") -> JudgedTest:
    return replace(test, test=replace(test.test, origin=Origin(strategy=strategy, model="m")))


def called(name: str, confidence: float) -> JudgedTest:
    test = judged(0, confidence)
    return replace(test, test=replace(test.test, name=name))


def test_a_report_is_reproduced_by_its_best_test_whatever_attempt_found_it() -> None:
    one = attempt(called("test_a", 0.8), called("test_weak", 0.2))
    assert of_report([one]) == "Reproduced: test_a fails, probably because of this bug (80% sure)."
    two = attempt(called("test_b", 0.9))
    assert of_report([one, two]) == (
        "Reproduced: test_b fails, probably because of this bug (90% sure)."
    )


def test_tests_that_may_not_be_about_the_bug_reproduce_it_only_possibly() -> None:
    said = of_report([attempt(called("test_a", 0.3), called("test_b", 0.4))])
    assert said.startswith("Possibly reproduced: test_b fails (40% sure), but the report may mean")
    weak = judged(0, 0.3, OracleKind.GONE)
    assert "; add to the report what should happen instead, as in" in of_report([attempt(weak)])


@pytest.mark.parametrize(
    ("made", "answer"),
    [
        (
            attempt(misses=(LEFT_OUT, UNCLEAR)),
            "Not reproduced: lines 4 to 6 of the report are not Python 3 and were left out: "
            "'print clamp(5)'; add to the report the exact wrong output or exception.",
        ),
        (
            attempt(no_bug_test(0, Verdict.TIMEOUT)),
            f"{NONE_SHOWS}: it is TIMEOUT; see -v.",
        ),
        (attempt(), "Not reproduced: no test could be made from the report."),
        (
            attempt(
                strategy="agent",
                notes=(said("dialogue-ended", "1 step: time limit reached"),),
                cost=ASKED,
            ),
            f"Not reproduced: 1 step: time limit reached; {AGAIN}.",
        ),
        (
            attempt(by_model(no_bug_test(0, Verdict.PASS)), cost=ASKED),
            f"{NONE_SHOWS}: it is PASS; {AGAIN}.",
        ),
        (
            attempt(
                notes=(said("samples-drawn", "2 samples: no usable sample"),),
                cost=ASKED,
            ),
            f"Not reproduced: 2 samples: no usable sample; {AGAIN}.",
        ),
    ],
)
def test_why_a_report_is_not_reproduced(made: Attempt, answer: str) -> None:
    assert of_report([made]) == answer


@pytest.mark.parametrize(
    ("fix", "sentence"),
    [
        (
            Fix(code="fixed-by", text="fixed by abc (A: Mend)", commit="abc"),
            "Not reproduced here: fixed by abc (A: Mend). `f(1)` gives 2.",
        ),
        (
            None,
            "Not reproduced here: `f(1)` gives 2; check that this is the version the report is "
            "about.",
        ),
    ],
)
def test_what_does_not_show_here_is_told_with_what_fixed_it(fix: Fix | None, sentence: str) -> None:
    test = judged(0)
    oracle = replace(test.test.oracle, sentence="`f(1)` gives 2.")
    seen = replace(test, test=replace(test.test, oracle=oracle))
    answer = answer_issue([attempt(settled=(seen,), fix=fix)])
    assert (answer.text, answer.fix) == (sentence, fix)
