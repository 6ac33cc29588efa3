"""What a report says to the contrary keeps a test from being a candidate, or believed."""

from __future__ import annotations

import pytest

from pytest_brt.execute.engine import Engine
from pytest_brt.types import JudgedTest, OracleKind
from tests.reproduce.replay.project import attempt, candidates


def kinds(engine: Engine, report: str) -> list[OracleKind]:
    return [item.test.oracle.kind for item in candidates(attempt(engine, report))]


WANTED = "double(0) hides errors\n\n```\n>>> from pkg import double\n>>> double(2)\n5\n```\n\n"


def test_where_an_exception_is_wanted_no_value_is(engine: Engine) -> None:
    words = "`double` should raise a `ValueError`."
    assert kinds(engine, WANTED + words) == [OracleKind.MUST_RAISE]
    assert kinds(engine, f"{WANTED}`double(2)` gives `5`. {words}") == [OracleKind.MUST_RAISE]


def test_an_exception_that_is_wanted_is_not_forbidden(engine: Engine) -> None:
    report = (
        "first() of nothing\n\nThis raises an error, as `first` should raise `IndexError`:\n\n"
        "```python\nfrom pkg import first\nfirst([])\n```\n"
    )
    assert OracleKind.NO_RAISE not in kinds(engine, report)


def test_where_another_exception_is_wanted_none_is_forbidden(engine: Engine) -> None:
    report = (
        "first() of nothing\n\n```\n>>> from pkg import first\n>>> first([])\n"
        "Traceback (most recent call last):\nIndexError: list index out of range\n```\n\n"
    )
    assert kinds(engine, report) == [OracleKind.NO_RAISE]
    wish = "# Expected\n\n`ValueError: empty`\n"
    assert kinds(engine, report + wish) == [OracleKind.MUST_RAISE]


CRASH = """\
first() of nothing

```
>>> from pkg import first
>>> first([])
Traceback (most recent call last):
  File "core.py", line 10, in _take
    return items[place]
IndexError: list index out of range
```

"""


@pytest.mark.parametrize(
    ("words", "value"),
    [
        ("Expected: 0", "first([]) == 0"),
        ("I expected `[1, 'a']`.", "first([]) == [1, 'a']"),
        ("`first([])` should return `None`.", "first([]) is None"),
    ],
)
def test_a_value_that_is_stated_in_place_of_a_crash_is_asked_too(
    engine: Engine, words: str, value: str
) -> None:
    found = candidates(attempt(engine, CRASH + words))
    assert [item.test.oracle.kind for item in found] == [OracleKind.NO_RAISE, OracleKind.EQUALS]
    assert values(found[1:]) == {value}


@pytest.mark.parametrize(
    "words", ["Expected: something better", "It should raise `ValueError`.", "It worked before."]
)
def test_what_is_no_value_is_not_asked_in_place_of_a_crash(engine: Engine, words: str) -> None:
    assert OracleKind.EQUALS not in kinds(engine, CRASH + words)


def test_two_values_for_one_expression_are_both_out(engine: Engine) -> None:
    report = "double\n\n`double(2)` should be `4`.\n\nNo: `double(2)` should be `6`.\n"
    assert OracleKind.EQUALS not in kinds(engine, report)


def test_what_is_called_right_elsewhere_may_stay(engine: Engine) -> None:
    report = (
        "double\n\n```\n>>> from pkg import double\n>>> double(2)\n5\n```\n\n"
        "In 1.0 this works as well:\n\n```\n>>> double(2)\n5\n```\n"
    )
    assert kinds(engine, report) == []


def values(tests: list[JudgedTest]) -> set[str]:
    return {(item.test.source or "").rstrip().rpartition("assert ")[2] for item in tests}


TWO = "double\n\n```\n>>> from pkg import double\n>>> double(2)\n5\n>>> double(5)\n11\n```\n\n"


@pytest.mark.parametrize(
    "words",
    [
        "Expected `4` and `10`.",
        "I expected 4 for the first, 10 for the second.",
        "They should be `4` and `10`, respectively.",
        "Expected: `4` and `10`",
    ],
)
def test_values_of_several_results_are_nobodys(engine: Engine, words: str) -> None:
    found = values(candidates(attempt(engine, TWO + words)))
    assert not any("==" in value for value in found)


def test_what_is_said_of_no_python_is_said_of_nothing(engine: Engine) -> None:
    report = (
        WANTED.replace("hides errors", "is off") + "The query `SELECT f(x) FROM t` gives `[1]`."
    )
    assert kinds(engine, report) == [OracleKind.GONE]


@pytest.mark.parametrize(
    ("report", "sure"),
    [
        # The exception with its message, out of the project.
        ("first\n\n```\n>>> first([])\nTraceback (most recent call last):\n"
         '  File "x.py", line 1, in f\nIndexError: list index out of range\n```\n', True),
        # The wrong value that comes out, and the right one: fixes often give another.
        ("double\n\n`double(2)` gives `5` but should be `4`.\n", False),
        # The right one alone: of the very call, as we advise, or of the one above.
        ("double\n\n`double(2)` should return `4`.\n", False),
        ("double\n\n```\n>>> double(2)\n```\n\nIt should return `4`.\n", False),
        # The right one is a text, and an object comes out.
        ("double\n\n```\n>>> from decimal import Decimal\n>>> double(Decimal('Infinity'))\n"
         "Decimal('Infinity')\n```\n\nIt gives `Decimal('Infinity')` instead of `''`.\n", False),
        # What is shown is what goes wrong; what should come is not said.
        ("double is wrong\n\n```\n>>> double(2)\n5\n```\n", False),
        # Another message than is reported.
        ("first\n\n```\n>>> first([])\nTraceback (most recent call last):\n"
         '  File "x.py", line 1, in f\nIndexError: no such item in the pool\n```\n', False),
    ],
)  # fmt: skip
def test_only_a_kind_that_was_nearly_always_right_reproduces_a_report(
    engine: Engine, report: str, sure: bool
) -> None:
    found = candidates(attempt(engine, report))
    assert found
    assert found[0].judgement.reproduces is sure, found[0].judgement.reason


@pytest.mark.parametrize(
    ("report", "counts"),
    [
        ("double\n\n`double(2)` gives `5` but should be `4`.\n", True),
        # Fixes often give another value than the stated one.
        ("double\n\n`double(2)` should return `4`.\n", False),
        ("double\n\n```\n>>> double(2)\n```\n\nIt should return `4`.\n", False),
        ("double is wrong\n\n```\n>>> double(2)\n5\n```\n", True),
    ],
)
def test_a_complaint_about_what_comes_out_counts(engine: Engine, report: str, counts: bool) -> None:
    found = candidates(attempt(engine, report))
    assert found[0].judgement.counts is counts, found[0].judgement.reason


SHOUTED = "shout is too loud\n\n```python\nfrom pkg.core import shout\nshout('good day')\n```\n\n"


@pytest.mark.parametrize(
    "words",
    [
        "I expected `{}` but got `{}`.",
        "I would expect `{}`, but it returns `{}`.",
        "Expected {}, got {}.",
        "It should give {} and not {}.",
    ],
)
def test_what_the_report_wishes_for_is_never_forbidden(engine: Engine, words: str) -> None:
    """The tree may have been mended: then what comes out is right, and stands in the report."""
    assert OracleKind.GONE not in kinds(engine, SHOUTED + words.format("GOOD DAY?", "Good day!"))
    wrong = kinds(engine, SHOUTED + words.format("Good day!", "GOOD DAY?"))
    assert wrong
