"""What is said of how often tests were right is what was measured, in the tool and on its page."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from pytest_brt.oracle.judge import measured
from pytest_brt.types import Evidence, Judgement, Measured, Verdict

PAGE = (Path(__file__).parents[2] / "docs/measurements.md").read_text("utf-8")


def interval(right: int, of: int) -> str:
    """Return Wilson's 95 % interval as the page has it."""
    z = 1.959964
    if not of:
        return "not measured"
    share = right / of
    middle = (share + z * z / (2 * of)) / (1 + z * z / of)
    half = z / (1 + z * z / of) * math.sqrt(share * (1 - share) / of + z * z / (4 * of * of))
    return f"{100 * (middle - half):.0f} to {100 * (middle + half):.0f} %"


def judgement(confidence: float, figures: Measured | None) -> Judgement:
    return Judgement(
        verdict=Verdict.FAIL, candidate=True, reason="", confidence=confidence, measured=figures
    )


@pytest.mark.parametrize("evidence", Evidence)
def test_the_page_has_the_rows_of_the_table(evidence: Evidence) -> None:
    (row,) = [line for line in PAGE.split("\n") if line.startswith(f"| `{evidence}`:")]
    found = measured(evidence)
    made = judgement(found.confidence, found)
    word = "reproduced" if made.reproduces else "possibly reproduced"
    shown = [
        f"{found.right} | {found.of}" if found.of else "– | –",
        interval(found.right, found.of),
        f"{found.confidence:.2f}",
        f"{word}, counts" if made.counts else word,
    ]
    assert row.endswith(f"| {' | '.join(shown)} |"), shown


@pytest.mark.parametrize(
    ("right", "of", "counts", "reproduces"),
    [
        (0, 0, False, False),
        (2, 11, False, False),
        (29, 38, True, False),
        (18, 19, True, False),
        (18, 20, True, True),
        (17, 20, True, False),
    ],
)
def test_one_number_decides_whether_a_test_counts_and_what_is_said_of_it(
    right: int, of: int, counts: bool, reproduces: bool
) -> None:
    figures = Measured(right=right, of=of)
    assert figures.confidence == (right + 2) / (of + 4)
    made = judgement(figures.confidence, figures)
    assert (made.counts, made.reproduces) == (counts, reproduces)


def test_what_was_not_measured_reproduces_only_by_a_persons_word() -> None:
    assert not judgement(0.95, None).reproduces
    assert judgement(1.0, None).reproduces
