"""What a report says in general, and whether a failure is the one it speaks of."""

from __future__ import annotations

import pytest

from pytest_brt.issue.load import read_issue
from pytest_brt.issue.read import read_report
from pytest_brt.oracle.facts import (
    Facts,
    actual_value,
    catches_named,
    is_quoted,
    matches,
    read_facts,
    states,
)
from pytest_brt.types import Raised


def facts(text: str) -> Facts:
    return read_facts(read_report(read_issue(text, "issue.md")))


@pytest.mark.parametrize(
    ("text", "crash"),
    [
        ("# f() crashes\n\nIt just dies.", True),
        ("# f() is wrong\n\nIt raises ValueError for 3.", True),
        ("# f() is wrong\n\n```\nTraceback (most recent call last):\nKeyError: 'a'\n```\n", True),
        ("# f() is wrong\n\n    >>> f(1)\n    ...\n    KeyError: 'a'\n", True),
        ("# f() is wrong\n\n    >>> f(1)\n    'KeyError: no'\n", False),
        ("# f() is wrong\n\nIt should raise ValueError for 3.", False),
        ("# f() is wrong\n\nf(3) should throw an exception, but returns 4.", False),
        ("# f() is wrong\n\nIt returns 3, I expected 4.", False),
        ("# f() is wrong\n\n```python\nraise ValueError\n```\n\nThat is all.", False),
    ],
)
def test_a_report_of_a_crash_is_known(text: str, crash: bool) -> None:
    assert facts(text).crash is crash


@pytest.mark.parametrize(
    ("text", "raised", "said"),
    [
        (
            "# f()\n\nIt raises KeyError.",
            Raised(type="KeyError", message="'a'"),
            "the report names",
        ),
        ("# f()\n\nIt raises KeyError.", Raised(type="ValueError", message=""), ""),
        ("# f()\n\nIt raises an error.", Raised(type="re.error", message="x"), ""),
        ("# f()\n\nIt raises re.error.", Raised(type="re.error", message="x"), "the report names"),
        ("# f()\n\nIt raises Exception.", Raised(type="Exception", message=""), ""),
        ("# f()\n\nIt returns 3.", Raised(type="KeyError", message="'a'"), ""),
        (
            "# f()\n\nf(1) returns 'a-b-c' instead.",
            Raised(type="AssertionError", message="assert 'a-b-c' == 'abc'\n  - abc"),
            "the report quotes the value 'a-b-c'",
        ),
        (
            "# f()\n\nf(1) returns 33.",
            Raised(type="AssertionError", message="assert 3 == 4"),
            "",
        ),
        (
            "# f()\n\nIt should raise KeyError.",
            Raised(type="Failed", message="DID NOT RAISE <class 'KeyError'>"),
            "the report asks for KeyError",
        ),
    ],
)
def test_a_failure_matches_the_report(text: str, raised: Raised, said: str) -> None:
    found = matches(facts(text), "def test_a():\n    assert f(1) == 'abc'\n    g(4)\n", raised)
    assert found.startswith(said)
    assert bool(found) == bool(said)


@pytest.mark.parametrize(
    ("message", "source", "value"),
    [
        ("assert 3 == 4", "assert f() == 4", "3"),
        ("assert 4 == 3", "assert 4 == f()", "3"),
        ("assert [1, 2] == [1]", "assert f() == [1]", "[1, 2]"),
        ("assert 'a' in 'xyz'", "assert 'a' in f()", "'xyz'"),
        ("assert 'aaa...zzz' == 'b'", "assert f() == 'b'", ""),
        ("assert False", "assert f()", ""),
        ("no comparison at all", "", ""),
    ],
)
def test_the_value_that_was_seen(message: str, source: str, value: str) -> None:
    assert actual_value(message, source) == value


@pytest.mark.parametrize(
    ("value", "text", "quoted"),
    [
        ("3", "it gives 3.", True),
        ("3", "it gives 33", False),
        ("3", "it gives 3.5", False),
        ("'ab'", "it gives `ab` here", True),
        ("'ab'", "it is about", False),
        ("[1, 2, 3]", "it gives [1,2,3]", True),
        ("None", "None of this", False),
        ("''", "anything", False),
    ],
)
def test_a_short_value_must_stand_alone(value: str, text: str, quoted: bool) -> None:
    assert is_quoted(value, text) is quoted


def test_a_test_that_waits_for_a_named_exception_is_known() -> None:
    report = facts("# f()\n\nIt should raise KeyError.")
    assert catches_named(report, "with pytest.raises(KeyError):\n    f()\n")
    assert catches_named(report, "try:\n    f()\nexcept KeyError:\n    pass\n")
    assert not catches_named(report, "with pytest.raises(ValueError):\n    f()\n")


def test_words_of_a_sentence_are_no_wrong_values() -> None:
    text = "# f()\n\n```python\nf(1)\nf(2)\n```\n\n`f(1)` returns both, `f(2)` returns None."
    assert "both" not in facts(text).wrong
    quoted = "# f()\n\n```python\nf(1)\n```\n\n`f(1)` returns `'a-b'`, but it should be `'ab'`."
    assert facts(quoted).wrong == ("'a-b'",)


def test_asking_for_the_wanted_value_in_place_of_the_shown_one_is_stated() -> None:
    found = facts("# f is off\n\n```\n>>> f(5, 0)\n0\n```\n\nIt should be `5`.\n")

    def failed(message: str) -> Raised:
        return Raised(type="AssertionError", message=message)

    assert states(found, failed("assert 0 == 5")) == "the report wants 5 in place of 0"
    assert states(found, failed("assert 5 == 0")) == "the report wants 5 in place of 0"
    assert matches(found, "assert f(5, 0) == 5", failed("assert 0 == 5"))
    for message in ("assert 0 == 6", "assert 1 == 5", "assert 0 != 5", "no comparison"):
        assert states(found, failed(message)) == ""


def test_a_value_that_the_test_passes_in_is_no_evidence() -> None:
    found = facts("# f\n\nf(\"it's\") does not change \"it's\", it should be 'its'")
    raised = Raised(type="AssertionError", message="""assert "it's" == 'its'""")
    assert matches(found, "assert f('a') == 'its'", raised)
    assert not matches(found, "assert f('it\\'s') == 'its'", raised)
