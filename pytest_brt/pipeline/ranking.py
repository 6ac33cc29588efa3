"""The patches of a report, ranked; and variations of its call on which they differ."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from pytest_brt.patches import apply_patch
from pytest_brt.rank.ranking import rank, without_separation
from pytest_brt.rank.variations import (
    TriedCall,
    comparable,
    find_difference,
    find_remarks,
    try_calls,
    with_remark,
)
from pytest_brt.reproduce.strategy import Workbench
from pytest_brt.types import FileChange, JudgedTest, Note, PatchResult, Rank, Telling, tied

#: Wall-clock seconds within which a variation of a call may be begun.
_SECONDS = 10.0


def rank_patches(
    results: Sequence[PatchResult],
    tests: tuple[JudgedTest, ...],
    remarks: Mapping[str, Note],
    *,
    is_whole: bool,
) -> tuple[Rank, ...]:
    """Return the ranks of patches; where some were not run, none of them leads.

    `remarks` are what variations show of patches, by the name of each.
    """
    results = [with_remark(result, remarks.get(result.patch.name)) for result in results]
    ranks = rank(results, tests)
    return ranks if is_whole else without_separation(ranks)


@dataclass(frozen=True, slots=True, kw_only=True)
class Variations:
    """What calls of bug tests, and variations of them, give on the patches that are compared."""

    compared: tuple[Rank, ...]
    changes: Mapping[str, tuple[FileChange, ...]]
    tried: Sequence[TriedCall]

    def remarks(self, root: Path) -> dict[str, Note]:
        """Return what they show of patches, by the name of each."""
        sound = [rank.name for rank in self.compared if not rank.result.regressions]
        return find_remarks(self.tried, sound, root)

    def leaders(self, ranks: Sequence[Rank]) -> Sequence[Rank]:
        """Return the patches that lead once the remarks are made, where there are several."""
        # One that is doubted for what variations show is held against all others.
        leaders = self.compared if ranks[0].is_as_unpatched else tied(ranks)
        return leaders if len(leaders) > 1 else ()

    def telling(self, leaders: Sequence[Rank], bench: Workbench) -> Telling | None:
        """Return the smallest call on which leading patches differ, None for none.

        Raises:
            SubjectProblem, SandboxProblem: nothing can be run.
        """
        names = [rank.name for rank in leaders if rank.name in self.changes]
        return find_difference(self.tried, {n: self.changes[n] for n in names}, bench.engine)


def try_variations(
    ranks: Sequence[Rank], tests: Sequence[JudgedTest], bench: Workbench
) -> Variations | None:
    """Run the calls of bug tests, varied, on the patches that may lead; None if it is but one.

    Raises:
        SubjectProblem, SandboxProblem: nothing can be run.
    """
    compared = comparable(ranks)
    if len(compared) < 2:
        return None
    bench.say("trying the patches that pass on variations of the bug tests' calls")
    root = Path(bench.engine.subject.root)
    changes = {one.name: apply_patch(one.result.patch, root).changes for one in compared}
    tried = try_calls(tests, changes, bench.engine, _SECONDS)
    return Variations(compared=compared, changes=changes, tried=tried)
