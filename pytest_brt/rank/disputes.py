"""Which tests are in dispute, decided before any of them counts for or against a patch.

A suite may assert the very bug, and a bug test may ask for something wrong; then tests contradict
each other, and what each says of a patch is worth what speaks for the test.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

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


@dataclass(frozen=True, slots=True, kw_only=True)
class Votes:
    """Which candidates have a vote on patches: one that others contradict has none."""

    having: tuple[JudgedTest, ...]
    #: Whether a patch passes one of those.
    is_any_passed: bool
    #: The tests without a vote that patches pass, and what those patches break; None for none.
    contradicted: Contradicted | None


def count_votes(results: Sequence[PatchResult], tests: Sequence[JudgedTest]) -> Votes:
    """Return which of the candidates have a vote.

    A test contradicts the existing tests when every patch that passes it makes some of them fail,
    and another patch does not. Two tests contradict each other when each passes on some patch that
    did not bring it and fails the other, and both on none: then the one that is trusted less has no
    vote, or neither where they are equal.
    """
    outcomes = _outcomes(results, tests)
    breaking = {result.patch.name for result in results if result.regressions}
    # Where no patch leaves them whole, that says nothing.
    are_whole = any(result.guarded and not result.regressions for result in results)
    agreed = [
        judged
        for judged in tests
        if not are_whole or not _is_within(outcomes[judged.test.id].passing, breaking)
    ]
    having = tuple(
        judged
        for judged in agreed
        if not any(
            outcomes[judged.test.id].oppose(outcomes[other.test.id])
            and other.judgement.confidence >= judged.judgement.confidence
            for other in agreed
        )
    )
    passed = [judged for judged in tests if outcomes[judged.test.id].passing]
    lost = [judged for judged in passed if judged not in having]
    return Votes(
        having=having,
        is_any_passed=len(lost) < len(passed),
        contradicted=_contradicted(lost, outcomes, results) if lost else None,
    )


def _is_within(some: set[str], others: set[str]) -> bool:
    return bool(some) and some <= others


@dataclass(slots=True)
class _Outcomes:
    """The names of the patches on which a test passes, and of those on which it does not."""

    passing: set[str] = field(default_factory=set)
    failing: set[str] = field(default_factory=set)
    #: The patches that brought it.
    own: set[str] = field(default_factory=set)

    def oppose(self, other: _Outcomes) -> bool:
        """Say whether each passes on some patch that fails the other, and both on none."""
        mine, others = self.passing - self.own, other.passing - other.own
        is_apart = not mine.isdisjoint(other.failing) and not others.isdisjoint(self.failing)
        return is_apart and self.passing.isdisjoint(other.passing)


def _outcomes(results: Sequence[PatchResult], tests: Sequence[JudgedTest]) -> dict[str, _Outcomes]:
    """Return what each test does on the patches, by its id."""
    found = {judged.test.id: _Outcomes() for judged in tests}
    for result in results:
        name = result.patch.name
        for cell in (*result.cells, *result.own_cells):
            if cell.test in found and cell.verdict is Verdict.PASS:
                found[cell.test].passing.add(name)
            elif cell.test in found and cell.verdict is not Verdict.INVALID:
                found[cell.test].failing.add(name)
        for cell in result.own_cells:
            if cell.test in found:
                found[cell.test].own.add(name)
    return found


def _contradicted(
    tests: Sequence[JudgedTest],
    outcomes: Mapping[str, _Outcomes],
    results: Sequence[PatchResult],
) -> Contradicted:
    """Return tests, and the existing ones that patches break which pass some of them."""
    passed = set[str]().union(*(outcomes[judged.test.id].passing for judged in tests))
    passing = (result for result in results if result.patch.name in passed)
    broken = (one.test for result in passing for one in result.regressions)
    return Contradicted(
        bug_tests=tuple(dict.fromkeys(judged.test.name for judged in tests)),
        existing=tuple(dict.fromkeys(broken)),
    )
