"""The ranking as text."""

from __future__ import annotations

from dataclasses import replace

from pytest_brt.rank.differ import difference_of
from pytest_brt.rank.epr import rank_by_epr
from pytest_brt.rank.weighted import rank_by_weight
from pytest_brt.report.table import (
    exposures,
    note,
    question,
    reasons,
    regressions,
    table,
    unfinished,
    untried,
    with_harm,
)
from pytest_brt.types import NotRun, Verdict
from tests.rank.rows import broken, judged, row, varied

TESTS = (judged(0), judged(1))
SHOWN = varied("ValueError: no", "ValueError: no", decides=True)


def test_a_line_per_patch_with_what_is_known_of_it() -> None:
    results = (
        row("right.diff", "pp", guarded=broken(0)),
        row("half.diff", "pf", guarded=broken(2)),
        row("literal.diff", "pp", guarded=broken(0), varied=SHOWN),
        row("stale.diff", applies=False, reason="does not apply: " + "x" * 200),
    )
    lines = list(table(rank_by_weight(results, TESTS)))
    assert lines[0].text.split() == [
        "rank", "patch", "EPR", "score", "(80", "%)", "passed", "regress", "group", "note",
    ]  # fmt: skip
    first, second, third, last = (line.text for line in lines[1:])
    assert first.startswith("1        right.diff    1.00")
    assert first.endswith("separated")
    assert " 2/2     0/20 " in first
    assert "shows the bug again for 0 → 1" in second
    assert "half.diff" in third
    assert " 2/20 " in third
    assert last.startswith("-        stale.diff       -  -")
    assert last.endswith("x…")
    assert [line.good for line in lines] == [False, True, False, False, False]


def test_plain_epr_has_no_columns_that_would_be_empty() -> None:
    ranks = rank_by_epr((row("a", "p"), row("b", "p"), row("c", "f"), row("d")), TESTS)
    lines = [line.text for line in table(ranks)]
    assert lines == [
        "rank     patch   EPR  passed  note",
        "[1-2]    a      1.00  1/1",
        "[1-2]    b      1.00  1/1",
        "3        c      0.00  0/1",
        "-        d         -  -       no evidence",
    ]


def test_why_no_test_could_be_run_on_a_patch_is_said() -> None:
    lost = row("lost", "pp")
    cells = [
        replace(cell, verdict=Verdict.INVALID, reason="the worker said: no") for cell in lost.cells
    ]
    (rank,) = rank_by_epr((replace(lost, cells=tuple(cells)),), TESTS)
    assert note(rank) == "no evidence; the worker said: no"


def test_the_leading_patch_and_those_too_close_to_it_share_their_places() -> None:
    results = (row("long", "pp", size=30), row("short", "pp", varied=SHOWN[:1]), row("bad", "ff"))
    lines = list(table(rank_by_weight(results, TESTS)))
    assert [(line.text.split()[:2], line.good) for line in lines[1:]] == [
        (["[1-2]", "short"], True),
        (["[1-2]", "long"], True),
        (["3", "bad"], False),
    ]


def test_tied_patches_share_the_places_of_those_too_close_to_them() -> None:
    shown = varied("0", "5", count=1)
    results = (row("a", "pp"), row("b", "pp"), row("c", "pp", varied=shown), row("d", "ff"))
    ranks = rank_by_weight(results, TESTS)
    assert [str(rank.standing) for rank in ranks] == [
        *["tied"] * 2,
        "too close to call",
        "separated",
    ]
    lines = [line.text.split()[:2] for line in table(ranks)]
    assert lines[1:] == [["[1-3]", "a"], ["[1-3]", "b"], ["[1-3]", "c"], ["4", "d"]]


def test_what_existing_tests_said() -> None:
    pinned = replace(broken(0), pinned=("tests/test_x.py::test_old",), cut="the budget says no")
    ranks = rank_by_weight((row("a", "p", guarded=pinned), row("b", "p", guarded=broken(5))), TESTS)
    assert list(regressions(ranks)) == [
        "guard: 20 of 100 existing tests ran on each patch; chosen by names; the budget says no",
        "regression of b: tests/test_x.py::test_0 ()",
        "regression of b: tests/test_x.py::test_1 ()",
        "regression of b: tests/test_x.py::test_2 ()",
        "regression of b: and 2 more",
        "asserts the reported behaviour, and must change with the fix: tests/test_x.py::test_old",
    ]
    assert list(regressions(rank_by_epr((row("a", "p"),), TESTS))) == []


def test_the_counterexample_is_shown() -> None:
    ranks = rank_by_weight((row("a", "p", varied=SHOWN),), TESTS)
    assert list(exposures(ranks)) == [
        "a shows the bug again for 0 → 1 (6 of 6 inputs near the report):",
        "    without it: ValueError: no",
        "    with it:    ValueError: no",
    ]


def test_every_score_can_say_why() -> None:
    ranks = rank_by_weight((row("a", "pp", size=3), row("b", "ff", size=3)), TESTS)
    first, second = reasons(ranks)
    assert first.startswith("a: +")
    assert "passes 2 of 2 kinds of failure" in first
    assert second.startswith("b: -")


def test_an_answer_that_is_that_of_the_unpatched_tree_is_marked() -> None:
    rows = (
        row("a", "p", varied=varied("0", "5", count=1)),
        row("b", "p", varied=varied("0", "0", count=1)),
    )
    asked = question(difference_of(rank_by_weight(rows, TESTS)), {"t0": "test_a"})
    assert list(asked) == [
        "the leading patches differ with 0 → 1 in test_a:",
        "    a: 5",
        "    b: 0 (as without it)",
        "    with 0 → 1, which is right: `5` or `0`?",
    ]
    assert list(question(None, {})) == []


def test_it_is_said_when_there_was_no_time_for_all_changed_inputs() -> None:
    cut = "7 of 12 changed inputs were tried: time"
    cut_rows = [row(name, "p", varied=varied("0", "5"), vary_cut=cut) for name in "ab"]
    alike = (*cut_rows, row("c", "f"), row("d", applies=False))
    assert list(untried(rank_by_weight(alike, TESTS))) == [cut]
    hung = row(
        "c", "p", varied=varied("0", "5"), vary_cut="1 of 12 changed inputs were tried: time"
    )
    assert list(untried(rank_by_weight((*cut_rows, hung), TESTS))) == [
        f"a, b: {cut}",
        "c: 1 of 12 changed inputs were tried: time",
    ]
    whole = row("c", "p", varied=varied("0", "5"))
    assert list(untried(rank_by_weight((*cut_rows, whole), TESTS))) == [f"a, b: {cut}"]


def test_patches_that_a_ranking_lacks_are_counted() -> None:
    assert list(unfinished(None)) == []
    names = tuple(f"p{number}" for number in range(21))
    some = NotRun(issue="", patches=names, of=27)
    assert list(unfinished(some)) == ["21 of 27 patches were not run"]
    one = NotRun(issue="", patches=names[:1], of=27)
    assert list(unfinished(one)) == ["1 of 27 patches was not run"]


def test_what_a_patch_breaks_stands_beside_its_name() -> None:
    rows = (row("a", "p", guarded=broken(0)), row("b", "p", guarded=broken(1)), row("c", "p"))
    more = row("d", "p", guarded=broken(3))
    told = [with_harm(rank) for rank in rank_by_weight((*rows, more), TESTS)]
    assert sorted(told) == [
        "a",
        "b (breaks 1 existing test)",
        "c",
        "d (breaks 3 existing tests)",
    ]
