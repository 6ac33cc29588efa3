"""What moves a patch before the candidate tests do: the amounts of docs/ranking.md."""

from __future__ import annotations

import math

import pytest

from pytest_brt.rank.prior import Prior, priors_of
from pytest_brt.rank.reliability import logit
from pytest_brt.types import Exposure, Guarded, PatchResult
from tests.rank.rows import broken, row, varied

START = logit(0.3)


def first(*results: PatchResult, exposure: Exposure | None = None) -> Prior:
    return priors_of(results, [exposure, *[None] * (len(results) - 1)])[0]


def moved(prior: Prior) -> float:
    return prior.odds - START


def test_of_a_patch_alone_nothing_is_known() -> None:
    prior = first(row("a"))
    assert (prior.odds, prior.reasons) == (START, ())


@pytest.mark.parametrize("times", [2, 3, 10])
def test_being_written_often_counts_by_its_logarithm(times: int) -> None:
    prior = first(*(row(str(number), normal="x") for number in range(times)))
    assert moved(prior) == pytest.approx(0.5 * math.log(times))
    assert [words for _, words in prior.reasons] == [f"written {times} times alike"]


@pytest.mark.parametrize(("places", "share"), [("abc", 1), ("abx", 2 / 3), ("xyz", 0)])
def test_company_counts_by_its_share_of_the_others(places: str, share: float) -> None:
    others = (
        row(str(number), normal=str(number), places=(place, f"more{number}"))
        for number, place in enumerate(places)
    )
    prior = first(row("own", normal="own", places=("a", "b", "c")), *others)
    assert moved(prior) == pytest.approx(share - 0.5)
    assert [words for _, words in prior.reasons] == [
        f"{share:.0%} of the others change the same definitions"
    ]


def test_two_others_are_no_company_and_copies_are_one() -> None:
    own = row("own", normal="own", places=("a",))
    two = (row("b", normal="b", places=("a",)), row("c", normal="c", places=("x",)))
    for more in (
        (),
        (row("d", normal="c", places=("x",)),),  # a copy of another
        (row("d", places=("a",), applies=False),),
        (row("d", normal="d"),),  # nothing is known of its places
    ):
        assert first(own, *two, *more).reasons == ()
    assert first(own, *two, row("d", normal="d", places=("x",))).reasons != ()
    assert first(row("own", normal="own"), *two, row("d", places=("x",))).reasons == ()


@pytest.mark.parametrize(("answers", "share"), [("5555", 1), ("5556", 2 / 3), ("5666", 0)])
def test_agreement_counts_by_its_share_of_the_others(answers: str, share: float) -> None:
    rows = [
        row(str(number), normal=str(number), varied=varied("0", after))
        for number, after in enumerate(answers)
    ]
    prior = first(*rows)
    assert moved(prior) == pytest.approx(share - 0.5)
    assert [words for _, words in prior.reasons] == [
        f"{share:.0%} of the others do the same with changed inputs"
    ]


def test_one_other_is_no_agreement() -> None:
    same = varied("0", "5")
    assert first(row("a", varied=same), row("b", varied=same)).reasons == ()
    assert first(row("a", varied=same), row("b", varied=same), row("c", varied=same)).reasons != ()


@pytest.mark.parametrize(("count", "amount"), [(1, -1.6), (2, -1.9), (4, -2.2), (16, -2.8)])
def test_each_doubling_of_regressions_counts_against_it(count: int, amount: float) -> None:
    prior = first(row("a", guarded=broken(count)))
    assert moved(prior) == pytest.approx(amount)
    plural = "test fails" if count == 1 else "tests fail"
    assert [words for _, words in prior.reasons] == [
        f"{count} existing {plural} that passed before"
    ]


@pytest.mark.parametrize(("ran", "amount"), [(9, 0.15), (99, 0.3), (5000, 0.3)])
def test_existing_tests_that_still_pass_count_a_little(ran: int, amount: float) -> None:
    prior = first(row("a", guarded=broken(0, ran=ran)))
    assert moved(prior) == pytest.approx(amount)
    assert [words for _, words in prior.reasons] == [f"{ran} existing tests near it still pass"]


def test_only_tests_that_reach_the_patch_count_where_that_is_seen() -> None:
    seen = Guarded(ran=500, reached=9, total=1000, by="names")
    assert moved(first(row("a", guarded=seen))) == pytest.approx(0.15)
    assert first(row("a", guarded=broken(0, ran=0))).reasons == ()


def test_showing_the_bug_again_counts_against_it() -> None:
    exposure = Exposure(varied=varied("0", "0")[0], others="", tried=4, failed=4)
    prior = first(row("a"), exposure=exposure)
    assert moved(prior) == pytest.approx(-2.2)
    assert [words for _, words in prior.reasons] == ["shows the bug again for 0 → 1"]


@pytest.mark.parametrize(("size", "amount"), [(1, -0.04), (3, -0.08), (7, -0.12)])
def test_length_only_orders_what_is_equal_otherwise(size: int, amount: float) -> None:
    assert moved(first(row("a", size=size))) == pytest.approx(amount)


def test_the_reasons_add_up() -> None:
    others = [row(str(n), normal="x", varied=varied("0", str(n)), size=n) for n in range(4)]
    for prior in priors_of(others, [None] * 4):
        assert moved(prior) == pytest.approx(sum(amount for amount, _ in prior.reasons))
