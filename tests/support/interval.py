"""A project with two bugs, the reports of them, and patches."""

from __future__ import annotations

import difflib

SOURCE = '''\
"""Arithmetic on intervals."""


def clamp(value, low, high):
    """Return `value`, moved into low..high."""
    return max(low, min(value, low))


def mean(values):
    """Return the arithmetic mean, 0 for no values."""
    return sum(values) / len(values)
'''

TESTS = """\
from interval import clamp, mean


def test_clamp_below():
    assert clamp(-1, 0, 10) == 0


def test_mean():
    assert mean([1, 2, 3]) == 2
"""

CLAMP_ISSUE = """\
# clamp() always returns the lower bound

I have interval 1.0.

```python
>>> from interval import clamp
>>> clamp(5, 0, 10)
0
>>> clamp(12, 0, 10)
0
```

`clamp(5, 0, 10)` should be `5`, and `clamp(12, 0, 10)` should be `10`.
"""

MEAN_ISSUE = """\
# mean() of nothing crashes

```python
from interval import mean
mean([])
```

Traceback:

```
Traceback (most recent call last):
  File "t.py", line 2, in <module>
    mean([])
  File "/home/me/interval/__init__.py", line 11, in mean
    return sum(values) / len(values)
ZeroDivisionError: division by zero
```

I expected 0, as the docstring says.
"""

CLAMP = "    return max(low, min(value, low))\n"

FIXES = {
    "a-right": "    return max(low, min(value, high))\n",
    "b-literal": "    if value == 5:\n        return 5\n    return max(low, min(value, low))\n",
    "c-wrong": "    return max(high, min(value, low))\n",
    "d-right-too": "    return low if value < low else min(value, high)\n",
}


def diff_of(after: str, path: str = "interval/__init__.py", before: str = SOURCE) -> str:
    """Return a git-style diff from `before` to `after`."""
    lines = difflib.unified_diff(
        before.splitlines(keepends=True), after.splitlines(keepends=True), f"a/{path}", f"b/{path}"
    )
    return "".join(lines)
