"""What speaks for a model's test, and what makes one count by itself."""

from __future__ import annotations

from dataclasses import replace

import pytest

from pytest_brt.oracle.report_facts import failure_matches_report
from pytest_brt.reproduce.order import judge_written
from pytest_brt.types import Frame, Judgement, OracleKind, Raised
from pytest_brt.types.report import Reading
from tests.reproduce.project import reading_of
from tests.support.rows import judged as judged_row

SOURCE = "def test_a():\n    assert f(1) == 4\n"
STATES = reading_of("`f(1)` gives `9`, but should give `4`.")
CRASHES = reading_of("It raises KeyError.")


def judged(
    reading: Reading, kind: str, message: str = "", agree: int = 1, samples: int = 6
) -> Judgement:
    frame = Frame(path="pkg/core.py", line=3, function="f", project=True)
    made = judged_row(0, kind=OracleKind.WRITTEN)
    raised = Raised(type=kind, message=message, frames=(frame,))
    run = replace(made.judgement.runs[0], raised=raised)
    test = replace(made.test, source=SOURCE)
    return judge_written(test, (run, run), reading, agree, samples).judgement


def test_the_values_of_the_report_are_enough() -> None:
    assert judged(STATES, "AssertionError", "assert 9 == 4").counts
    assert not judged(STATES, "AssertionError", "assert 8 == 4").counts


@pytest.mark.parametrize(("agree", "counts"), [(1, False), (2, False), (3, False), (4, True)])
def test_the_reported_failure_counts_where_most_samples_show_it(agree: int, counts: bool) -> None:
    assert judged(CRASHES, "KeyError", agree=agree).counts is counts


def test_the_reported_failure_comes_first_then_what_more_agree_with() -> None:
    order = [
        judged(CRASHES, "KeyError", agree=3),
        judged(CRASHES, "KeyError"),
        judged(CRASHES, "AssertionError", "assert 1 == 2", agree=5),
        judged(CRASHES, "AssertionError", "assert 1 == 3"),
    ]
    assert all(one.candidate for one in order)
    assert sorted(order, key=lambda one: -one.confidence) == order


def test_the_stated_value_of_the_very_call_is_what_the_report_asks_for() -> None:
    raised = Raised(type="AssertionError", message="assert 9 == 4")
    stated = reading_of("```\nfrom pkg import f\n```\n`f(1)` should return `4`.")
    assert failure_matches_report(stated, SOURCE, raised) == "the report states 4"
    assert not failure_matches_report(stated, SOURCE.replace("f(1)", "f(2)"), raised)
