"""What models reply."""

from __future__ import annotations

from hypothesis import strategies as st

PIECES = st.sampled_from(
    [
        "```python\n", "```\n", "~~~\n", "def test_a():\n", "    assert f(1) == 2\n", "import os\n",
        "class TestX:\n", "@pytest.mark.skip\n", "\n", "if x:\n", "else:\n", ">>> f(1)\n", "(",
        '"""', "\0", "\ud800", "\t", "return 1\n", "async def test_b():\n", "x = (\n", ")\n",
        "# note\n", "é",
    ]
)  # fmt: skip


CODE = '''\
"""Tests of f."""
from __future__ import annotations
import os, unittest
import pytest
from pkg import f, unused

LIMIT = helper(3)
OTHER = 4


@pytest.fixture
def thing():
    return LIMIT


# What f is given.
def helper(x):
    return x


@pytest.mark.xfail(reason="known")
def test_a(thing):
    assert f(thing) == os.sep  # why


@pytest.mark.parametrize("n", [1, 2])
def test_b(n):
    """Say so."""
    assert f(n) == 1


class TestC:
    value = 1

    def setup_method(self):
        self.x = helper(1)

    def test_one(self):
        assert f(self.x)

    @pytest.mark.skip
    def test_two(self):
        assert not f(self.value)


class Old(unittest.TestCase):
    @unittest.skip("later")
    def test_three(self):
        self.assertEqual(f(1), 1)


test_b(1)
if __name__ == "__main__":
    pytest.main()
'''
