"""Assertions are turned round by rule only where the report complains about what they demand."""

from __future__ import annotations

import pytest

from pytest_brt.reproduce.invert.tries import flipped


@pytest.mark.parametrize(
    ("body", "turned"),
    [
        ("assert f(1) == 'a b'", 'assert f(1) != "a b"'),
        ("assert 'a b' == f(1)", 'assert "a b" != f(1)'),
        ("assert f(1) is None", ""),
        ("assert f(1) == 'other'", ""),
        ("assert f(1) != 'a b'", ""),
        ("with pytest.raises(KeyError):\n        f(1)", "f(1)"),
        ("with pytest.raises(ValueError):\n        f(1)", ""),
        ("with pytest.raises(KeyError) as caught:\n        f(1)", ""),
        ("with open('x') as g:\n        assert f(g) == 'a b'", 'assert f(g) != "a b"'),
    ],
)
def test_what_is_turned(body: str, turned: str) -> None:
    found = flipped(f"def test_a():\n    {body}\n", ("'a b'",), ("KeyError",))
    assert bool(found) == bool(turned)
    assert turned in found
    assert "raises(KeyError)" not in found
