"""Every answer about a ranking, in words."""

from __future__ import annotations

from dataclasses import replace

from pytest_brt.render.answer import answer_ranking
from pytest_brt.types import NotRun, Rank
from tests.render.samples import record
from tests.support.outcomes import refused
from tests.support.rows import broken, judged, ranked, row

TESTS = (judged(0), judged(1))


def of_ranking(ranks: tuple[Rank, ...], not_run: NotRun | None = None) -> str:
    return answer_ranking(replace(record(), ranks=ranks, not_run=not_run)).text


def test_the_best_patch_is_named_with_what_it_passes_and_breaks() -> None:
    rows = (
        row("right.diff", "pp", guarded=broken(0)),
        row("wrong.diff", "ff", guarded=broken(3)),
    )
    assert of_ranking(ranked(rows, TESTS)) == (
        "Best: right.diff: passes 2 of 2 bug tests and breaks none of 20 existing tests."
    )
    bare = replace(broken(0, ran=0), total=0)
    rows = (row("right.diff", "pp", guarded=bare), row("wrong.diff", "ff", guarded=bare))
    assert of_ranking(ranked(rows, TESTS)) == (
        "Best: right.diff: passes 2 of 2 bug tests (no existing test ran)."
    )


def test_copies_of_the_best_patch_are_the_same_patch() -> None:
    rows = (row("a", "p", normal="x"), row("b", "p", normal="x"), row("c", "f", normal="y"))
    assert of_ranking(ranked(rows, TESTS[:1])) == (
        "Best: a: passes 1 of 1 bug test (no existing test ran)."
    )
    alone = ranked(rows[:2], TESTS[:1])
    assert of_ranking(alone).startswith("Only a could be tried: it passes 1")


def test_patches_that_nothing_tells_apart_do_not_stand_out() -> None:
    tied = ranked((row("a", "pp"), row("b", "pp"), row("c", "ff")), TESTS)
    assert of_ranking(tied) == (
        "No patch stands out: a and b pass the same tests: each passes 2 of 2 "
        "bug tests (no existing test ran)."
    )
    close = ranked((row("a", "pp", guarded=broken(0, ran=3)), row("b", "p?")), TESTS)
    assert of_ranking(close).startswith("No patch stands out: a and b are too close to call: a ")


def test_tests_that_may_not_be_about_the_bug_make_no_best_patch() -> None:
    unsure = (judged(0, 0.3), judged(1, 0.3))
    ranks = ranked((row("a", "pp"), row("b", "ff"), row("c", "ff")), unsure)
    assert of_ranking(ranks).startswith("Possibly a: passes 2 of 2 bug tests")
    assert of_ranking(ranks).endswith("but it passes no sure bug test.")


def test_without_evidence_nothing_is_said_of_patches() -> None:
    none_run = ranked((row("a"), row("b", refused=refused())), ())
    assert of_ranking(none_run).startswith("No bug test, so no patch is known to be right: ")
    none_ran = ranked((row("a", "?"), row("b", refused=refused())), TESTS)
    assert of_ranking(none_ran) == "No patch stands out: no bug test could be run on any patch."
    none_pass = ranked((row("a", "ff"), row("b", "ff")), TESTS)
    assert of_ranking(none_pass) == "No patch stands out: none passes a bug test."
    missing = NotRun(patches=("f",), of=7)
    assert of_ranking(none_pass, missing) == "No answer yet: 1 of 7 patches did not run."
