"""``pytest-brt diff A B``: how two patches of the last ranking differ, in text and in behaviour."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from difflib import unified_diff
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_brt.cli.last_run import find_last_run
from pytest_brt.errors import PatchProblem, UsageProblem
from pytest_brt.render.answer import count
from pytest_brt.shown import say
from pytest_brt.store import RANKED, LastRun
from pytest_brt.types import PatchResult, Rank, Verdict

if TYPE_CHECKING:
    from pytest_brt.types import Patch


def register(commands: Any) -> None:
    """Add the command to `commands`, as `argparse` made it."""
    parser = commands.add_parser(
        "diff",
        help="say how two patches of the last ranking differ",
        description="Show how the code differs after one patch and after the other, and which bug "
        "tests and existing tests did not do the same on both. Nothing is run again. "
        "Exit code 0: no test tells them apart; 1: some do.",
    )
    parser.add_argument("one", metavar="A", help="a patch, as the ranking calls it; without .diff")
    parser.add_argument("other", metavar="B", help="another patch")
    parser.add_argument(
        "--root", metavar="DIR", default=".", help="the project (default: this folder)"
    )
    parser.set_defaults(command=_diff)


def _diff(arguments: argparse.Namespace) -> int:
    root, _, last = find_last_run(arguments.root, RANKED)
    one, other = (_named(name, last).result for name in (arguments.one, arguments.other))
    for line in _text(one.patch, other.patch, root):
        say(line)
    told = [*_bug_tests(one, other, last), *_existing_tests(one, other)]
    say(f"\n{'These tests tell them apart:' if told else _alike(one, other)}")
    for test, first, second in told:
        say(f"  {test}\n    {one.patch.name} {first}\n    {other.patch.name} {second}")
    return 1 if told else 0


def _named(name: str, last: LastRun) -> Rank:
    """Return the one patch of the ranking that is called so, with or without its ending."""
    names = {rank.result.patch.name: rank for rank in last.ranks}
    found = [rank for full, rank in names.items() if name in (full, full.rpartition(".")[0])]
    if len(found) != 1:
        raise UsageProblem(
            f"diff: the last ranking has no patch {name!r} (it has: {', '.join(names) or 'none'})"
        )
    return found[0]


def _text(one: Patch, other: Patch, root: Path) -> Iterator[str]:
    """Yield the difference between the files that both patches make."""
    from pytest_brt.patches import apply_patch  # it starts git

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
        first, second = (f"{path} ({patch.name})" for patch in (one, other))
        yield from unified_diff(before, after, first, second, lineterm="")


def _lines(files: dict[str, bytes | None], path: str, root: Path) -> list[str]:
    file = root / path
    content = files[path] if path in files else file.read_bytes() if file.is_file() else None
    return (content or b"").decode("utf-8", "replace").splitlines()


def _bug_tests(
    one: PatchResult, other: PatchResult, last: LastRun
) -> Iterator[tuple[str, str, str]]:
    names = {judged.test.id: judged.test.name for judged in last.tests}
    sides = [{cell.test: (cell.verdict, cell.reason) for cell in row.cells} for row in (one, other)]
    for test in dict.fromkeys((*sides[0], *sides[1])):
        first, second = (side.get(test, (Verdict.INVALID, "")) for side in sides)
        if first[0] is not second[0]:
            yield names.get(test, test), _outcome(*first), _outcome(*second)


def _outcome(verdict: Verdict, reason: str) -> str:
    words = {Verdict.PASS: "passes it", Verdict.INVALID: "could not run it"}
    return words.get(verdict, _because("fails it", reason))


def _because(what: str, reason: str) -> str:
    return f"{what}: {reason}" if reason else what


def _existing_tests(one: PatchResult, other: PatchResult) -> Iterator[tuple[str, str, str]]:
    sides = [
        {broken.test: _because("breaks it", broken.reason) for broken in row.guarded.regressions}
        if row.guarded
        else {}
        for row in (one, other)
    ]
    for test in dict.fromkeys((*sides[0], *sides[1])):
        if (test in sides[0]) is not (test in sides[1]):
            first, second = (side.get(test, "does not break it") for side in sides)
            yield test, first, second


def _alike(one: PatchResult, other: PatchResult) -> str:
    ran = [row.guarded.ran for row in (one, other) if row.guarded]
    existing = f" and {count(min(ran), 'existing test')}" if ran else ""
    tests = count(len(one.cells), "bug test")
    return f"No test tells them apart: {tests}{existing} ran on both."
