"""What is said of how often tests were right is what was measured, in the tool and on its page."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from pytest_brt.oracle.measured import measured
from pytest_brt.types import Evidence, Judgement, Measured, Verdict

PAGE = (Path(__file__).parents[2] / "docs/measurements.md").read_text("utf-8")


def interval(right: int, of: int) -> str:
    """Return Wilson's 95 % interval as the page has it."""
    z = 1.959964
    share = right / of
    middle = (share + z * z / (2 * of)) / (1 + z * z / of)
    half = z / (1 + z * z / of) * math.sqrt(share * (1 - share) / of + z * z / (4 * of * of))
    return f"{100 * (middle - half):.0f} to {100 * (middle + half):.0f} %"


@pytest.mark.parametrize("evidence", Evidence)
def test_the_page_has_the_rows_of_the_table(evidence: Evidence) -> None:
    (row,) = [line for line in PAGE.split("\n") if line.startswith(f"| `{evidence}`:")]
    found = measured(evidence)
    if found is None:
        assert row.endswith("| – | – | not measured |")
    else:
        shown = f"| {found.right} | {found.of} | {interval(found.right, found.of)} |"
        assert row.endswith(shown), shown


def test_only_nine_in_ten_of_enough_tests_are_reliable() -> None:
    reliable = {kind for kind in Evidence if (found := measured(kind)) and found.reliable}
    assert reliable == {Evidence.REPORTED_EXCEPTION}


@pytest.mark.parametrize(
    ("evidence", "figures", "said"),
    [
        (None, None, True),
        (Evidence.OWN_TEST, None, False),
        (Evidence.STATED_VALUE, Measured(right=9, of=10, reliable=False), False),
        (Evidence.REPORTED_EXCEPTION, Measured(right=19, of=20, reliable=True), True),
    ],
)
def test_what_counts_reproduces_only_where_its_kind_is_reliable(
    evidence: Evidence | None, figures: Measured | None, said: bool
) -> None:
    judgement = Judgement(
        verdict=Verdict.FAIL,
        candidate=True,
        reason="",
        confidence=0.8,
        evidence=evidence,
        measured=figures,
    )
    assert judgement.counts
    assert judgement.reproduces is said
