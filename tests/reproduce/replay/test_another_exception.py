"""A report that shows a crash may want another one: then no test may say that none must come."""

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
    "IndexError should be ValueError.",
    "It should raise `ValueError` instead of `IndexError`.",
    "I'd expect a `ValueError` here.",
    "The error message is not helpful: it should mention the empty list.",
    "This should be caught and re-raised as a `ValueError`.",
    "## Expected behavior\n\nA `ValueError`.",
    "**Expected:** ValueError\n**Actual:** IndexError",
    "The docs say that it raises `ValueError`.",
    "Please raise a nicer error.",
    "The traceback points to internal code; the user should get a friendly message.",
    "I get IndexError instead of ValueError.",
    "That is the wrong exception type.",
    "It should fail with a `ValueError`.",
    "It would be better to raise a `TypeError`.",
    "I think `ValueError` is more appropriate.",
    "This should not be an `IndexError` but a `ValueError`.",
    'The message should say "empty list".',
    "Expected result: an exception that tells me the list is empty.",
    'It should throw `ValueError("empty")`.',
    "A `ValueError` would make more sense.",
    "I would prefer a ValueError.",
    "An informative error should be raised.",
    "Shouldn't this be a ValueError?",
    "first() should validate its input and raise ValueError.",
    "should produce a useful error message",
    "It ought to complain that the list is empty.",
    "The library should report this properly instead of crashing.",
    "### Expected\n\nRaise `ValueError` with a clear message\n\n### Actual\n\n`IndexError`",
    "Expected `ValueError`, got `IndexError`.",
    "It raises `IndexError: list index out of range`, but it should raise a `ValueError`.",
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
        if item.test.oracle.kind is OracleKind.NO_RAISE:
            assert 'type(error).__name__ == "IndexError"' in (item.test.source or "")


@pytest.mark.parametrize("words", WANTS_NONE)
def test_where_none_is_wanted_it_is(engine: Engine, words: str) -> None:
    best = candidates(attempt(engine, f"{CRASH}{words}\n"))[0]
    assert best.test.oracle.kind is OracleKind.NO_RAISE
    assert best.judgement.reproduces
