from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_brt.issue.claims import comment_said


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("-> 3", ("value", "observed", "3")),
        ("returns 3", ("value", "observed", "3")),
        ("this returns False", ("value", "observed", "False")),
        ("it is None", ("value", "observed", "None")),
        ("result {1: 2}", ("value", "observed", "{1: 2}")),
        ("expects 4", ("value", "expected", "4")),
        ("should be 4", ("value", "expected", "4")),
        ("5, should be 4", ("value", "expected", "4")),
        ("[1, 2]", ("value", "shown", "[1, 2]")),
        ("raises ValueError: no", ("raises", "observed", "ValueError")),
        ("This fails with \"KeyError: 'a'\"", ("raises", "observed", "KeyError")),
        ("worked, but raises ValueError", ("raises", "observed", "ValueError")),
        ("fine before; raises ValueError", ("raises", "observed", "ValueError")),
        ("works in 1.2, raises ValueError", ("raises", "observed", "ValueError")),
        ("ok with a list: raises ValueError", ("raises", "observed", "ValueError")),
        ("works fine", ("works", "contrast", "")),
        ("this is wrong", ("wrong", "observed", "")),
    ],
)
def test_comments(text: str, said: tuple[str, str, str]) -> None:
    found = [
        (s.kind.value, s.role.value, s.text or getattr(s.raised, "type", ""))
        for s in comment_said(text)
    ]
    assert said in found


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("raises ValueError: no such thing", "no such thing"),
        ("This fails with \"KeyError: 'a'\"", "a"),
        ("raises ValueError", ""),
    ],
)
def test_the_message_of_an_exception_is_kept(text: str, message: str) -> None:
    (raised,) = [s.raised for s in comment_said(text) if s.raised is not None]
    assert raised.message == message


@given(st.text())
def test_any_comment_is_accepted(text: str) -> None:
    comment_said(text)
