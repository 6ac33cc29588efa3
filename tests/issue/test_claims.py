from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_brt.issue.claims import claims
from pytest_brt.issue.prose import sentence
from pytest_brt.types.reading import ClaimRole


def told(text: str, section: ClaimRole = ClaimRole.SHOWN) -> list[tuple[str, str, str, str]]:
    """Return subject, kind, role and what is said of it, for each claim."""
    return [
        (c.subject, c.kind.value, c.role.value, c.text or _type(c.raised))
        for c in claims(sentence(text, 1), {"result"}, section)
    ]


def _type(raised: object) -> str:
    return getattr(raised, "type", "")


@pytest.mark.parametrize(
    ("text", "claim"),
    [
        ("`f(1)` returns `2`.", ("f(1)", "value", "observed", "2")),
        ("`f(1)` should return `3`.", ("f(1)", "value", "expected", "3")),
        ("f(1) gives 2 instead of 3", ("f(1)", "value", "expected", "3")),
        ("`0**-x` produces 0, it should produce y", ("0**-x", "value", "expected", "y")),
        ("Calling `f([])` raises a `ValueError`.", ("f([])", "raises", "observed", "ValueError")),
        ("`f([])` should raise `ValueError`", ("f([])", "raises", "expected", "ValueError")),
        (
            "`f([])` raises `KeyError` instead of `OSError`",
            ("f([])", "raises", "expected", "OSError"),
        ),
        (
            "`f([])` should raise `OSError`, and not KeyError",
            ("f([])", "raises", "observed", "KeyError"),
        ),
        ("`f(1)` should work", ("f(1)", "works", "expected", "")),
        ("f(1) doesn't work", ("f(1)", "raises", "observed", "")),
        ("Expected: `4`", ("", "value", "expected", "4")),
        ("Prints `0`, but I would expect `5`", ("", "value", "expected", "5")),
        ("I expected `5` but got `0` from `f(1)`", ("f(1)", "value", "expected", "5")),
        ("I expected `5` but got `0` from `f(1)`", ("f(1)", "value", "observed", "0")),
        ("f(1) gives me 2 but it should be 3", ("f(1)", "value", "observed", "2")),
        ("`f(1)` throws a `ValueError`", ("f(1)", "raises", "observed", "ValueError")),
        ("`f(1)` shouldn't return `2`", ("f(1)", "value", "observed", "2")),
        ("I did not expect `0`", ("", "value", "observed", "0")),
        ("**Current behaviour**: 0", ("", "value", "observed", "0")),
        ("It returns `(0, 3)`", ("", "value", "observed", "(0, 3)")),
        ("f(1) should return True", ("f(1)", "value", "expected", "True")),
        ("f(1) gives NaN", ("f(1)", "value", "observed", "NaN")),
        ("`result` should be `''`.", ("result", "value", "expected", "''")),
    ],
)
def test_claims(text: str, claim: tuple[str, str, str, str]) -> None:
    assert claim in told(text)


@pytest.mark.parametrize(
    "text",
    [
        "`f(4)` should return a `str`.",
        "f(4) should be an int, not a float",
        "`f(4)` returns a `Decimal` instead of a `Fraction`",
        "`f(4)` is supposed to return a list",
    ],
)
def test_the_name_of_a_type_is_no_value(text: str) -> None:
    assert [claim for claim in told(text) if claim[1] == "value"] == []
    assert ("type(f(4))", "value", "expected", "int") in told("`type(f(4))` should be `int`")


def test_a_lone_value_has_the_role_of_its_section() -> None:
    assert told("`'9 hours'`", ClaimRole.EXPECTED) == [("", "value", "expected", "'9 hours'")]
    assert told("`'9 hours'`") == []
    assert told("...", ClaimRole.EXPECTED) == []


@pytest.mark.parametrize("text", ["The first should be `5`.", "Expected `4` and `10`."])
def test_a_value_of_one_among_several_results_is_nobodys(text: str) -> None:
    assert [claim for claim in told(text) if claim[1] == "value"] == []


@pytest.mark.parametrize(
    "text",
    [
        "It should be improved.",
        "The x should be aligned.",
        "This is strange",
        "a or b",
        "It should be this.",
        "It should be false.",
        "It returns the wrong.",
        "It would be great if it was possible.",
        "Actual: both are skipped.",
        "It returns Nothing.",
    ],
)
def test_english_is_no_value(text: str) -> None:
    assert [claim for claim in told(text) if claim[1] == "value"] == []


@given(st.text())
def test_any_sentence_is_accepted(text: str) -> None:
    for claim in claims(sentence(text, 1), {"x"}, ClaimRole.EXPECTED):
        assert claim.role in ClaimRole
