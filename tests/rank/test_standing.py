"""How sure an order is, in a word."""

from __future__ import annotations

from dataclasses import replace

import pytest

from pytest_brt.rank.epr import rank_by_epr
from pytest_brt.rank.score import sigmoid
from pytest_brt.rank.standing import with_standings, without_separation
from pytest_brt.types import COUNTS, Rank, Standing
from tests.support.rows import broken, judged, row

BELIEVED = (judged(0, COUNTS),)


def rank(
    name: str, odds: float | None, group: int = 0, copies: tuple[str, ...] = (), cells: str = "p"
) -> Rank:
    """Return a rank whose score has these log-odds; unscored with None."""
    (plain,) = rank_by_epr((row(name, "" if odds is None else cells, guarded=broken(0)),))
    score = None if odds is None else sigmoid(odds)
    return replace(plain, score=score, group=group, copies=copies)


def standings(*ranks: Rank) -> list[Standing | None]:
    return [rank.standing for rank in with_standings(ranks, BELIEVED)]


@pytest.mark.parametrize(
    ("lead", "standing"),
    [(0.0, Standing.CLOSE), (0.9, Standing.CLOSE), (1.1, Standing.SEPARATED)],
)
def test_odds_of_less_than_2_7_to_1_are_too_close(lead: float, standing: Standing) -> None:
    for level in (-3.0, 0.0, 3.0):
        ranks = (rank("a", level + lead, 1), rank("b", level, 2))
        behind = Standing.BEHIND if standing is Standing.SEPARATED else standing
        assert standings(*ranks) == [standing, behind]


def test_a_tie_counts_whatever_the_odds_and_before_what_is_close() -> None:
    ranks = (rank("a", 4, 1), rank("b", 3.9, 2), rank("c", 0, 1), rank("d", 0, 3))
    assert standings(*ranks) == [
        Standing.TIED,
        Standing.CLOSE,
        Standing.TIED,
        Standing.BEHIND,
    ]


def test_patches_of_no_group_are_not_alike() -> None:
    assert standings(rank("a", 4), rank("b", 0)) == [Standing.SEPARATED, Standing.BEHIND]


def test_a_copy_of_the_leader_is_no_rival() -> None:
    ranks = (rank("a", 4, 1, ("b", "c")), rank("b", 4, 1, ("a", "c")), rank("d", 0, 2))
    assert standings(*ranks)[0] is Standing.SEPARATED
    tied = (*ranks, rank("e", 4, 1), rank("f", 4, 1))
    assert standings(*tied)[0] is Standing.TIED


def test_what_was_not_run_has_no_standing_of_its_own() -> None:
    ranks = (rank("a", 4, 1), rank("b", 0, 2), rank("c", None))
    assert standings(*ranks)[2] is Standing.NO_EVIDENCE


def test_without_evidence_there_is_no_standing() -> None:
    failing = (rank("a", 4, 1, cells="f"), rank("b", 0, 2, cells="f"), rank("c", None))
    assert standings(*failing) == [Standing.NO_EVIDENCE] * 3


def test_certain_scores_can_be_compared() -> None:
    sure = replace(rank("a", 4, 1), score=1.0)
    assert standings(sure, replace(rank("b", 4, 2), score=1.0)) == [Standing.CLOSE] * 2
    assert standings(sure, replace(rank("b", 4, 2), score=0.0)) == [
        Standing.SEPARATED,
        Standing.BEHIND,
    ]


def test_a_patch_that_stands_alone_is_separated_from_nothing() -> None:
    assert standings(rank("a", 4, 1)) == [None]
    copies = (rank("a", 4, 1, ("b",)), rank("b", 4, 1, ("a",)))
    assert standings(*copies) == [None, None]


def test_nobody_leads_while_patches_are_missing() -> None:
    ranks = with_standings(
        [rank("a", 4, 1), rank("b", 3.9, 2), rank("c", 0, 1), rank("d", 0, 3), rank("e", None)]
    )
    found = without_separation(ranks)
    assert [one.standing for one in found] == [
        Standing.TIED,
        Standing.CLOSE,
        Standing.TIED,
        None,
        Standing.NO_EVIDENCE,
    ]


@pytest.mark.parametrize(
    ("change", "doubt"),
    [
        ({"cells": "f"}, "no-sure-test"),
        (
            {"confidence": COUNTS - 0.01},
            "no-sure-test",
        ),
        ({"guarded": broken(1)}, "breaks-tests"),
        ({"guarded": broken(0, ran=0)}, "no-existing-tests"),
        ({"guarded": None}, None),
        ({}, None),
    ],
)
def test_nobody_leads_clearly_by_odds_alone(change: dict[str, object], doubt: str | None) -> None:
    result = row("a", str(change.get("cells", "p")) + "p", guarded=change.get("guarded", broken(0)))
    (plain,) = rank_by_epr((result,))
    tests = (judged(0, float(str(change.get("confidence", COUNTS)))), judged(1, 0.3))
    leader = replace(plain, score=sigmoid(4), group=1)
    found = with_standings((leader, rank("b", 0, 2)), tests)
    standing = Standing.UNSURE if doubt else Standing.SEPARATED
    assert [(one.standing, one.doubt and one.doubt.code) for one in found] == [
        (standing, doubt),
        (Standing.BEHIND, None),
    ]
