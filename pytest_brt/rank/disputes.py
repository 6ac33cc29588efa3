"""Which tests are in dispute, decided before any of them counts for or against a patch.

A suite may assert the very bug, and a bug test may ask for something wrong; then tests contradict
each other, and what each says of a patch is worth what speaks for the test.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from pytest_brt.types import (
    Contradiction,
    Dispute,
    Guarded,
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


def mark_disputed(guarded: Guarded) -> Guarded:
    """Return what existing tests say of one patch by itself, those in dispute told apart.

    Without other patches to compare with, that is where the reporter states what a believed bug
    test demands.
    """
    settled = {one.test for one in guarded.broken if any(c.is_settled for c in one.contradicts)}
    return _split(guarded, settled)


def _split(guarded: Guarded, disputed: Collection[str]) -> Guarded:
    return replace(
        guarded,
        regressions=tuple(one for one in guarded.broken if one.test not in disputed),
        disputed=tuple(one for one in guarded.broken if one.test in disputed),
    )


def _without(result: PatchResult, disputed: set[str]) -> PatchResult:
    if result.guarded is None:
        return result
    return replace(result, guarded=_split(result.guarded, disputed))


def _disputes(results: Sequence[PatchResult], tests: Sequence[JudgedTest]) -> Iterator[Dispute]:
    """Yield the existing tests against which something speaks."""
    broken: dict[str, dict[str, Regression]] = {}
    for result in results:
        for one in result.broken:
            broken.setdefault(one.test, {})[result.patch.name] = one
    fixing, failing = _by_believed(results, tests)
    for existing, by_patch in broken.items():
        contradictions = [one for r in by_patch.values() for one in r.contradicts]
        editors = _editors(results, existing, by_patch, fixing)
        said = {
            Sign.CONTRADICTED: bool(contradictions),
            Sign.EDITED: bool(editors),
            Sign.BROKEN_BY_ALL: _is_broken_by_all(by_patch, fixing, failing),
        }
        signs = [sign for sign, is_seen in said.items() if is_seen]
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
