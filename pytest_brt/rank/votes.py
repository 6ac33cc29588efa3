"""Which bug tests have a vote on patches: one that others contradict has none."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from pytest_brt.types import Contradicted, JudgedTest, PatchResult, Verdict


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
    vote, or neither where they are equal. A test that passes on nothing but patches that bring it
    is the word of their authors, and has none.
    """
    outcomes = _outcomes(results, tests)
    found = ((judged, outcomes[judged.test.id]) for judged in tests)
    tests = [judged for judged, seen in found if not _is_within(seen.passing, seen.own)]
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
    #: The patches that brought it, and their copies.
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
        alike = {r.patch.name for r in results if result.normal and r.normal == result.normal}
        for cell in result.own_cells:
            if cell.test in found:
                found[cell.test].own |= {name} | alike
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
