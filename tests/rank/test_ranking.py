"""The weighted ranking as a whole."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_brt.types import OracleKind, PatchResult, Rank, Standing, Verdict
from tests.support.outcomes import refused
from tests.support.rows import broken, judged, ranked, row

TESTS = tuple(judged(number) for number in range(6))


def names(ranks: tuple[Rank, ...]) -> list[str]:
    return [rank.result.patch.name for rank in ranks]


def test_one_idea_sampled_often_does_not_drown_a_better_one() -> None:
    flips = tuple(judged(number, 0.4, OracleKind.GONE, message="m") for number in range(1, 6))
    tests = (judged(0, 0.7, OracleKind.EQUALS), *flips)
    results = (row("value", "pfffff"), row("flip", "fppppp"))
    value, flip = ranked(results, tests)
    assert (value.name, flip.name) == ("value", "flip")
    assert (value.epr or 0) < (flip.epr or 0)


def test_tests_that_fail_in_the_same_words_share_one_vote() -> None:
    results = (row("a", "pfff"), row("b", "fppp"), row("c", "pppp"))

    def scores(*messages: str) -> dict[str, float | None]:
        flips = tuple(judged(n, 0.5, message=text) for n, text in enumerate(messages, start=1))
        ranks = ranked(results, (judged(0, 0.5), *flips))
        return {rank.name: rank.score for rank in ranks}

    # Where an object lies in memory is no other word.
    same = scores("at 0x7f00aa11", "at 0x7f00bb22", "at 0x7f00cc33")
    assert same["a"] == same["b"]
    other = scores("at one", "at two", "at three")
    assert (other["a"] or 0) < (other["b"] or 0)


def test_a_regression_breaks_a_tie() -> None:
    results = tuple(row(f"r{number}", "p", guarded=broken(number)) for number in (2, 0, 1))
    ranks = ranked(results, TESTS)
    assert [(one.name, one.place) for one in ranks] == [(f"r{n}", (n + 1, n + 1)) for n in range(3)]
    assert ranks[0].standing is Standing.SEPARATED


def test_the_same_patch_written_twice_is_one_patch() -> None:
    safe = broken(0)
    results = (
        row("a", "pp", normal="x", guarded=safe),
        row("b", "pp", normal="x", guarded=safe),
        row("c", "ff", normal="y", guarded=safe),
    )
    ranks = ranked(results, TESTS)
    assert (ranks[0].copies, ranks[1].copies) == (("b",), ("a",))
    alone = ranked((results[0], results[2]), TESTS)
    assert ranks[0].score == alone[0].score


@pytest.mark.parametrize("cells", ["", "?"])
def test_without_a_candidate_there_is_no_evidence(cells: str) -> None:
    ranks = ranked((row("a", cells), row("b", cells), row("c", refused=refused())), ())
    assert {rank.standing for rank in ranks} == {Standing.NO_EVIDENCE}
    assert {(rank.epr, rank.score, rank.total) for rank in ranks} == {(None, None, 0)}
    assert names(ranks)[-1] == "c"


def test_only_a_pass_counts_as_passed() -> None:
    passing = row("a", "p")
    for verdict in set(Verdict) - {Verdict.PASS, Verdict.INVALID}:
        cells = (replace(passing.cells[0], verdict=verdict),)
        (only,) = ranked((replace(passing, cells=cells),), TESTS)
        assert only.epr == 0.0


matrices = st.lists(st.text("pf?c", max_size=5), max_size=8)


def many(columns: list[str]) -> tuple[PatchResult, ...]:
    return tuple(row(f"p{number}", cells) for number, cells in enumerate(columns))


@given(matrices)
def test_every_patch_is_ranked_once_and_in_order(columns: list[str]) -> None:
    results = many(columns)
    ranks = ranked(results, TESTS)
    assert sorted(names(ranks)) == sorted(result.patch.name for result in results)
    places = [rank.place for rank in ranks if rank.place is not None]
    for number, (first, last) in enumerate(places, 1):  # those of a competition
        assert first <= number <= last
        assert places.count((first, last)) == last - first + 1
    best = [
        max(rank.score or 0 for rank in ranks if rank.place == place)
        for place in sorted(set(places))
    ]
    assert best == sorted(best, reverse=True)
    groups = [rank.group for rank in ranks if rank.group]
    assert set(groups) == set(range(1, len(set(groups)) + 1))
    is_tried = any(rank.total for rank in ranks)
    for rank in ranks:
        assert (rank.score is None) == (not rank.result.applies or not is_tried)
        assert rank.place is not None or not rank.result.applies or not is_tried
        # Only what could be compared with nothing but its copies has none.
        alone = {*names(ranks[:1]), *ranks[0].copies} >= {
            other.result.patch.name for other in ranks if other.score is not None
        }
        assert rank.standing is not None or alone


@given(matrices, st.randoms())
def test_the_order_of_input_changes_nothing(columns: list[str], random: object) -> None:
    results = list(many(columns))
    straight = ranked(tuple(results), TESTS)
    random.shuffle(results)  # type: ignore[attr-defined]
    mixed = ranked(tuple(results), TESTS)
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
        ranks = ranked(many(cells), TESTS[:2])
        return next(
            (rank.place or (len(ranks),))[0]
            for rank in ranks
            if rank.result.patch.name == f"p{place}"
        )

    assert position(better) <= position(columns)


def test_a_cell_that_says_nothing_counts_for_nothing() -> None:
    tests = tuple(judged(number, message="the same") for number in range(2))
    whole = ranked((row("a", "pp"), row("b", "ff")), tests)
    holed = ranked((row("a", "p?"), row("b", "f?")), tests)
    assert [rank.score for rank in holed] == [rank.score for rank in whole]
    assert [rank.epr for rank in holed] == [1.0, 0.0]


def test_a_patch_at_fault_never_scores_above_one_that_is_not() -> None:
    believed, possible = judged(0, 0.8), [judged(number, 0.5) for number in (1, 2, 3)]
    tests = (believed, *possible)
    fails = row("fails a believed test", "fppp")
    harms = row("breaks an existing test", "pppp", guarded=broken(1))
    sound = row("sound", "pfff", guarded=broken(0))
    first, *rest = ranked((fails, harms, sound), tests)
    assert first.name == "sound"
    assert all((rank.score or 0) <= (first.score or 0) for rank in rest)
    assert [rank.place for rank in (first, *rest)] == [(1, 1), (2, 2), (3, 3)]


def test_a_test_that_only_the_patch_that_brings_it_passes_decides_nothing() -> None:
    claimed, shown = judged(0), judged(1)
    other, both = row("other", "fp"), row("author", "pp")
    author = replace(both, cells=both.cells[1:], own_cells=both.cells[:1])
    ranks = ranked((other, author, row("wrong", "ff")), (claimed, shown))
    scores = {rank.name: rank.score or 0 for rank in ranks}
    assert scores["other"] == scores["author"] > scores["wrong"]
    # What a third patch passes as well is no longer its author's word alone.
    third = row("third", "pp")
    ranks = ranked((other, author, third), (claimed, shown))
    scores = {rank.name: rank.score or 0 for rank in ranks}
    assert scores["third"] == scores["author"] > scores["other"]
