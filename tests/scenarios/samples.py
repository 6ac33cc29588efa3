"""A project with two bugs, and reports of them, for scenarios that are about something else."""

from __future__ import annotations

INTERVAL = '''\
def clamp(value, low, high):
    """Return `value`, moved into low..high."""
    return max(low, min(value, low))


def mean(values):
    """Return the arithmetic mean, 0 for no values."""
    return sum(values) / len(values)
'''
SUITE = """\
from interval import clamp, mean


def test_below():
    assert clamp(-1, 0, 10) == 0


def test_mean():
    assert mean([1, 3]) == 2
"""
#: The project's files; plain pytest runs its tests.
FILES = {
    "interval.py": INTERVAL,
    "tests/test_interval.py": SUITE,
    "pytest.ini": "[pytest]\npythonpath = .\n",
}
CLAMP = "max(low, min(value, low))"
CLAMP_RIGHT = "max(low, min(value, high))"
CLAMP_FIXED = {"interval.py": INTERVAL.replace(CLAMP, CLAMP_RIGHT)}
MEAN = "sum(values) / len(values)"
MEAN_FIXED = {"interval.py": INTERVAL.replace(MEAN, f"{MEAN} if values else 0")}

#: "Reproduced": the traceback says it all.
MEAN_REPORT = """\
# mean() crashes without values

```pycon
>>> from interval import mean
>>> mean([])
Traceback (most recent call last):
  File "interval.py", line 8, in mean
    return sum(values) / len(values)
ZeroDivisionError: division by zero
```
"""
CLAMP_REPORT = """\
# clamp() always gives the lower bound

```pycon
>>> from interval import clamp
>>> clamp(5, 0, 10)
0
>>> clamp(12, 0, 10)
0
```

`clamp(5, 0, 10)` should be `5`, and `clamp(12, 0, 10)` should be `10`.
"""
#: It shows no code, so that there is nothing to do without a model.
SLIDERS_REPORT = """\
# Sliders jump back to their lower bound

Since the last release every slider jumps to the left: clamp gives the lower bound for each value,
also for one between the bounds. I expect the value itself there, as for 5 between 0 and 10.
"""
#: A test that a person wrote: it counts as sure.
CLAMP_TEST = """\
from interval import clamp


def test_inside():
    assert clamp(5, 0, 10) == 5


def test_above():
    assert clamp(12, 0, 10) == 10
"""
