"""What is said of repairs."""

from __future__ import annotations

import pytest

from pytest_brt.render.fixes import why_no_patch
from pytest_brt.types import Ending, Repair, Step, Trajectory


@pytest.mark.parametrize(
    ("trajectory", "why"),
    [
        (None, "no fix was tried"),
        (
            Trajectory(steps=(), ending=Ending.TOKENS),
            "the first prompt does not fit the model; give the model a larger context "
            "(--brt-model MODEL,context=N)",
        ),
        (
            Trajectory(steps=(Step(number=1, reply="hm"),), ending=Ending.STEPS),
            "no fix passes the tests",
        ),
    ],
)
def test_why_there_is_no_patch(trajectory: Trajectory | None, why: str) -> None:
    repair = Repair(issue="clamp", strategy="repairagent", index=0, fixes=(), trajectory=trajectory)
    assert why_no_patch([repair]) == why
