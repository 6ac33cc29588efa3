"""How sure an order is, in a word."""

from __future__ import annotations

from dataclasses import replace

import pytest

from pytest_brt.rank.ranking import rank
from pytest_brt.types import (
    COUNTS,
    CauseCode,
    Evidence,
    Measured,
    Note,
    Origin,
    PatchResult,
    Review,
    Standing,
)
from tests.support.rows import LEADERS, broken, judged, ranked, row

BELIEVED = (judged(0, COUNTS),)
SAFE = broken(0)


def standings(*results: PatchResult, confidence: float = 0.85) -> list[Standing | None]:
    """Return the standings of patches, ranked by two tests as likely right as that."""
    found = ranked(results, (judged(0, confidence), judged(1, confidence)))
    return [one.standing for one in found]


@pytest.mark.parametrize(
    ("confidence", "standing"),
    [(0.3, Standing.CLOSE), (0.43, Standing.CLOSE), (0.44, Standing.UNSURE)],
)
def test_odds_of_less_than_2_7_to_1_are_too_close(confidence: float, standing: Standing) -> None:
    """A test more that passes is worth 2.3 times its confidence."""
    behind = Standing.BEHIND if standing is Standing.UNSURE else standing
    results = (row("a", "pp", guarded=SAFE), row("b", "pf", guarded=SAFE))
    assert standings(*results, confidence=confidence) == [standing, behind]


def test_a_tie_counts_before_what_is_close() -> None:
    results = (row("a", "pp"), row("b", "pp"), row("c", "ff"), row("d", "p"))
    tied, close, behind = Standing.TIED, Standing.CLOSE, Standing.BEHIND
    assert standings(*results[:3]) == [tied, tied, behind]
    assert standings(*results[:2], results[3], confidence=0.3) == [tied, tied, close]


def test_patches_that_nothing_is_known_of_are_not_alike() -> None:
    found = standings(row("a", "pp", guarded=SAFE), row("b", "??"), row("c", "??"))
    assert found == [Standing.SEPARATED, Standing.BEHIND, Standing.BEHIND]


def test_a_patch_that_fails_an_accepted_test_is_behind_however_close_it_is() -> None:
    accepted = replace(judged(0, 0.3), review=Review.ACCEPTED)
    results = (row("a", "pp", guarded=SAFE), row("b", "fp", guarded=SAFE), row("c", "?p"))
    found = [one.standing for one in ranked(results, (accepted, judged(1, 0.3)))]
    assert found == [Standing.CLOSE, Standing.CLOSE, Standing.BEHIND]


def test_a_copy_of_the_leader_is_no_rival() -> None:
    copies = [row(name, "pp", normal="n", guarded=SAFE) for name in "abc"]
    assert standings(*copies, row("d", "ff"))[0] is Standing.SEPARATED
    assert standings(*copies, row("e", "pp", guarded=SAFE))[0] is Standing.TIED
    assert standings(*copies[:2]) == [None, None]


def test_what_does_not_apply_or_had_no_time_has_no_standing_of_its_own() -> None:
    results = (row("a", "pp", guarded=SAFE), row("b", "ff"), row("c"))
    assert standings(*results)[2] is Standing.BEHIND
    cells = tuple(
        replace(cell, cause=replace(cell.cause, code=CauseCode.TREE_TOO_SLOW))
        for cell in row("d", "??").cells
    )
    late = replace(row("d"), cells=cells)
    *_, last = ranked((*results, late), (judged(0), judged(1)))
    assert (last.name, last.standing, last.place) == ("d", Standing.NO_EVIDENCE, None)


def test_without_evidence_there_is_no_standing() -> None:
    assert standings(row("a", "ff"), row("b", "ff")) == [Standing.NO_EVIDENCE] * 2
    assert standings(row("a", "pp")) == [None]


AS_UNPATCHED = Note(code="as-unpatched", text="as without a patch")


@pytest.mark.parametrize(
    ("change", "doubt"),
    [
        ({"cells": "fp"}, "no-sure-test"),
        ({"confidence": COUNTS - 0.01}, "no-sure-test"),
        ({"guarded": broken(1)}, "breaks-tests"),
        ({"guarded": broken(0, ran=0)}, "no-existing-tests"),
        ({"remarks": (AS_UNPATCHED,)}, "as-unpatched"),
        ({"guarded": None}, None),
        ({}, None),
    ],
)
def test_nobody_leads_clearly_by_odds_alone(change: dict[str, object], doubt: str | None) -> None:
    facts = {"cells": "pp", "confidence": COUNTS, "guarded": SAFE, **change}
    tests = (judged(0, float(str(facts.pop("confidence")))), judged(1, 0.59))
    leader = row("a", str(facts.pop("cells")), **facts)
    found = ranked((leader, row("b", "ff", guarded=broken(2))), tests)
    standing = Standing.UNSURE if doubt else Standing.SEPARATED
    assert [(one.standing, one.doubt and one.doubt.code) for one in found] == [
        (standing, doubt),
        (Standing.BEHIND, None),
    ]


LED = (row("a", "p", guarded=SAFE), row("b", "f", guarded=SAFE))


@pytest.mark.parametrize(
    ("row_of", "doubt"),
    [
        (None, "leaders-not-measured"),
        (Measured(right=8, of=8), "leaders-often-wrong"),
        (Measured(right=9, of=9), None),
        (Measured(right=41, of=50), "leaders-often-wrong"),
        (Measured(right=42, of=50), None),
    ],
)
def test_the_best_needs_evidence_on_which_leaders_were_right(
    row_of: Measured | None, doubt: str | None
) -> None:
    rows = {key: value for key, value in LEADERS.items() if key != Evidence.OTHER}
    leader, _ = rank(LED, BELIEVED, rows | ({Evidence.OTHER: row_of} if row_of else {}))
    assert (leader.doubt and leader.doubt.code) == doubt
    assert leader.leads_by == "other"


def test_a_test_that_a_person_gave_or_accepted_is_right() -> None:
    (test,) = BELIEVED
    given = replace(test, test=replace(test.test, origin=Origin(strategy="given")))
    for one in (given, replace(test, review=Review.ACCEPTED)):
        leader, _ = rank(LED, (one,), {})
        assert (leader.standing, leader.leads_by) == (Standing.SEPARATED, "yours")


def test_a_patch_that_changes_nothing_stands_behind_one_that_passes_a_likely_test() -> None:
    idle = row("a", "f", guarded=SAFE, remarks=(Note(code="changes-nothing-shown", text=""),))
    harms = row("b", "p", guarded=broken(1))
    for confidence in (0.5, 0.55):
        first, last = ranked((idle, harms), (judged(0, confidence),))
        assert (first.name, last.name) == ("b", "a")
