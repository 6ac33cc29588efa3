"""What rules ask of a report: which messages are the same, and what a statement is about."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_brt.oracle.facts import simple
from pytest_brt.oracle.rules.report_run import called, messages_agree, quote
from pytest_brt.types.reading import Claim, ClaimKind, ClaimRole

MESSAGES = st.text(st.sampled_from("abc 019'.x-"), max_size=30)


@pytest.mark.parametrize(
    ("reported", "seen"),
    [
        ("list index out of range", "list index out of range"),
        ("No such file: 'a.txt'", "no such file: `a.txt`"),
        ("object at 0x7f00aa is 12", "object at 0x55ee is 7"),
        ("index out of range", "IndexError: list index out of range (in first)"),
        ("cannot read the file that was given: x", "index: cannot read the file that was given"),
        ("cannot read column a of table", "cannot read column b of table"),
    ],
)
def test_numbers_names_and_what_is_around_do_not_matter(reported: str, seen: str) -> None:
    assert messages_agree(reported, seen)
    assert messages_agree(seen, reported)


@pytest.mark.parametrize(
    ("reported", "seen"),
    [
        ("", ""),
        ("x", ""),
        ("a", "a list is needed here"),
        ("list index out of range", "integer division or modulo by zero"),
        ("cannot read the file", "cannot write to a closed pipe"),
        ("expected an integer", "got some words"),
    ],
)
def test_other_messages_do_not_agree(reported: str, seen: str) -> None:
    assert not messages_agree(reported, seen)
    assert not messages_agree(seen, reported)


@given(MESSAGES, MESSAGES)
def test_agreeing_is_mutual(one: str, other: str) -> None:
    assert messages_agree(one, other) == messages_agree(other, one)


@pytest.mark.parametrize(
    ("source", "name"),
    [
        ("f(1)", "f"),
        ("print(str(f(g(1))))", "f"),
        ("pkg.f(1)", "f"),
        ("a.b(1).c(2)", "c"),
        ("a.b(1).c", "b"),
        ("x = a.b.c", "c"),
        ("x + 1", ""),
    ],
)
def test_what_a_statement_is_about(source: str, name: str) -> None:
    assert called(source) == name


def test_the_last_part_of_a_name() -> None:
    assert (simple("a.b.KeyError"), simple("KeyError")) == ("KeyError", "KeyError")


def test_the_report_s_words_are_quoted_where_they_say_more_than_the_value() -> None:
    said = Claim(
        kind=ClaimKind.VALUE, role=ClaimRole.OBSERVED, text="5", sentence="This\n gives 5  now."
    )
    assert quote(said) == "This gives 5  now."
    assert quote(None) == ""
    assert (
        quote(Claim(kind=ClaimKind.VALUE, role=ClaimRole.OBSERVED, text="5", sentence="It is 5"))
        == ""
    )
    shown = Claim(
        kind=ClaimKind.VALUE,
        role=ClaimRole.SHOWN,
        text="5",
        sentence="This gives 5 now.",
        direct=True,
    )
    assert quote(shown) == ""
