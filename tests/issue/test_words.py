"""Synonyms agree: in prose, titles and comments, whatever is said with them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_brt.issue.claims import claims, comment_said
from pytest_brt.issue.prose import sentence
from pytest_brt.issue.words import must_fail, must_work, plain, role_of

MODALS = (
    "must", "ought to", "shall", "needs to", "has to", "is expected to", "is supposed to",
    "is meant to", "is required to", "was supposed to", "would be expected to",
)  # fmt: skip
NEGATED = (
    "must not", "ought not to", "shouldn't", "shouldn’t", "mustn't", "should never", "must never",
    "is not supposed to", "isn't expected to",
)  # fmt: skip
PREDICATES = (
    "return `5`", "be `5`", "give 5 instead of 6", "raise an error", "raise a `ValueError`",
    "throw a `ValueError`", "work", "fail", "be rejected", "be allowed", "also return `5`",
    "propagate the error",
)  # fmt: skip


def said(text: str) -> list[tuple[str, str, str, str, object]]:
    """Return what a sentence says, without its own words."""
    found = claims(sentence(text, 1))
    return [(c.subject, c.kind.value, c.role.value, c.text, c.raised) for c in found]


def commented(text: str) -> list[tuple[object, ...]]:
    return [(s.kind, s.role, s.text, s.raised) for s in comment_said(text)]


@pytest.mark.parametrize("predicate", PREDICATES)
@pytest.mark.parametrize(
    ("modal", "means"),
    [*((modal, "should") for modal in MODALS), *((modal, "should not") for modal in NEGATED)],
)
def test_synonyms_agree(modal: str, means: str, predicate: str) -> None:
    for start in ("`f(1)` ", "The call `f(1)` ", "In that case it "):
        one, other = f"{start}{modal} {predicate}.", f"{start}{means} {predicate}."
        assert said(one) == said(other)
        assert role_of(one) == role_of(other)
        assert (must_work(one), must_fail(one)) == (must_work(other), must_fail(other))
    assert commented(f"{modal} {predicate}") == commented(f"{means} {predicate}")
    assert commented(f"6, {modal} {predicate}") == commented(f"6, {means} {predicate}")


@pytest.mark.parametrize("predicate", PREDICATES)
def test_what_is_expected_of_something_is_what_it_should_do(predicate: str) -> None:
    should = said(f"`f(1)` should {predicate}.")
    for wish in ("I expect `f(1)` to", "I'd expect `f(1)` to", "We expected `f(1)` to"):
        assert said(f"{wish} {predicate}.") == should


def test_an_error_that_is_wanted_is_never_one_that_is_complained_about() -> None:
    for modal in ("should", *MODALS):
        kinds = [(kind, role) for _, kind, role, *_ in said(f"`f(1)` {modal} raise.")]
        assert kinds == [("raises", "expected")]
        kinds = [(kind, role) for _, kind, role, *_ in said(f"`f(1)` {modal} not raise.")]
        assert kinds == [("works", "expected")]


@pytest.mark.parametrize(
    ("question", "value"),
    [
        ("Shouldn't it be `5`?", "5"),
        ("shouldnt it just give `5`", "5"),
        ("Shouldn't this return 5", "5"),
    ],
)
def test_what_a_question_denies_is_wanted(question: str, value: str) -> None:
    assert [(kind, role, text) for _, kind, role, text, _ in said(question)] == [
        ("value", "expected", value)
    ]


@pytest.mark.parametrize(
    "text",
    ['It says "you must throw"', "ValueError: must be thrown", "`must_throw()`", "it's 'must'"],
)
def test_what_is_quoted_stays(text: str) -> None:
    assert plain(text) == text


@given(st.text())
def test_any_text_is_accepted_and_plain_words_stay_plain(text: str) -> None:
    once = plain(text)
    assert plain(once) == once
