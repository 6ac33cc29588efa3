from __future__ import annotations

import pytest

from pytest_brt.types import Frame, Raised

TEST = Frame(path="tests/test_x.py", line=3, function="test_x")
OUTER = Frame(path="pkg/core.py", line=7, function="outer", project=True)
INNER = Frame(path="pkg/deep.py", line=9, function="inner", project=True)
LIBRARY = Frame(path="/usr/lib/python3/json.py", line=1, function="loads")


@pytest.mark.parametrize(
    ("frames", "last"),
    [
        ((), None),
        ((TEST, LIBRARY), None),
        ((TEST, OUTER, INNER), INNER),
        ((TEST, OUTER, INNER, LIBRARY), INNER),
    ],
)
def test_the_last_frame_in_the_project(frames: tuple[Frame, ...], last: Frame | None) -> None:
    assert Raised(type="ValueError", message="no", frames=frames).in_project == last
