"""How often the likeliest places of a bug are those that its true fix changes, without a model.

    python bench/localise.py INDEX... --out FOLDER [--brt COMMAND]

INDEX is as in `bugs.py`; the fix alone judges. Four figures are printed for each data set, for each
half of the projects and over all:

    first      the likeliest file is one that the fix changes
    two        one of the two likeliest files is
    function   a function that the fix changes is among the thirty likeliest places
    place      at which of them, in the middle, where it is one

Runs of `replay.py` in the same folder are read, where their reports have places. The last line is
one JSON object.
"""

from __future__ import annotations

import argparse
import ast
import json
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from statistics import median

from bugs import Bug, add_options, each, read_bugs, run, share
from unidiff.patch import PatchSet

#: Places that are looked at.
_PLACES = 30


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """Where the fix is among the places of a report; 1-based, 0 for nowhere."""

    bug: Bug
    file: int
    function: int


def main() -> int:
    """Localise every report of the indexes and print the tables."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add_options(parser)
    arguments = parser.parse_args()
    outcomes = []
    for bug, outcome in each(
        read_bugs(arguments), arguments.jobs, lambda bug: _measure(bug, arguments)
    ):
        if outcome is None:
            print(f"{bug.name:40} the fix changes no function that is there", flush=True)
            continue
        outcomes.append(outcome)
        at = f"file {outcome.file or '–':>2}, function {outcome.function or '–':>2}"
        print(f"{bug.name:40} {at}", flush=True)
    figures = {}
    print(f"\n{'':28} {'first':>16} {'two':>16} {'function':>16} {'place':>6}")
    for name, group in _groups(outcomes).items():
        figures[name] = _figures(group)
        print(_row(name, group))
    print(json.dumps(figures))
    return 0 if outcomes else 1


def _measure(bug: Bug, arguments: argparse.Namespace) -> Outcome | None:
    changed = set(changed_functions(bug))
    if not changed:
        return None
    places = _places(bug, arguments)
    files = list(dict.fromkeys(place.partition("::")[0] for place in places))
    paths = {path for path, _ in changed}
    names = {f"{path}::{name}" for path, name in changed if name}
    return Outcome(
        bug=bug,
        file=next((at for at, path in enumerate(files, 1) if path in paths), 0),
        function=next((at for at, place in enumerate(places, 1) if place in names), 0),
    )


def _places(bug: Bug, arguments: argparse.Namespace) -> tuple[str, ...]:
    """Return the places of a report, as in "pkg/core.py::Class.method", likeliest first."""
    words = ["issue", str(bug.issue), "--guard", "no", "--strategy", "replay"]
    kept = arguments.out / "replay" / bug.name / "run.json"
    report = run(
        bug, arguments, *words, kind="replay" if kept.exists() else "places"
    ).report
    if not report or not report.answer.places:  # an older version has a command of its own
        report = run(bug, arguments, "localise", str(bug.issue), kind="localise").report
    return report.answers[0].places[:_PLACES] if report and report.answers else ()


def changed_functions(bug: Bug) -> Iterator[tuple[str, str]]:
    """Yield path and name of each function that the fix changes, "" for what is in none."""
    for file in PatchSet(bug.fix()):
        path = file.source_file.removeprefix("a/")
        if path.endswith(".py") and not _is_test(path) and (bug.base / path).is_file():
            lines = sorted(_changed_lines(file))
            tree = ast.parse((bug.base / path).read_text("utf-8"))
            yield from {(path, function_at(tree, line)) for line in lines}


def _is_test(path: str) -> bool:
    parts = PurePosixPath(path).parts
    return any(part in ("test", "tests", "testing") for part in parts[:-1]) or parts[
        -1
    ].startswith(("test_", "conftest"))


def _changed_lines(file: object) -> Iterator[int]:
    """Yield the lines of the old file that a diff touches; before those that are only added."""
    for hunk in file:  # type: ignore[attr-defined]
        before, removed = hunk.source_start - 1, False
        for line in hunk:
            if line.is_removed or (line.is_added and not removed):
                yield line.source_line_no or max(1, before)
            removed = line.is_removed or (removed and line.is_added)
            before = line.source_line_no or before


def function_at(tree: ast.Module, line: int) -> str:
    """Return the dotted name of the function or class around a line, "" for none."""
    names: list[str] = []
    body: Sequence[ast.AST] = tree.body
    while True:
        kinds = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
        around = next(
            (
                node
                for node in body
                if isinstance(node, kinds) and node.lineno <= line <= (node.end_lineno or 0)
            ),
            None,
        )
        if around is None:
            return ".".join(names)
        names.append(around.name)
        if not isinstance(around, ast.ClassDef):
            return ".".join(names)
        body = around.body


def _groups(outcomes: Sequence[Outcome]) -> dict[str, list[Outcome]]:
    groups: dict[str, list[Outcome]] = {"all": list(outcomes)}
    for outcome in outcomes:
        groups.setdefault(outcome.bug.data, []).append(outcome)
    for half in "AB":
        groups[f"half {half}"] = [one for one in outcomes if one.bug.half == half]
    return groups


def _figures(group: Sequence[Outcome]) -> dict[str, float]:
    places = [one.function for one in group if one.function]
    return {
        "n": len(group),
        "first": sum(one.file == 1 for one in group),
        "two": sum(1 <= one.file <= 2 for one in group),
        "function": len(places),
        "place": median(places) if places else 0,
    }


def _row(name: str, group: Sequence[Outcome]) -> str:
    figures = _figures(group)
    shares = (share(int(figures[key]), len(group)) for key in ("first", "two", "function"))
    return (
        f"{name[:28]:28} "
        + " ".join(f"{one:>16}" for one in shares)
        + f" {figures['place']:6}"
    )


if __name__ == "__main__":
    sys.exit(main())
