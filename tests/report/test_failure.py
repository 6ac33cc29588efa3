from __future__ import annotations

import pytest

from pytest_brt.report.failure import place_of
from pytest_brt.types import Frame, Raised, TestRun, Verdict

TEST = Frame(path="tests/test_x.py", line=3, function="test_x")
OUTER = Frame(path="pkg/core.py", line=7, function="outer", project=True)
INNER = Frame(path="pkg/deep.py", line=9, function="inner", project=True)
LIBRARY = Frame(path="/usr/lib/python3/json.py", line=1, function="loads")


def failed(*frames: Frame, values: tuple[tuple[str, str], ...] = ()) -> TestRun:
    raised = Raised(type="ValueError", message="no", frames=frames, values=values)
    return TestRun(test="t", node="test_x", verdict=Verdict.FAIL, reason="no", raised=raised)


@pytest.mark.parametrize(
    ("run", "place"),
    [
        (failed(TEST), ""),
        (failed(OUTER, TEST), ""),
        (failed(OUTER, TEST, LIBRARY), ""),
        (failed(TEST, OUTER, LIBRARY), "at pkg/core.py:7 in outer"),
        (
            failed(TEST, OUTER, INNER, values=(("a", "1"), ("b", "<Thing>"))),
            "at pkg/deep.py:9 in inner, where a = 1, b = <Thing>",
        ),
        (TestRun(test="t", node="test_x", verdict=Verdict.CRASH, reason="killed"), ""),
    ],
)
def test_the_last_place_in_the_project_is_named(run: TestRun, place: str) -> None:
    assert place_of(run) == place
