from __future__ import annotations

import pytest

from pytest_brt.oracle.asked import pinned


@pytest.mark.parametrize(
    ("body", "pins"),
    [
        ("assert f(2) == 9", True),
        ("assert 9 == f(2)", True),
        ("assert f(2) is 9", True),
        ("self.assertEqual(f(2), 9)", True),
        ("assert f(2) == 'wrong text'", True),
        ("with pytest.raises(pkg.BadError):\n        f(2)", True),
        ("with pytest.raises((KeyError, BadError)):\n        f(2)", True),
        ("assert f(2) != 9", False),
        ("assert f(2) == 8", False),
        ("assert f(9)", False),
        ("with pytest.raises(KeyError):\n        f(2)", False),
        ("with pytest.raises(BadError, match='other words'):\n        f(2)", False),
    ],
)
def test_what_pins_the_bug(body: str, pins: bool) -> None:
    source = f"def test_a(self):\n    {body}\n"
    assert bool(pinned(source, ("9", "'wrong text'"), ("BadError",))) is pins
