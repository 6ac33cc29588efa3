"""How sure an order is, in a word and in one sentence."""

from __future__ import annotations

from dataclasses import replace

import pytest

from pytest_brt.rank.epr import rank_by_epr
from pytest_brt.rank.reliability import sigmoid
from pytest_brt.rank.standing import has_verdict, verdict_of, with_standings, without_separation
from pytest_brt.types import NotRun, Rank, Standing
from tests.rank.rows import row


def rank(
    name: str, odds: float | None, group: int = 0, copies: tuple[str, ...] = (), cells: str = "p"
) -> Rank:
    """Return a rank whose score has these log-odds; unscored with None."""
    (plain,) = rank_by_epr((row(name, "" if odds is None else cells),), ())
    score = None if odds is None else sigmoid(odds)
    return replace(plain, score=score, group=group, copies=copies)


def standings(*ranks: Rank) -> list[Standing | None]:
    return [rank.standing for rank in with_standings(ranks)]


def verdict(*ranks: Rank) -> str:
    return verdict_of(with_standings(ranks))


@pytest.mark.parametrize(
    ("lead", "standing"),
    [(0.0, Standing.CLOSE), (0.9, Standing.CLOSE), (1.1, Standing.SEPARATED)],
)
def test_odds_of_less_than_2_7_to_1_are_too_close(lead: float, standing: Standing) -> None:
    for level in (-3.0, 0.0, 3.0):
        ranks = (rank("a", level + lead, 1), rank("b", level, 2))
        assert standings(*ranks) == [standing, standing]


def test_a_tie_counts_whatever_the_odds_and_before_what_is_close() -> None:
    ranks = (rank("a", 4, 1), rank("b", 3.9, 2), rank("c", 0, 1), rank("d", 0, 3))
    assert standings(*ranks) == [
        Standing.TIED,
        Standing.CLOSE,
        Standing.TIED,
        Standing.SEPARATED,
    ]
    assert verdict(*ranks) == "tied: a and c behave alike on everything we could run"


def test_patches_of_no_group_are_not_alike() -> None:
    assert standings(rank("a", 4), rank("b", 0)) == [Standing.SEPARATED] * 2


def test_a_copy_of_the_leader_is_no_rival() -> None:
    ranks = (rank("a", 4, 1, ("b", "c")), rank("b", 4, 1, ("a", "c")), rank("d", 0, 2))
    assert standings(*ranks)[0] is Standing.SEPARATED
    assert verdict(*ranks) == "separated: a leads (b, c: the same patch)"
    tied = (*ranks, rank("e", 4, 1), rank("f", 4, 1))
    assert verdict(*tied) == "tied: a, e and f behave alike on everything we could run"


def test_what_was_not_run_has_no_standing_of_its_own() -> None:
    ranks = (rank("a", 4, 1), rank("b", 0, 2), rank("c", None))
    assert standings(*ranks)[2] is Standing.NO_EVIDENCE
    assert verdict(*ranks) == "separated: a leads"
    assert verdict(rank("a", 4), rank("c", None)) == "a is the only patch that could be tried"


def test_who_is_too_close_is_named() -> None:
    ranks = (rank("a", 4, 1), rank("b", 3.5, 2), rank("c", 3.4, 3))
    assert verdict(*ranks) == "too close to call between a and b"


def test_without_evidence_there_is_no_standing() -> None:
    failing = (rank("a", 4, 1, cells="f"), rank("b", 0, 2, cells="f"), rank("c", None))
    assert standings(*failing) == [Standing.NO_EVIDENCE] * 3
    assert verdict(*failing) == "no evidence: no candidate test passes on any patch"
    assert verdict(rank("c", None)) == "no evidence: no candidate test could be run on a patch"
    assert verdict() == "no evidence: no candidate test could be run on a patch"


def test_certain_scores_can_be_compared() -> None:
    sure = replace(rank("a", 4, 1), score=1.0)
    assert standings(sure, replace(rank("b", 4, 2), score=1.0)) == [Standing.CLOSE] * 2
    assert standings(sure, replace(rank("b", 4, 2), score=0.0)) == [Standing.SEPARATED] * 2


def test_a_patch_that_stands_alone_is_separated_from_nothing() -> None:
    assert standings(rank("a", 4, 1)) == [None]
    copies = (rank("a", 4, 1, ("b",)), rank("b", 4, 1, ("a",)))
    assert standings(*copies) == [None, None]
    assert verdict(*copies) == "a is the only patch that could be tried (b: the same patch)"
    assert has_verdict(with_standings([rank("a", 4, 1)]))
    assert not has_verdict([rank("a", None)])


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
    missing = NotRun(issue="", patches=("f", "g"), of=7)
    for some in (found, found[:1], found[4:]):
        assert verdict_of(some, missing) == "no verdict: not all patches were run"
