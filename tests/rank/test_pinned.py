"""Existing tests that assert the reported wrong behaviour."""

from __future__ import annotations

from dataclasses import replace

import pytest

from pytest_brt.guard.suite import read_tests
from pytest_brt.rank.guarding import hints_of, pinned_among
from pytest_brt.types import JudgedTest, OracleKind, Raised
from tests.support.rows import judged

SUITE = """\
def test_pins():
    assert delta(32399) == '8 hours and 60 minutes'

def test_pins_by_method(self):
    self.assertEqual(delta(1), '8 hours and 60 minutes')

def test_other_function():
    assert other(32399) == '8 hours and 60 minutes'

def test_other_value():
    assert delta(3) == '3 seconds'

def test_apart():
    text = '8 hours and 60 minutes'
    assert delta(3) == '3 seconds'

def test_raises():
    with pytest.raises(ParseError):
        parse("x")

def test_raises_elsewhere():
    with pytest.raises(ParseError):
        load("x")

def test_with_another_block():
    with open(delta(3)):
        assert other(3) == '8 hours and 60 minutes'

def test_values_that_are_everywhere():
    assert delta(1) == 0
    assert delta(2) == True
    assert delta(3) == None
    assert delta(4) == 'a'

def test_broken_escape():
    assert delta("\\d") == '8 hours and 60 minutes'
"""
TESTS = read_tests("tests/test_a.py", SUITE)


def candidate(kind: OracleKind, source: str, raised: Raised) -> JudgedTest:
    test = judged(0, kind=kind)
    run = replace(test.judgement.runs[0], raised=raised)
    return replace(
        test,
        test=replace(test.test, source=source),
        judgement=replace(test.judgement, runs=(run,)),
    )


def names(*candidates: JudgedTest) -> list[str]:
    return [name.rpartition("::")[2] for name in pinned_among(TESTS, candidates)]


VALUE = Raised(
    type="AssertionError",
    message="assert '8 hours and 60 minutes' == '9 hours'\n  - 9 hours",
)


@pytest.mark.parametrize("kind", [OracleKind.EQUALS, OracleKind.GONE])
def test_the_wrong_value_of_the_same_function(kind: OracleKind) -> None:
    source = "def test_a():\n    assert pkg.delta(32399) == '9 hours'\n"
    assert names(candidate(kind, source, VALUE)) == [
        "test_pins",
        "test_pins_by_method",
        "test_broken_escape",
    ]


def test_the_wrong_exception_of_the_same_function() -> None:
    source = "def test_a():\n    parse('y')\n"
    raised = Raised(type="pkg.errors.ParseError", message="no")
    assert names(candidate(OracleKind.NO_RAISE, source, raised)) == ["test_raises"]


@pytest.mark.parametrize("value", ["0", "True", "None", "'a'"])
def test_a_value_that_is_everywhere_pins_nothing(value: str) -> None:
    source = "def test_a():\n    assert delta(1) == 2\n"
    raised = Raised(type="AssertionError", message=f"assert {value} == 2")
    assert names(candidate(OracleKind.EQUALS, source, raised)) == []


def test_names_that_tell_what_a_candidate_is_about() -> None:
    source = "import pkg\n\ndef test_a():\n    x = pkg.Thing().walk(1)\n    assert str(x) == 'y'\n"
    test = candidate(OracleKind.EQUALS, source, VALUE)
    assert hints_of([test]) == {"pkg", "Thing", "walk"}


METHOD = '''\
class TestDelta:
    def test_text_at_the_margin(self):
        text = """
at the margin
"""
        assert delta(text) == '8 hours and 60 minutes'

    def test_pins(self):
        assert delta(32399) == '8 hours and 60 minutes'
'''


def test_a_method_that_cannot_be_read_alone_is_passed_over() -> None:
    source = "def test_a():\n    assert delta(32399) == '9 hours'\n"
    tests = read_tests("tests/test_a.py", METHOD)
    assert len(tests) == 2
    found = pinned_among(tests, [candidate(OracleKind.EQUALS, source, VALUE)])
    assert found[-1] == "tests/test_a.py::TestDelta::test_pins"


def test_what_a_candidate_did_not_see_pins_nothing() -> None:
    source = "def test_a():\n    assert delta(32399) == '9 hours'\n"
    unlike = Raised(type="AssertionError", message="8 hours and 60 minutes")
    assert names(candidate(OracleKind.EQUALS, source, unlike)) == []
    assert names(candidate(OracleKind.MUST_RAISE, source, VALUE)) == []
    assert names(candidate(OracleKind.EQUALS, "def test_a(:", VALUE)) == []
    assert names(candidate(OracleKind.EQUALS, "def test_a():\n    pass\n", VALUE)) == []
    assert names() == []
