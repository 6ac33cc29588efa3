"""Existing tests that are in dispute: what speaks against them, and when it is enough."""

from __future__ import annotations

from dataclasses import replace

import pytest

from pytest_brt.rank.disputes import settle
from pytest_brt.rank.weighted import rank_by_weight
from pytest_brt.types import (
    Contradiction,
    Edit,
    JudgedTest,
    PatchResult,
    Rank,
    Regression,
    Sign,
    Verdict,
)
from tests.support.outcomes import caused
from tests.support.rows import broken, judged, row

OLD = "tests/test_x.py::test_0"
SETTLED = Contradiction(bug_test="t0", demands="assert f(1) == 2", is_settled=True)
OPEN = replace(SETTLED, is_settled=False)
TESTS = (judged(0, 0.9), judged(1, 0.7))


def fix(
    name: str,
    cells: str = "pp",
    *contradictions: Contradiction,
    source: str = "",
    edits: bool = False,
    breaks: bool = True,
) -> PatchResult:
    """Return a patch that breaks the existing test, or does not."""
    regression = Regression(
        test=OLD,
        verdict=Verdict.FAIL,
        cause=caused(Verdict.FAIL),
        asserts="assert f(1) == 1",
        contradicts=contradictions,
    )
    guarded = replace(broken(0), regressions=(regression,) if breaks else ())
    made = row(name, cells, guarded=guarded)
    gone = (Edit(test=OLD, gone=("assert f(1) == 1", "x = 1")),) if edits else ()
    return replace(made, patch=replace(made.patch, source=source), edits=gone)


def nothing(name: str = "nothing", source: str = "z") -> PatchResult:
    return fix(name, "ff", source=source, breaks=False)


BY_ALL = (fix("a", source="a"), fix("b", source="b"), nothing())
EDITED = (fix("a", source="a"), fix("b", "pf", source="b", edits=True, breaks=False), nothing())


@pytest.mark.parametrize(
    ("results", "signs", "is_disputed"),
    [
        ((fix("a", "pp", SETTLED), nothing()), [Sign.CONTRADICTED], True),
        ((fix("a", "pp", OPEN), nothing()), [Sign.CONTRADICTED], False),
        (BY_ALL, [Sign.BROKEN_BY_ALL], False),
        (EDITED, [Sign.EDITED, Sign.BROKEN_BY_ALL][:1], False),
        (
            (fix("a", "pp", OPEN, source="a"), fix("b", source="b"), nothing()),
            [Sign.CONTRADICTED, Sign.BROKEN_BY_ALL],
            True,
        ),
        (
            (fix("a", source="a"), fix("b", source="b", edits=True), nothing()),
            [Sign.EDITED, Sign.BROKEN_BY_ALL],
            True,
        ),
        # An edit says nothing for its own patch, nor for its source.
        ((fix("a", source="a", edits=True), nothing()), [], False),
        ((fix("a", source="a", edits=True), fix("b", source="a"), nothing()), [], False),
        # Where no source is known, that others agree cannot be seen.
        ((fix("a"), fix("b"), nothing()), [], False),
        # Somebody who fails the bug tests breaks it too: it may be about something else.
        ((*BY_ALL, fix("c", "fp", source="c")), [], False),
        # Somebody passes the bug tests and does not break it: it can be done.
        ((*BY_ALL, fix("c", source="c", breaks=False)), [], False),
    ],
)
def test_what_speaks_against_an_existing_test(
    results: tuple[PatchResult, ...], signs: list[Sign], is_disputed: bool
) -> None:
    settled = settle(results, TESTS)
    assert [one.signs for one in settled.disputes] == ([tuple(signs)] if signs else [])
    assert [one.is_disputed for one in settled.disputes] == ([is_disputed] if signs else [])
    for before, after in zip(results, settled.results, strict=True):
        guarded, was = after.guarded, before.guarded
        assert guarded is not None
        assert was is not None
        assert guarded.regressions == (() if is_disputed else was.regressions)
        assert guarded.disputed == (was.regressions if is_disputed else ())


def test_without_a_bug_test_that_is_believed_only_a_contradiction_is_seen() -> None:
    tests = (judged(0, 0.5), judged(1, 0.4))
    assert settle(BY_ALL, tests).disputes == ()
    (dispute,) = settle((fix("d", "pp", OPEN, source="d"), *BY_ALL), tests).disputes
    assert dispute.signs == (Sign.CONTRADICTED,)


@pytest.mark.parametrize("is_right", [True, False])
def test_what_a_person_says_decides(is_right: bool) -> None:
    for contradiction in (SETTLED, OPEN):
        one = fix("a", "pp", contradiction)
        assert one.guarded is not None
        (regression,) = one.guarded.regressions
        said = (replace(regression, is_right=is_right),)
        # The guard has set aside what the reporter states.
        guarded = replace(one.guarded, regressions=(), disputed=said)
        (result,) = settle((replace(one, guarded=guarded),), TESTS).results
        assert result.guarded is not None
        assert (result.guarded.regressions, result.guarded.disputed) == (
            (said, ()) if is_right else ((), said)
        )


def confidences(tests: tuple[JudgedTest, ...]) -> list[float]:
    return [round(judged.judgement.confidence, 2) for judged in tests]


def test_a_bug_test_that_is_contradicted_is_possible_at_most_unless_it_is_stated() -> None:
    unstated = (fix("a", "pp", OPEN, source="a"), fix("b", source="b"), nothing())
    settled = settle(unstated, TESTS)
    assert confidences(settled.tests) == [0.59, 0.7]
    assert settled.doubted == {"t0"}
    stated = settle((fix("a", "pp", SETTLED), nothing()), TESTS)
    assert confidences(stated.tests) == [0.9, 0.7]
    assert stated.doubted == frozenset()


def leader(results: tuple[PatchResult, ...], tests: tuple[JudgedTest, ...] = TESTS) -> Rank:
    return rank_by_weight(results, tests)[0]


def test_the_right_patch_is_first_though_the_suite_asserts_the_bug() -> None:
    harmful = replace(fix("c", "pp", SETTLED), guarded=broken(3))
    first = leader((fix("a", "pp", SETTLED), harmful, nothing()))
    assert (first.name, first.result.regressions) == ("a", ())
    # A test that is not in dispute is a regression as ever.
    assert leader((fix("a", "pp"), fix("b", "pp", breaks=False), nothing())).name == "b"


def test_no_patch_that_passes_nothing_is_above_one_that_passes_what_is_believed() -> None:
    """The believed test has no vote, for its passers break tests; what is left decides nothing."""
    tests = (judged(0, 0.9), judged(1, 0.3))
    results = (fix("a", "pf"), fix("b", "fp", breaks=False), nothing())
    ranks = rank_by_weight(results, tests)
    assert ranks[0].name != "nothing"
    assert [rank.place for rank in ranks if rank.name == "nothing"] in ([None], [3])


def test_bug_tests_that_contradict_each_other_leave_nobody_first() -> None:
    tests = (judged(0, 0.7), judged(1, 0.7))
    ranks = rank_by_weight((row("a", "pf"), row("b", "fp"), row("c", "ff")), tests)
    assert {rank.place for rank in ranks} == {None}
    contradiction = ranks[0].contradiction
    assert contradiction is not None
    assert contradiction.existing == ()
