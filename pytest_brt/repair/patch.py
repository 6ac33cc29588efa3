"""From changes that work to patches: clean diffs with a header that says how they came about."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from pytest_brt.codec import content_id
from pytest_brt.patches import canonical_diff
from pytest_brt.render.fixes import fix_source_words, fix_words
from pytest_brt.repair.trial import Trial
from pytest_brt.shown import on_a_line
from pytest_brt.store import write_text
from pytest_brt.syntax.normal import patch_key
from pytest_brt.types import (
    FixSource,
    FoundFix,
    Issue,
    JudgedTest,
    Patch,
    Rank,
    Repair,
    Verdict,
    distinct,
)

#: Begins every patch of ours.
MARK = "#pytest-brt:"


def found_fix(
    trial: Trial,
    failing: Sequence[JudgedTest],
    root: Path,
    *,
    source: FixSource,
    hypothesis: str = "",
) -> FoundFix:
    """Return a fix that was tried as a patch.

    Raises:
        PatchProblem: git cannot compare the files.
    """
    text = canonical_diff(trial.changes, root)
    names = {judged.test.id: judged.test.name for judged in failing}
    green = (run.test for run in trial.runs if run.verdict is Verdict.PASS)
    return FoundFix(
        patch=Patch(id=content_id(text), name=f"fix-{content_id(text)[:8]}.diff", text=text),
        key=patch_key(trial.changes, root),
        source=source,
        plausible=trial.plausible,
        passed=tuple(names.get(test, test) for test in green),
        total=len(failing),
        hypothesis=hypothesis,
        guarded=trial.guarded,
    )


#: Fixes that behave the same on everything that was run: the one that stands for all, then the
#: others; each with the run that found it.
Alike = Sequence[tuple[FoundFix, Repair]]


def files_of(alike: Alike, issue: Issue) -> Iterator[tuple[str, str]]:
    """Yield name and text of each patch; those that one stands for lie in a folder below."""
    (first, repair), *others = alike
    yield first.patch.name, with_header(first, repair, issue, len(others))
    for fix, found_by in others:
        yield f"alike/{fix.patch.name}", with_header(fix, found_by, issue)


def write_fixes(folder: Path, found: Sequence[Alike], issue: Issue) -> None:
    """Write fixes into a folder, in place of those that an earlier run put there.

    Raises:
        StoreProblem: one cannot be written.
    """
    for old in sorted((*folder.glob("fix-*.diff"), *folder.glob("alike/fix-*.diff"))):
        if old.read_bytes().startswith(MARK.encode()):
            old.unlink()
    for alike in found:
        for name, text in files_of(alike, issue):
            write_text(folder / name, text)


def chosen(repairs: Sequence[Repair], ranks: Sequence[Rank]) -> tuple[Alike, ...]:
    """Return the fixes to write in their ranks' order, those together that pass the same tests.

    Those that break existing tests come last.

    For all of them stands the last one that a model wrote as its own: it ended with that.
    """
    by_name = {rank.name: rank for rank in ranks}
    found = list(distinct(repairs))
    unranked = len(ranks) + 1
    # Existing tests near it may break in a repair and not be among those that a ranking runs.
    found.sort(key=lambda pair: (pair[0].broken, _place(by_name.get(pair[0].patch.name), unranked)))
    groups: dict[tuple[int, int, str], list[tuple[FoundFix, Repair]]] = {}
    for fix, repair in found:
        rank = by_name.get(fix.patch.name)
        group = (rank.group, "") if rank and rank.group else (0, fix.key)
        groups.setdefault((fix.broken, *group), []).append((fix, repair))
    order = {fix.key: number for number, (fix, _) in enumerate(distinct(repairs))}
    return tuple(
        sorted(alike, key=lambda pair: _standing(pair[0], order)) for alike in groups.values()
    )


def _standing(fix: FoundFix, order: Mapping[str, int]) -> tuple[bool, int]:
    own = fix.source is FixSource.AGENT
    return not own, -order[fix.key] if own else order[fix.key]


def _place(rank: Rank | None, unranked: int) -> tuple[int, int]:
    if rank is None:
        return unranked, 0
    return rank.place or rank.rank or unranked, rank.result.size


def with_header(fix: FoundFix, repair: Repair, issue: Issue, alike: int = 0) -> str:
    """Return the text of a patch: what git reads, below lines for people.

    The fix was found by `repair`; `alike` counts others that pass the same tests.
    """
    by = f"{repair.strategy}, run {repair.index + 1}, {fix_source_words(fix.source)}"
    lines = [
        f"{MARK} candidate fix; nothing of it was applied.",
        f"# Report: {_line(issue.title)} ({issue.source})",
        f"# Found by: {by}" + (f"; given {repair.brt}" if repair.brt else ""),
    ]
    if fix.hypothesis:
        lines.append(f"# Hypothesis: {_line(fix.hypothesis)}")
    told = fix_words(fix)
    lines.append(f"# {told[0].upper()}{told[1:]}")
    if fix.passed:
        lines.append(f"# Bug tests that pass: {', '.join(fix.passed)}")
    if alike:
        many = f"{alike} more fixes" if alike > 1 else "one more fix"
        lines.append(f"# In the folder alike: {many} that pass the same tests")
    return "\n".join(map(on_a_line, lines)) + "\n" + fix.patch.text


def _line(text: str) -> str:
    return " ".join(text.split())
