"""Changing the inputs of a test, and what is drawn for them."""

from __future__ import annotations

import ast
import re
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_brt.rank.draw import variants_of
from pytest_brt.rank.near import near
from pytest_brt.rank.vary import Lifted, can_change, lift, outcome_words
from pytest_brt.types import CandidateTest, OracleKind
from tests.rank.rows import judged

NO_RAISE = OracleKind.NO_RAISE
EQUALS = '''\
from interval import clamp


def test_a():
    """The report says 5, not 0."""
    low = 0
    assert clamp(5, low, 10) == 5
'''


def candidate(source: str, kind: OracleKind = OracleKind.EQUALS) -> CandidateTest:
    return replace(judged(0, kind=kind).test, source=source)


def lifted(source: str, kind: OracleKind = OracleKind.EQUALS) -> Lifted:
    found = lift(candidate(source, kind))
    assert found is not None
    return found


def test_the_expected_value_and_the_docstring_are_no_inputs() -> None:
    found = lifted(EQUALS)
    assert found.literals == (0, 5, 10)
    assert not found.decides
    variant = found.variant(5, 6)
    assert variant.change == "5 → 6"
    assert "raise AssertionError('saw ' + repr(clamp(6, low, 10))[:2000])" in variant.source
    assert "The report says 5" in variant.source


@pytest.mark.parametrize(
    ("claim", "subject"),
    [
        ("9 == f(1)", "f(1)"),
        ("f(1) != 9", "f(1)"),
        ("not f(1)", "f(1)"),
        ("f(1)", "f(1)"),
        ("'x' not in str(f(1))", "str(f(1))"),
        ("x[0] == 3", "x[0]"),
    ],
)
def test_what_is_asked_about_is_told(claim: str, subject: str) -> None:
    found = lift(candidate(f"def test_a():\n    x = [1]\n    assert {claim}\n"))
    assert found is not None
    assert f"repr({subject})" in found.variant(99, 100).source


def test_a_test_that_decides_keeps_its_claim() -> None:
    found = lifted("def test_a():\n    assert f(1) == g(1)\n", OracleKind.AGREE)
    assert found.decides
    assert "assert f(2) == g(2)" in found.variant(1, 2).source


def test_of_what_should_be_an_error_it_is_told_whether_it_is() -> None:
    claim = "with pytest.raises(ValueError):\n        int('4_2')\n"
    source = f"import pytest\n\n\ndef test_a():\n    {claim}"
    found = lifted(source, OracleKind.MUST_RAISE)
    assert found.literals == ("4_2",)
    assert not found.decides

    def told(new: str) -> str:
        space: dict[str, Any] = {}
        exec(found.variant("4_2", new).source, space)
        with pytest.raises(AssertionError) as caught:
            space["test_a"]()
        return str(caught.value)

    assert told("4_3") == "saw 43"
    assert told("4-2") == "saw raises ValueError"


@pytest.mark.parametrize(
    "body", ["with open('a'):\n        f(1)", "with pytest.raises(E):\n        x = 1\n        f(1)"]
)
def test_only_a_single_call_that_is_to_raise_is_told_of(body: str) -> None:
    assert lift(candidate(f"def test_a():\n    {body}\n", OracleKind.MUST_RAISE)) is None


def test_what_cannot_be_lifted() -> None:
    for source in (
        "def test_a(:\n",
        "def test_a():\n    assert f()\n",
        "def test_b():\n    f(1)\n",
    ):
        assert lift(candidate(source, OracleKind.NO_RAISE)) is None
    assert lift(candidate(EQUALS, OracleKind.MUST_RAISE)) is None
    assert lift(replace(candidate(EQUALS), source=None)) is None


@pytest.mark.parametrize(
    ("last", "value"),
    [
        ("f(3)", "4"),
        ("x = f(3)", "4"),
        ("print(f(3))", "'4'"),
        ("Odd()", "a value without repr"),
        ("assert f(3)", None),
        ("x.y = f(3)", None),
        ("for n in (1, 2):\n        f(n)", None),
        ("pass", None),
    ],
)
def test_what_only_must_not_raise_tells_its_last_value(last: str, value: str | None) -> None:
    body = f"x = test_a\n    {last}\n"
    odd = "class Odd:\n    def __repr__(self):\n        return 1 / 0\n\n\n"
    found = lifted(f"{odd}def f(n):\n    return n + 1\n\n\ndef test_a():\n    {body}", NO_RAISE)
    told = found.reported()
    assert found.decides
    assert len(told) == (2 if value else 0)
    assert len({variant.id for variant in told}) == len(told)
    for variant in told:
        space: dict[str, Any] = {}
        exec(variant.source, space)
        with pytest.raises(AssertionError, match=f"^saw {re.escape(value or '')}$"):
            space["test_a"]()


def test_values_are_told_only_where_a_test_asks_for_none() -> None:
    assert lifted("def test_a():\n    assert f(1) == g(1)\n", OracleKind.AGREE).reported() == ()
    assert lifted(EQUALS).reported() == ()


