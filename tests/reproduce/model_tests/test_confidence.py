"""Confidence moves as the published shares say, and stays a probability."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_brt.reproduce.model_tests.confidence import AGREEMENT, Signs, confidence, count_tokens


def value(**signs: object) -> float:
    return confidence(replace(Signs(samples=50), **signs))[0]  # type: ignore[arg-type]


def test_more_agreement_and_a_match_are_better() -> None:
    by_size = [value(agree=size) for size in (1, 2, 4, 10, 20)]
    assert by_size == sorted(set(by_size))
    assert all(value(agree=size, match="quoted") > value(agree=size) for size in (1, 5, 30))


@pytest.mark.parametrize(
    ("agree", "match", "share"), [(2, "", 0.13), (2, "m", 0.25), (12, "", 0.47), (12, "m", 0.58)]
)
def test_it_is_near_what_was_counted_for_both_signs_together(
    agree: int, match: str, share: float
) -> None:
    assert value(agree=agree, match=match) == pytest.approx(share, abs=0.13)


def test_of_few_samples_each_says_more() -> None:
    few, many = Signs(agree=3, samples=5), Signs(agree=3, samples=50)
    assert confidence(few)[0] > confidence(many)[0]
    # That nobody agrees is told by many, not by one other.
    alone = [confidence(Signs(samples=samples))[0] for samples in (50, 10, 2)]
    assert alone == sorted(set(alone))
    # A single sample agrees with nobody, and nobody could have agreed with it.
    assert "fail alike" not in " ".join(confidence(Signs(samples=1))[1])


def test_every_other_sign_moves_it_its_way() -> None:
    base = value()
    assert value(other_kind=True) < base
    assert value(mismatch=True) < base
    assert value(tokens=200) < base < value(tokens=10)
    assert value(same=4) > base


@given(
    st.builds(
        Signs,
        agree=st.integers(1, 100),
        samples=st.integers(1, 100),
        same=st.integers(1, 100),
        match=st.sampled_from(["", "m"]),
        other_kind=st.booleans(),
        mismatch=st.booleans(),
        tokens=st.integers(0, 1000),
    )
)
def test_it_is_a_probability(signs: Signs) -> None:
    assert 0.01 <= confidence(signs)[0] <= 0.95


def test_the_table_covers_every_size() -> None:
    assert [most for most, _ in AGREEMENT] == sorted(most for most, _ in AGREEMENT)


def test_imports_are_not_counted() -> None:
    test = "def test_a():\n    assert c\n"
    assert count_tokens(f"import a\nfrom b import c\n\n\ndef help():\n    pass\n\n\n{test}") == 7
    assert count_tokens("not python") == 2
