from __future__ import annotations

import pytest

from pytest_brt.oracle.asked import pinned
from pytest_brt.types import CandidateTest, Oracle, OracleKind, Origin


def _test(source: str) -> CandidateTest:
    return CandidateTest(
        id="t",
        name="test_a",
        issue="",
        origin=Origin(strategy="given"),
        oracle=Oracle(kind=OracleKind.WRITTEN, sentence=""),
        path="test_a.py",
        source=source,
    )


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
    assert bool(pinned(_test(source), ("9", "'wrong text'"), ("BadError",))) is pins


def test_what_other_tests_of_its_file_pin_is_not_its_doing() -> None:
    right = "def test_a():\n    assert f(2) == 8\n"
    wrong = "def test_b():\n    assert f(2) == 9\n"
    assert not pinned(_test(right + wrong), ("9",), ())
    helper = "def checked(value):\n    assert value == 9\n"
    assert pinned(_test(helper + "def test_a():\n    checked(f(2))\n"), ("9",), ())


def test_what_is_not_python_pins_nothing() -> None:
    assert not pinned(_test("def test_a(:\n"), ("9",), ())