def test_names_of_the_test_are_changed_and_its_claim_stays() -> None:
    source = "def one(n):\n    return n\n\n\ndef test_a():\n    assert f(one) == 'one'\n"
    found = lifted(source)
    assert found.names == ("one", "n")
    renamings = list(found.renamings())
    assert [variant.change for variant in renamings] == [
        "the name one → onf", "the name one → ong", "the name n → o", "the name n → na",
    ]  # fmt: skip
    assert renamings[0].source == source.replace("one", "onf").replace("\n\n\n", "\n\n")
    assert all(variant.decides and variant.renamed for variant in renamings)


def test_a_claim_of_another_form_has_names_all_the_same() -> None:
    source = "def g(): pass\ndef test_a():\n    for x in f(g):\n        assert x == 1\n"
    found = lifted(source)
    assert (found.literals, found.names) == ((), ("g",))


def test_names_of_options_and_truth_values_are_no_data() -> None:
    source = "def test_a():\n    f('minutes', True, None, 'A b', k=3)\n"
    assert lifted(source, OracleKind.NO_RAISE).literals == ("A b", 3)


def test_outcomes_are_on_one_line_and_else_as_they_are() -> None:
    assert outcome_words(" a  b\n\n  <c at 0x7f00aa>\n") == "a  b <c at 0x…>"


def test_names_of_what_the_test_defines_are_no_data() -> None:
    source = (
        "class A:\n    kindOf: str\n\n\n"
        "def test_a():\n    f({'kindOf': 'Big', 'isIt': 3}, tag='kindOf', isIt=A().isIt)\n"
    )
    assert lifted(source, OracleKind.NO_RAISE).literals == ("Big", 3)


def test_variants_are_near_different_and_always_the_same() -> None:
    found = lifted(EQUALS)
    (first,) = variants_of([found], 12, seed=1)
    assert (first,) == variants_of([found], 12, seed=1)
    assert len({variant.source for variant in first}) == len(first) >= 9
    assert [variant.distance for variant in first] == sorted(v.distance for v in first)
    changed = {variant.change.partition(" ")[0] for variant in first}
    assert changed == {"0", "5", "10"}
    for variant in first:
        ast.parse(variant.source)


def test_every_other_variant_of_a_text_has_other_punctuation() -> None:
    found = lifted(r"""def test_a():
    assert f("\\[") == 1
""")
    (variants,) = variants_of([found], 6, seed=1)
    changes = {variant.change for variant in variants}
    assert changes >= {r"'\\[' → '\\]'", r"'\\[' → '\\('"}
    assert len(changes) == 6


def test_renamed_variants_come_in_turn_and_the_reported_input_first() -> None:
    source = "def g(n):\n    return n\n\n\ndef test_a():\n    f(g, 5)\n"
    (variants,) = variants_of([lifted(source, NO_RAISE)], 6, seed=1)
    assert [variant.literal for variant in variants[:6]] == [
        "the reported input", "the reported input", "5", "the name g", "5", "the name g",
    ]  # fmt: skip
    assert len(variants) == 2 + 6 + 4
    (variants,) = variants_of([lifted(source.replace(", 5", ""), NO_RAISE)], 6, seed=1)
    assert len(variants) == 2 + 4


def test_no_more_variants_than_asked_for_though_literals_are_many() -> None:
    many = lifted("def test_a():\n    assert f(10, 20, 30, 40, 50, 60) == 1\n")
    few = lifted(EQUALS)
    found = variants_of([many, few, many], 4, seed=1)
    assert [len(variants) for variants in found] == [4, 4, 4]


@given(
    st.one_of(
        st.integers(-(10**6), 10**6),
        st.floats(-1e6, 1e6).filter(lambda value: abs(value) > 1e-3),
        st.text(min_size=1, max_size=40).filter(can_change),
    ),
    st.data(),
)
def test_what_is_near_has_the_same_type_and_is_another_value(
    literal: float | str, data: st.DataObject
) -> None:
    value = data.draw(near(literal))
    assert value != literal
    if isinstance(literal, int):
        assert isinstance(value, int)
        assert (value >= 0) == (literal >= 0) or value == 0
    elif isinstance(literal, float):
        assert isinstance(value, float)
        assert value >= 0 or literal < 0
    else:
        assert isinstance(value, str)
        assert abs(len(value) - len(literal)) <= 3


@given(near(-1))
def test_what_is_near_a_small_negative_number_is_not_positive(value: object) -> None:
    assert isinstance(value, int)
    assert value <= 0


@given(near(0))
def test_what_is_near_zero_is_not_negative(value: object) -> None:
    assert isinstance(value, int)
    assert value > 0


@given(st.from_regex(r"[a-z]{3}-[0-9]{1,2}", fullmatch=True), st.data())
def test_a_text_keeps_its_form(text: str, data: st.DataObject) -> None:
    """One letter is another or doubled or left out; the number in it may be another one."""
    value = data.draw(near(text))
    assert isinstance(value, str)
    if len(value) == len(text):
        assert re.fullmatch(r"[a-z]{3}-[0-9]+", value)
        letters = zip(text[:3], value[:3], strict=True)
        assert sum(one != other for one, other in letters) <= 1
    elif len(value) < len(text):
        assert any(value == text[:at] + text[at + 1 :] for at in range(len(text)))
    else:
        doubled = (text[: at + 1] + text[at:] for at in range(len(text)))
        assert value in doubled or re.fullmatch(rf"{text[:4]}[0-9]+", value)
