"""Which tests are in dispute, decided before any of them counts for or against a patch.

A suite may assert the very bug, and a bug test may ask for something wrong; then tests contradict
each other, and what each says of a patch is worth what speaks for the test.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from pytest_brt.types import (
    Contradicted,
    Contradiction,
    Dispute,
    JudgedTest,
    PatchResult,
    Regression,
    Sign,
    Verdict,
    doubting,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Settled:
    """The rows and the tests of a ranking, as they count once disputes are decided."""

    results: tuple[PatchResult, ...]
    tests: tuple[JudgedTest, ...]
    disputes: tuple[Dispute, ...] = ()
    #: Ids of the bug tests that are at most possibly right.
    doubted: frozenset[str] = frozenset()


def settle(results: Sequence[PatchResult], tests: Sequence[JudgedTest]) -> Settled:
    """Take from the regressions those of existing tests that are in dispute.

    An existing test is in dispute when a bug test contradicts it that is believed and whose demand
    the reporter states, or when two of three signs speak against it (`Sign`). Where a person says
    which is right, that decides.
    """
    disputes = tuple(_disputes(results, tests))
    disputed = {one.existing for one in disputes if one.is_disputed}
    open_ = [one for one in disputes if one.is_disputed and not one.is_settled]
    doubted = frozenset(test for one in open_ for test in one.bug_tests)
    return Settled(
        results=tuple(_without(result, disputed) for result in results),
        tests=doubting(tests, doubted),
        disputes=disputes,
        doubted=doubted,
    )


def _without(result: PatchResult, disputed: set[str]) -> PatchResult:
    guarded = result.guarded
    if guarded is None:
        return result
    every = (*guarded.regressions, *guarded.disputed)
    if disputed.intersection(one.test for one in every) == {one.test for one in guarded.disputed}:
        return result
    return replace(
        result,
        guarded=replace(
            guarded,
            regressions=tuple(one for one in every if one.test not in disputed),
            disputed=tuple(one for one in every if one.test in disputed),
        ),
    )


def _disputes(results: Sequence[PatchResult], tests: Sequence[JudgedTest]) -> Iterator[Dispute]:
    """Yield the existing tests against which something speaks."""
    broken: dict[str, dict[str, Regression]] = {}
    for result in results:
        guarded = result.guarded
        for one in (*guarded.regressions, *guarded.disputed) if guarded else ():
            broken.setdefault(one.test, {})[result.patch.name] = one
    fixing, failing = _by_believed(results, tests)
    for existing, by_patch in broken.items():
        contradictions = [one for r in by_patch.values() for one in r.contradicts]
        editors = _editors(results, existing, by_patch, fixing)
        signs = [Sign.CONTRADICTED] if contradictions else []
        signs += [Sign.EDITED] if editors else []
        signs += [Sign.BROKEN_BY_ALL] if _is_broken_by_all(by_patch, fixing, failing) else []
        is_ruled = any(one.is_right is not None for one in by_patch.values())
        if signs or is_ruled:
            yield _dispute(results[0].issue, by_patch, contradictions, signs, editors)


def _dispute(
    issue: str,
    by_patch: Mapping[str, Regression],
    contradictions: Sequence[Contradiction],
    signs: Sequence[Sign],
    editors: Sequence[str],
) -> Dispute:
    is_settled = any(one.is_settled for one in contradictions)
    first = next((r for r in by_patch.values() if r.contradicts), next(iter(by_patch.values())))
    return Dispute(
        issue=issue,
        existing=first.test,
        asserts=first.asserts,
        signs=tuple(signs),
        bug_tests=tuple(dict.fromkeys(one.bug_test for one in contradictions)),
        demands=contradictions[0].demands if contradictions else "",
        edited_by=tuple(editors),
        is_disputed=is_settled or len(signs) >= 2 if first.is_right is None else not first.is_right,
        is_right=first.is_right,
        is_settled=is_settled or first.is_right is False,
    )


def _by_believed(
    results: Sequence[PatchResult], tests: Sequence[JudgedTest]
) -> tuple[list[PatchResult], list[PatchResult]]:
    """Return the patches that pass all bug tests that are believed, and those that fail one.

    Without such a test, or without a run of one, a patch is neither.
    """
    believed = {judged.test.id for judged in tests if judged.judgement.counts}
    fixing: list[PatchResult] = []
    failing: list[PatchResult] = []
    for result in results:
        seen = [verdict for test, verdict in result.verdicts.items() if test in believed]
        if seen:
            passes = all(verdict is Verdict.PASS for verdict in seen)
            (fixing if passes else failing).append(result)
    return fixing, failing


def _editors(
    results: Sequence[PatchResult],
    existing: str,
    by_patch: Mapping[str, Regression],
    fixing: Sequence[PatchResult],
) -> list[str]:
    """Return the patches that change what fails, though those of other sources break it too."""
    breaking = {r.patch.source for r in fixing if r.patch.name in by_patch} - {""}
    asserted = {one.asserts for one in by_patch.values()} - {""}
    return [
        result.patch.name
        for result in results
        if result.patch.source
        and breaking - {result.patch.source}
        and any(edit.test == existing and asserted & {*edit.gone} for edit in result.edits)
    ]


def _is_broken_by_all(
    by_patch: Mapping[str, Regression],
    fixing: Sequence[PatchResult],
    failing: Sequence[PatchResult],
) -> bool:
    sources = {result.patch.source for result in fixing} - {""}
    return (
        len(sources) >= 2
        and all(result.patch.name in by_patch for result in fixing)
        and not any(result.patch.name in by_patch for result in failing)
    )


def voters(results: Sequence[PatchResult], tests: Sequence[JudgedTest]) -> tuple[JudgedTest, ...]:
    """Return the candidates that have a vote: a test that others contradict has none.

    A test contradicts the existing tests when every patch that passes it makes some of them fail,
    and another patch does not. Two tests contradict each other when each passes on some patch that
    did not bring it and fails the other, and both on none: then the one that is trusted less has no
    vote, or neither where they are equal.
    """
    passing = _passing(results, tests)
    others = _passing(results, tests, with_own=False)
    failing = _failing(results, tests)
    contradicted = _contradicted(results, passing)
    agreed = [judged for judged in tests if judged.test.id not in contradicted]
    return tuple(
        judged
        for judged in agreed
        if not any(
            others[judged.test.id] & failing[other.test.id]
            and others[other.test.id] & failing[judged.test.id]
            and passing[judged.test.id].isdisjoint(passing[other.test.id])
            and other.judgement.confidence >= judged.judgement.confidence
            for other in agreed
        )
    )


def contradiction_of(
    results: Sequence[PatchResult], tests: Sequence[JudgedTest]
) -> Contradicted | None:
    """Return which tests contradict each other where none that a patch passes has a vote.

    Nothing that ran says then which of the tests are wrong.
    """
    having_vote = voters(results, tests)
    passing = _passing(results, tests)
    if any(passing[judged.test.id] for judged in having_vote):
        return None
    return contradiction_among(results, tests, having_vote)


def contradiction_among(
    results: Sequence[PatchResult],
    tests: Sequence[JudgedTest],
    having_vote: Sequence[JudgedTest],
) -> Contradicted | None:
    """Return the tests that patches pass and that have no vote, and what those patches break."""
    passing = _passing(results, tests)
    lost = [judged for judged in tests if judged not in having_vote and passing[judged.test.id]]
    if not lost:
        return None
    passed = set().union(*(passing[judged.test.id] for judged in lost))
    broken = {
        regression.test: None
        for result in results
        if result.patch.name in passed
        for regression in result.regressions
    }
    names = [judged.test.name for judged in lost]
    return Contradicted(bug_tests=tuple(dict.fromkeys(names)), existing=tuple(broken))


def _passing(
    results: Sequence[PatchResult], tests: Sequence[JudgedTest], *, with_own: bool = True
) -> dict[str, set[str]]:
    """Return the names of the patches that pass each test, by its id.

    Those that brought it are among them, unless only others are asked for.
    """
    passing: dict[str, set[str]] = {judged.test.id: set() for judged in tests}
    for result in results:
        for cell in (*result.cells, *(result.own_cells if with_own else ())):
            if cell.verdict is Verdict.PASS and cell.test in passing:
                passing[cell.test].add(result.patch.name)
    return passing


def _failing(results: Sequence[PatchResult], tests: Sequence[JudgedTest]) -> dict[str, set[str]]:
    """Return the names of the patches on which each test ran and did not pass, by its id."""
    failing: dict[str, set[str]] = {judged.test.id: set() for judged in tests}
    for result in results:
        for cell in (*result.cells, *result.own_cells):
            said = cell.verdict not in (Verdict.PASS, Verdict.INVALID)
            if said and cell.test in failing:
                failing[cell.test].add(result.patch.name)
    return failing


def _contradicted(
    results: Sequence[PatchResult], passing: Mapping[str, set[str]]
) -> frozenset[str]:
    """Return the ids of the tests that only patches pass which break existing tests.

    Where no patch breaks none, that says nothing.
    """
    if not any(result.guarded and not result.regressions for result in results):
        return frozenset()
    breaking = {result.patch.name for result in results if result.regressions}
    return frozenset(
        test for test, patches in passing.items() if patches and breaking.issuperset(patches)
    )
