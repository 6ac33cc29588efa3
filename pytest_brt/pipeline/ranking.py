"""The patches of a report, ranked; and variations of its call on which they differ."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from pytest_brt.patches import apply_patch
from pytest_brt.rank import variations
from pytest_brt.rank.standing import without_separation
from pytest_brt.rank.weighted import rank_by_weight
from pytest_brt.reproduce.strategy import Workbench
from pytest_brt.types import (
    FileChange,
    JudgedTest,
    Note,
    PatchResult,
    Rank,
    Telling,
    Verdict,
    tied,
)

#: Wall-clock seconds within which a variation of a call may be begun.
_SECONDS = 10.0


def rank_patches(
    results: Sequence[PatchResult],
    tests: tuple[JudgedTest, ...],
    special: Mapping[str, str],
    *,
    is_whole: bool,
) -> tuple[Rank, ...]:
    """Return the ranks of patches; where some were not run, none of them leads.

    `special` has the calls that show that a patch handles the reported input alone.
    """
    results = [_singling_out(result, special.get(result.patch.name, "")) for result in results]
    ranks = rank_by_weight(tuple(results), tests)
    return ranks if is_whole else without_separation(ranks)


def _singling_out(result: PatchResult, call: str) -> PatchResult:
    if not call or result.special:
        return result
    text = f"may handle only the reported input: {call}"
    remarks = (*result.remarks, Note(code="singles-out-input", text=text))
    return replace(result, special=(call,), remarks=remarks)


def find_special_cases(
    ranks: Sequence[Rank], tests: Sequence[JudgedTest], bench: Workbench
) -> dict[str, str]:
    """Return the patches that handle the reported input alone, each with what shows it.

    Raises:
        SubjectProblem, SandboxProblem: nothing can be run.
    """
    root = Path(bench.engine.subject.root)
    tests = [t for t in tests if t.judgement.candidate and variations.stumbles(t, root)]
    passing = [
        rank
        for rank in ranks
        if tests and all(rank.result.verdicts.get(t.test.id) is Verdict.PASS for t in tests)
    ]
    sound = [rank.name for rank in passing if not rank.result.regressions]
    if len(passing) < 2 or not sound:
        return {}
    bench.say("trying the patches that pass on variations of the report's call")
    changes = _changes(passing, root)
    return variations.find_special_cases(tests, changes, sound, bench.engine, _SECONDS)


def find_telling(
    ranks: Sequence[Rank], tests: Sequence[JudgedTest], bench: Workbench
) -> tuple[Telling, ...]:
    """Return the smallest call found on which the leading patches differ, none for no call.

    Raises:
        SubjectProblem, SandboxProblem: nothing can be run.
    """
    leaders = tied(ranks)
    if len(leaders) < 2:
        return ()
    bench.say("looking for a call on which the leading patches differ")
    changes = _changes(leaders, Path(bench.engine.subject.root))
    telling = variations.find_difference(tests, changes, bench.engine, _SECONDS)
    return () if telling is None else (telling,)


def _changes(ranks: Sequence[Rank], root: Path) -> dict[str, tuple[FileChange, ...]]:
    return {rank.name: apply_patch(rank.result.patch, root).changes for rank in ranks}
