from __future__ import annotations

import pytest

from pytest_brt.patches.target import is_prefixed


@pytest.mark.parametrize(
    ("old", "new", "answer"),
    [
        ("a/m.py", "b/m.py", True),
        ("a/m.py", "a/m.py", True),
        (None, "b/m.py", True),
        ("old/m.py", "new/m.py", True),
        ("pkg/m.py", "pkg/m.py", False),
        ("m.py", "m.py", False),
        ("m.py", "n.py", False),
        (None, "pkg/m.py", False),
    ],
)
def test_is_prefixed(old: str | None, new: str | None, answer: bool) -> None:
    assert is_prefixed(old, new) is answer
