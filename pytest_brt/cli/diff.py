"""``pytest-brt diff``: how two patches of the last ranking differ."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping
from difflib import unified_diff
from pathlib import Path

from pytest_brt.errors import UsageProblem
from pytest_brt.patches import apply_patch
from pytest_brt.patches.problem import PatchProblem
from pytest_brt.render.causes import cause_words, run_words
from pytest_brt.render.words import count
from pytest_brt.run.keeping import find_last_run
from pytest_brt.shown import on_a_line, say
from pytest_brt.store import RANKED, LastRun
from pytest_brt.types import Patch, PatchResult, Rank, Verdict


def set_up(parser: argparse.ArgumentParser) -> None:
    """Say what ``diff`` takes."""
    parser.description = (
        "Show how the code differs after one patch and after the other, and which bug "
        "tests and existing tests did not do the same on both. Nothing is run again. "
        "Exit code 0: no test tells them apart; 1: some do."
    )
    which = "a patch, as the ranking calls it; without .diff"
    parser.add_argument("one", metavar="A", help=which)
    parser.add_argument("other", metavar="B", help="another patch")
    parser.set_defaults(command=_diff)


def _diff(arguments: argparse.Namespace) -> int:
    root, _, last = find_last_run(arguments.root, RANKED)
    one, other = (_named(name, last).result for name in (arguments.one, arguments.other))
    for line in _text(one.patch, other.patch, root):
        say(line)
    told = list(_told_apart(one, other, {kept.test.id: kept.test.name for kept in last.tests}))
    say(f"\n{'These tests tell them apart:' if told else _alike(one, other)}")
    for test, first, second in told:
        say(f"  {on_a_line(test)}")
        say(f"    {on_a_line(one.patch.name)} {first}")
        say(f"    {on_a_line(other.patch.name)} {second}")
    return 1 if told else 0


def _named(name: str, last: LastRun) -> Rank:
    """Return the one patch of the ranking that is called so, with or without its ending."""
    names = {rank.name: rank for rank in last.ranks}
    found = [rank for full, rank in names.items() if name in (full, full.rpartition(".")[0])]
    if len(found) != 1:
        known = on_a_line(", ".join(names)) or "none"
        raise UsageProblem(f"diff: the last ranking has no patch {name!r} (it has: {known})")
    return found[0]


def _text(one: Patch, other: Patch, root: Path) -> Iterator[str]:
    """Yield the difference between the files that both patches make."""
    try:
        made = [
            {change.path: change.content for change in apply_patch(patch, root).changes}
            for patch in (one, other)
        ]
    except PatchProblem as problem:
        yield f"not compared as text: {problem}"
        return
    paths = sorted({path for files in made for path in files})
    if all(_lines(made[0], path, root) == _lines(made[1], path, root) for path in paths):
        yield "They change the code in the same way."
    for path in paths:
        before, after = (_lines(files, path, root) for files in made)
        first, second = (f"{path} ({on_a_line(patch.name)})" for patch in (one, other))
        yield from unified_diff(before, after, first, second, lineterm="")


def _lines(files: dict[str, bytes | None], path: str, root: Path) -> list[str]:
    file = root / path
    content = files[path] if path in files else file.read_bytes() if file.is_file() else None
    return (content or b"").decode("utf-8", "replace").splitlines()


def _told_apart(
    one: PatchResult, other: PatchResult, names: Mapping[str, str]
) -> Iterator[tuple[str, str, str]]:
    """Yield each test that did not do the same on both trees, and in words what it did on each."""
    unknown = ((Verdict.INVALID, "could not run it"), (Verdict.PASS, "does not break it"))
    for first, second, missing in zip(_did(one), _did(other), unknown, strict=True):
        for test in dict.fromkeys((*first, *second)):
            (was, said), (is_now, says) = first.get(test, missing), second.get(test, missing)
            if was is not is_now:
                yield names.get(test, test), said, says


def _did(row: PatchResult) -> tuple[dict[str, tuple[Verdict, str]], ...]:
    """Return what the bug tests did on a patched tree, and the existing tests that broke there."""
    words = {Verdict.PASS: "passes it", Verdict.INVALID: "could not run it"}
    return (
        {
            cell.test: (cell.verdict, words.get(cell.verdict, f"fails it: {run_words(cell)}"))
            for cell in row.cells
        },
        {
            one.test: (Verdict.FAIL, f"breaks it: {cause_words(one.cause, one.raised)}")
            for one in row.broken
        },
    )


def _alike(one: PatchResult, other: PatchResult) -> str:
    ran = [row.guarded.ran for row in (one, other) if row.guarded]
    existing = f" and {count(min(ran), 'existing test')}" if ran else ""
    tests = count(len(one.cells), "bug test")
    return f"No test tells them apart: {tests}{existing} ran on both."
