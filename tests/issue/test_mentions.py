from __future__ import annotations

import pytest

from pytest_brt.issue.mentions import code_in, is_runnable, masked, object_at
from pytest_brt.issue.prose import sentence
from pytest_brt.pysource.parse import is_literal


def test_what_is_worth_running() -> None:
    assert is_runnable("f(1)")
    assert is_runnable("a**-b")
    assert not is_runnable("f()")
    assert not is_runnable("[1, 2]")
    assert not is_runnable("name")
    assert not is_runnable("x = 1")


def test_literals_need_no_name() -> None:
    assert is_literal("[1, 'a']")
    assert not is_literal("[x]")
    assert not is_literal("this is")


@pytest.mark.parametrize(
    ("text", "codes"),
    [
        ("`f(1)` and g(h(2), 3) differ", ["f(1)", "g(h(2), 3)"]),
        ("2**-x is wrong", ["2**-x"]),
        ("`>>> f(1);` fails", ["f(1)"]),
        ("this (or that) works(", []),
    ],
)
def test_code_in_a_sentence(text: str, codes: list[str]) -> None:
    found = code_in(sentence(text, 1))
    assert [code.text for code in found] == codes
    hidden = masked(text, found)
    assert len(hidden) == len(text)
    assert not any(code in hidden for code in codes)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("returns 3 instead", "3"),
        ("returns `f(x)` now", "f(x)"),
        ("returns KeyError: no. Why", "KeyError: no. Why"),
        ("returns nonsense", ""),
        ("returns something else", ""),
        ("returns [1, 2] but not more", "[1, 2]"),
        ("returns 'a, b', and that is wrong", "'a, b'"),
        ("returns {'a': [1, (2, 3)]}.", "{'a': [1, (2, 3)]}"),
        ("returns 'it is not' and stops", "'it is not'"),
        ("returns 'a'.upper() here", ""),
        ("returns [1] + [2] here", ""),
        ("returns (see below) nothing", ""),
    ],
)
def test_what_a_verb_is_followed_by(text: str, found: str) -> None:
    said = sentence(text, 1)
    assert object_at(said.text, code_in(said), len("returns "))[0] == found
