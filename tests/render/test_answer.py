"""The one sentence that a report comes to: the golden files have the others."""

from __future__ import annotations

from dataclasses import replace

from pytest_brt.render.answer import answer_issue
from pytest_brt.types import Attempt, JudgedTest
from tests.support.rows import judged


def attempt(*tests: JudgedTest) -> Attempt:
    return Attempt(issue="i", strategy="replay", index=0, tests=tests)


def called(name: str, confidence: float) -> JudgedTest:
    test = judged(0, confidence)
    return replace(test, test=replace(test.test, name=name))


def test_a_report_is_reproduced_by_its_best_test_whatever_attempt_found_it() -> None:
    one = attempt(called("test_a", 0.8), called("test_weak", 0.2))
    sentence = "Reproduced: {} fails, probably because of this bug ({}% sure)."
    assert answer_issue([one]).text == sentence.format("test_a", 80)
    two = attempt(called("test_b", 0.9))
    assert answer_issue([one, two]).text == sentence.format("test_b", 90)
