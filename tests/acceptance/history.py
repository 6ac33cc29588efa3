"""A project with a history."""

from __future__ import annotations

RIGHT = "def double(n):\n    return 2 * n\n"


WRONG = "def double(n):\n    return 2 * n + 1\n"


OLD_TEST = "from pkg import double\n\n\ndef test_zero():\n    assert double(0) >= 0\n"


NEW_TEST = OLD_TEST + "\n\ndef test_two():\n    assert double(2) == 4\n"
