"""A report that shows a crash may want another one: then it is not surely reproduced."""

from __future__ import annotations

import pytest

from pytest_brt.execute.engine import Engine
from pytest_brt.types import OracleKind
from tests.reproduce.replay.project import attempt, candidates

CRASH = """\
first() and empty lists

```python
from pkg.core import first
first([])
```

```
Traceback (most recent call last):
  File "a.py", line 2, in <module>
    first([])
IndexError: list index out of range
```

"""

WANTS_ANOTHER = (
    "This is confusing; a clear error would be nice.",
    "It should raise `ValueError` instead of `IndexError`.",
    "The error message is not helpful: it should mention the empty list.",
    "**Expected:** ValueError\n**Actual:** IndexError",
    "The docs say that it raises `ValueError`.",
)

WANTS_NONE = (
    "This should not crash.",
    "It used to work in 1.2.",
    "I expect `None`.",
    "This should return `None`.",
    "It fails.",
    "",
    "It should just work for empty lists, but raises an exception.",
    "This worked before 2.0, now it raises IndexError.",
    "I don't see a reason why empty lists should be forbidden.",
)


@pytest.mark.parametrize("words", WANTS_ANOTHER)
def test_where_another_may_be_wanted_nothing_is_reproduced(engine: Engine, words: str) -> None:
    for item in candidates(attempt(engine, f"{CRASH}{words}\n")):
        assert not item.judgement.reproduces


@pytest.mark.parametrize("words", WANTS_NONE)
def test_where_none_is_wanted_it_is(engine: Engine, words: str) -> None:
    best = candidates(attempt(engine, f"{CRASH}{words}\n"))[0]
    assert best.test.oracle.kind is OracleKind.NO_RAISE
    assert best.judgement.reproduces
