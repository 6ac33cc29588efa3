from __future__ import annotations

from dataclasses import replace

from pytest_brt.repair.trial import Trials
from pytest_brt.types import Origin, TestRun, Verdict
from tests.repair.scenes import Scene
from tests.support.outcomes import caused
from tests.support.rows import judged


def _runs(verdicts: str) -> tuple[TestRun, ...]:
    return tuple(
        TestRun(
            test=f"t{number}",
            node="test_a",
            verdict=verdict,
            cause=caused(verdict),
        )
        for number, letter in enumerate(verdicts)
        for verdict in [Verdict.PASS if letter == "p" else Verdict.FAIL]
    )


def unguarded(changes: object) -> None:
    raise AssertionError(f"no existing test is to be run for {changes}")


def test_a_fix_must_win_half_of_the_trust_and_the_most_trusted_test(scene: Scene) -> None:
    failing = tuple(judged(n, confidence) for n, confidence in enumerate((0.4, 0.3, 0.3)))
    trials = Trials(scene.engine, failing, unguarded)
    assert trials.passes(_runs("ppp"))
    assert trials.passes(_runs("ppf"))
    assert not trials.passes(_runs("pff")), "0.4 of 1.0 is less than half"
    assert not trials.passes(_runs("fpp")), "the most trusted one fails"
    assert Trials(scene.engine, failing[:2], unguarded).passes(_runs("pf")), (
        "0.4 of 0.7 is more than half"
    )


def test_all_tests_that_a_person_gave_must_pass(scene: Scene) -> None:
    made = tuple(judged(n, confidence) for n, confidence in enumerate((0.4, 0.3, 0.3)))
    given = replace(made[2], test=replace(made[2].test, origin=Origin(strategy="given")))
    trials = Trials(scene.engine, (*made[:2], given), unguarded)
    assert trials.passes(_runs("pfp"))
    assert not trials.passes(_runs("ppf"))
