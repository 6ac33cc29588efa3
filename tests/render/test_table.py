"""The ranking as text."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from pytest_brt.render.answer import notes_of
from pytest_brt.render.forms import Line, summary
from pytest_brt.render.report import Ranking
from pytest_brt.types import Note, Rank, Verdict
from tests.render.pages import report_of
from tests.render.samples import record
from tests.support.outcomes import caused, refused
from tests.support.rows import broken, judged, ranked, row

TESTS = (judged(0), judged(1))


def ranking_of(ranks: Sequence[Rank]) -> Ranking:
    return report_of(replace(record(), ranks=tuple(ranks))).rankings[0]


def table_of(ranks: Sequence[Rank]) -> list[Line]:
    """Return the lines below the sentence about a ranking: heads, and a line for each patch."""
    lines = list(summary(report_of(replace(record(), ranks=tuple(ranks)))))
    return lines[-len(ranks) - 1 :]


def test_a_line_per_patch_with_what_is_known_of_it() -> None:
    results = (
        row("right.diff", "pp", guarded=broken(0)),
        row("half.diff", "pf", guarded=broken(2)),
        row("stale.diff", refused=refused(f"does not apply: {'x' * 200!r} is not there any more")),
    )
    ranks = ranked(results, TESTS)
    lines = table_of(ranks)
    assert lines[0].text.split("  ")[1] == "rank"
    first, second, last = (line.text.strip() for line in lines[1:])
    assert re.fullmatch(r"1 +right.diff +2/2 pass +0/20 break +1\.00 +0\.\d\d", first)
    assert re.match(r"2 +half.diff .* 2/20 break .*breaks tests/test_x.py::test_0", second)
    assert last.startswith("-     stale.diff  -")
    assert last.endswith("x' is not there any more")
    assert [line.style for line in lines] == ["", "green", "", ""]
    heads = ["rank", "patch", "bug", "tests", "existing", "tests", "EPR", "score", "note"]
    assert lines[0].text.split() == heads


def test_why_no_test_could_be_run_on_a_patch_is_said() -> None:
    lost = row("lost", "pp")
    cells = [
        replace(
            cell,
            verdict=Verdict.INVALID,
            cause=caused(Verdict.INVALID, "sandbox: could not be set up: said: no"),
        )
        for cell in lost.cells
    ]
    (patch,) = ranking_of(ranked((replace(lost, cells=tuple(cells)),), TESTS)).patches
    assert patch.note == "no bug test could be run on it; sandbox: could not be set up: said: no"


def test_patches_that_behave_alike_share_their_places() -> None:
    tests = (judged(0), judged(1, 0.3))
    results = (row("a", "pp"), row("b", "pp"), row("c", "pf"), row("d", "ff"))
    ranks = ranked(results, tests)
    assert [str(rank.standing) for rank in ranks] == [
        *["tied"] * 2,
        "too-close",
        "behind",
    ]
    lines = table_of(ranks)[1:]
    assert [line.text.split()[:2] for line in lines] == [
        ["1-2", "a"],
        ["1-2", "b"],
        ["3", "c"],
        ["4", "d"],
    ]
    assert [line.style for line in lines] == ["green", "green", "", ""]
    close = [line.text.endswith("  too close to the first to call") for line in lines]
    assert close == [False, False, True, False]


def test_what_existing_tests_said() -> None:
    old = replace(
        broken(0),
        shortfalls=(Note(code="budget-spent", text="the budget of 2 s a patch allows no more"),),
    )
    ranks = ranked((row("a", "p", guarded=old), row("b", "p", guarded=broken(5))), TESTS)
    assert list(notes_of(replace(record(), ranks=ranks))) == [
        "20 of 100 existing tests ran on each patch (the budget of 2 s a patch allows no more)"
    ]
    assert list(notes_of(replace(record(), ranks=ranked((row("a", "p"),), TESTS)))) == []


def test_every_score_can_say_why() -> None:
    ranks = ranked((row("a", "pp"), row("b", "ff")), TESTS)
    (first, *_), (second, *_) = (patch.because for patch in ranking_of(ranks).patches)
    assert (first[0], second[0]) == ("+", "-")
    assert "by the bug tests" in first
