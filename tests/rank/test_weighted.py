"""The weighted ranking as a whole."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_brt.rank.choose import at_least, top_k
from pytest_brt.rank.epr import rank_by_epr
from pytest_brt.rank.standing import verdict_of
from pytest_brt.rank.weighted import rank_by_weight
from pytest_brt.types import OracleKind, PatchResult, Rank, Standing
from tests.rank.rows import broken, judged, row, varied

TESTS = tuple(judged(number) for number in range(6))


def names(ranks: tuple[Rank, ...]) -> list[str]:
    return [rank.result.patch.name for rank in ranks]


def test_plain_epr_is_kept_beside_the_score() -> None:
    results = (row("a", "pf"), row("b", "pp"), row("c", "ff"))
    weighted = rank_by_weight(results, TESTS)
    plain = {rank.result.patch.name: rank.epr for rank in rank_by_epr(results, TESTS)}
    assert names(weighted) == ["b", "a", "c"]
    assert {rank.result.patch.name: rank.epr for rank in weighted} == plain
    for rank in weighted:
        assert rank.score is not None
        assert rank.interval is not None
        assert rank.interval[0] <= rank.score <= rank.interval[1]


def test_one_idea_sampled_often_does_not_drown_a_better_one() -> None:
    flips = tuple(judged(number, 0.4, OracleKind.GONE, message="m") for number in range(1, 6))
    tests = (judged(0, 0.7, OracleKind.EQUALS), *flips)
    results = (row("value", "pfffff"), row("flip", "fppppp"))
    assert names(rank_by_epr(results, tests)) == ["flip", "value"]
    assert names(rank_by_weight(results, tests)) == ["value", "flip"]


def test_a_regression_breaks_a_tie_and_says_so() -> None:
    results = (row("a", "p", guarded=broken(1)), row("b", "p", guarded=broken(0)))
    first, second = rank_by_weight(results, TESTS)
    assert first.result.patch.name == "b"
    assert any("existing test fails" in reason for reason in second.because)
    assert first.standing is Standing.SEPARATED


def test_a_patch_that_special_cases_the_report_falls_behind() -> None:
    shown = varied("ValueError: no", "ValueError: no", decides=True)
    fixed = varied("ValueError: no", "passes", decides=True)
    ranks = rank_by_weight((row("a", "p", varied=shown), row("b", "p", varied=fixed)), TESTS)
    assert names(ranks) == ["b", "a"]


def test_behaving_alike_is_a_tie_even_when_the_order_has_a_reason() -> None:
    ranks = rank_by_weight((row("a", "pp", size=9), row("b", "pp", size=2), row("c", "ff")), TESTS)
    assert names(ranks) == ["b", "a", "c"]
    assert [rank.standing for rank in ranks] == [
        Standing.TIED,
        Standing.TIED,
        Standing.SEPARATED,
    ]
    assert verdict_of(ranks) == "tied: b and a behave alike on everything we could run"


def test_the_same_patch_written_twice_is_one_patch() -> None:
    ranks = rank_by_weight(
        (row("a", "pp", normal="x"), row("b", "pp", normal="x"), row("c", "ff", normal="y")), TESTS
    )
    assert (ranks[0].copies, ranks[1].copies) == (("b",), ("a",))
    assert verdict_of(ranks) == "separated: a leads (b: the same patch)"
    alone = rank_by_weight((row("a", "pp", normal="x"), row("c", "ff", normal="y")), TESTS)
    assert (ranks[0].score or 0) > (alone[0].score or 0)


@pytest.mark.parametrize("cells", ["", "?"])
def test_without_a_candidate_there_is_no_evidence(cells: str) -> None:
    ranks = rank_by_weight((row("a", cells), row("b", cells), row("c", applies=False)), ())
    assert {rank.standing for rank in ranks} == {Standing.NO_EVIDENCE}
    assert {rank.score for rank in ranks} == {None}
    assert names(ranks)[-1] == "c"
    assert verdict_of(ranks).startswith("no evidence")


def test_when_nothing_passes_there_is_no_evidence_either() -> None:
    ranks = rank_by_weight((row("a", "ff"), row("b", "ff")), TESTS)
    assert {rank.standing for rank in ranks} == {Standing.NO_EVIDENCE}
    assert verdict_of(ranks) == "no evidence: no candidate test passes on any patch"


def test_selection_never_invents_an_order() -> None:
    ranks = rank_by_epr((row("a", "pp"), row("b", "pp"), row("c", "pf"), row("d")), TESTS)
    assert names(top_k(ranks, 1)) == ["a", "b"]
    assert names(top_k(ranks, 3)) == ["a", "b", "c"]
    assert names(at_least(ranks, 0.5)) == ["a", "b", "c"]
    assert names(at_least(ranks, 0.51)) == ["a", "b"]


matrices = st.lists(st.text("pf?c", max_size=5), max_size=8)


def many(columns: list[str]) -> tuple[PatchResult, ...]:
    return tuple(row(f"p{number}", cells) for number, cells in enumerate(columns))


@given(matrices)
def test_every_patch_is_ranked_once_and_in_order(columns: list[str]) -> None:
    results = many(columns)
    ranks = rank_by_weight(results, TESTS)
    assert sorted(names(ranks)) == sorted(result.patch.name for result in results)
    places = [rank.place for rank in ranks if rank.place is not None]
    assert places == sorted(places)
    best = [
        max(rank.score or 0 for rank in ranks if rank.place == place)
        for place in sorted(set(places))
    ]
    assert best == sorted(best, reverse=True)
    groups = [rank.group for rank in ranks if rank.group]
    assert set(groups) == set(range(1, len(set(groups)) + 1))
    for rank in ranks:
        assert (rank.score is None) == (rank.epr is None) == (rank.place is None)
        # Only what could be compared with nothing but its copies has none.
        alone = {*names(ranks[:1]), *ranks[0].copies} >= {
            other.result.patch.name for other in ranks if other.score is not None
        }
        assert rank.standing is not None or alone


@given(matrices, st.randoms())
def test_the_order_of_input_changes_nothing(columns: list[str], random: object) -> None:
    results = list(many(columns))
    straight = rank_by_weight(tuple(results), TESTS)
    random.shuffle(results)  # type: ignore[attr-defined]
    mixed = rank_by_weight(tuple(results), TESTS)
    assert names(mixed) == names(straight)
    assert [rank.standing for rank in mixed] == [rank.standing for rank in straight]


@given(matrices, st.integers(0, 4))
def test_turning_a_test_green_never_lowers_the_place_when_data_are_few(
    columns: list[str], place: int
) -> None:
    columns = [cells.ljust(2, "f")[:2] for cells in columns][:3]
    if not columns:
        return
    place %= len(columns)
    better = list(columns)
    better[place] = "pp"

    def position(cells: list[str]) -> int:
        ranks = rank_by_weight(many(cells), TESTS[:2])
        return next(
            rank.place or len(ranks) for rank in ranks if rank.result.patch.name == f"p{place}"
        )

    assert position(better) <= position(columns)


def test_doing_what_most_others_do_with_changed_inputs_counts() -> None:
    same, other = varied("0", "5"), varied("0", "7")
    ranks = rank_by_weight(
        (row("a", "p", varied=other), *(row(name, "p", varied=same) for name in "bcd")), TESTS
    )
    assert names(ranks) == ["b", "c", "d", "a"]
    assert any("0% of the others do the same" in reason for reason in ranks[-1].because)
    assert ranks[0].standing is Standing.TIED
    assert ranks[0].exposure is None


def test_copies_are_one_voice_about_changed_inputs() -> None:
    same, other = varied("0", "5"), varied("0", "7")
    ranks = rank_by_weight(
        (
            row("a", "p", varied=other, normal="x"),
            row("b", "p", varied=other, normal="x"),
            row("c", "p", varied=same, normal="y"),
        ),
        TESTS,
    )
    reasons = {rank.result.patch.name: rank.because for rank in ranks}
    for name in "abc":
        assert not any("of the others do the same" in reason for reason in reasons[name])


def test_a_cell_that_says_nothing_counts_for_nothing() -> None:
    tests = tuple(judged(number, message="the same") for number in range(2))
    whole = rank_by_weight((row("a", "pp"), row("b", "ff")), tests)
    holed = rank_by_weight((row("a", "p?"), row("b", "f?")), tests)
    assert [rank.score for rank in holed] == [rank.score for rank in whole]
    assert [rank.epr for rank in holed] == [1.0, 0.0]
