"""How often a test from the report alone, without a model, fails on the bug and passes on its fix.

    python bench/replay.py INDEX... --out FOLDER [--brt COMMAND]

INDEX is as in `bugs.py`. The report is given with the true fix as the only patch, which alone
judges: a test is right when it fails on the unpatched tree and passes with the fix. Printed are,
for each data set, each half of the projects and over all: how many reports have a right test first
and at all, what is called "Reproduced" and is right, and the candidates that are right; then the
same for each evidence, and CPU seconds. The last line is one JSON object.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import median

from bugs import FIX, Bug, Run, add_options, each, read_bugs, run, share


@dataclass(frozen=True, slots=True, kw_only=True)
class Tried:
    """A test of a report, and whether it is right."""

    name: str
    evidence: str
    counts: bool
    right: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What came of one report."""

    bug: Bug
    #: Best first.
    tests: tuple[Tried, ...]
    #: "reproduced", "possible", "not-reproduced", "not-here", or "" where there is no report.
    status: str
    cpu: float
    problem: str

    @property
    def is_first(self) -> bool:
        """Whether the first test is right."""
        return bool(self.tests) and self.tests[0].right

    @property
    def is_any(self) -> bool:
        """Whether any test is right."""
        return any(test.right for test in self.tests)


def main() -> int:
    """Run every report of the indexes and print the tables."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add_options(parser)
    parser.add_argument("--tests", action="store_true", help="list every candidate")
    arguments = parser.parse_args()
    outcomes = []
    for bug, ran in each(
        read_bugs(arguments), arguments.jobs, lambda bug: _run(bug, arguments)
    ):
        outcome = outcome_of(bug, ran)
        outcomes.append(outcome)
        print(_line(outcome), flush=True)
        if arguments.tests:
            for test in outcome.tests:
                print(
                    f"    {'right' if test.right else 'wrong'} {test.evidence:20} {test.name}"
                )
    figures = {name: _figures(group) for name, group in _groups(outcomes).items()}
    _print_groups(figures)
    _print_evidence(outcomes)
    print(json.dumps(figures))
    return 0 if outcomes else 1


def _run(bug: Bug, arguments: argparse.Namespace) -> Run:
    fix = arguments.out / "fixes" / bug.name / FIX
    if not fix.exists():
        fix.parent.mkdir(parents=True, exist_ok=True)
        fix.write_text(bug.fix(), "utf-8")
    words = ["issue", str(bug.issue), "--rank", str(fix.resolve()), "--guard", "no"]
    return run(bug, arguments, *words, "--strategy", "replay", kind="replay")


def outcome_of(bug: Bug, ran: Run) -> Outcome:
    """Return what a run found out about a report."""
    report = ran.report
    if report is None:
        return Outcome(bug=bug, tests=(), status="", cpu=ran.cpu, problem=ran.problem)
    patches = report.rankings[0].patches if report.rankings else ()
    results = patches[0].results if patches else {}
    tests = tuple(
        Tried(
            name=test.name,
            evidence=test.evidence,
            counts=test.counts,
            right=results.get(test.name) == "PASS",
        )
        for test in report.bug_tests
    )
    return Outcome(
        bug=bug, tests=tests, status=report.answer.status, cpu=ran.cpu, problem=""
    )


def _line(outcome: Outcome) -> str:
    right = next((rank for rank, test in enumerate(outcome.tests, 1) if test.right), 0)
    place = f"right at {right}" if right else ("none right" if outcome.tests else "no test")
    status, many = outcome.status or outcome.problem, len(outcome.tests)
    return f"{outcome.bug.name:40} {place:12} of {many}  {outcome.cpu:6.1f} s  {status}"


def _groups(outcomes: Sequence[Outcome]) -> dict[str, list[Outcome]]:
    """Return all, each data set, each half of the projects, and all but the largest project."""
    groups: dict[str, list[Outcome]] = {"all": list(outcomes)}
    for outcome in outcomes:
        groups.setdefault(outcome.bug.data, []).append(outcome)
    for half in "AB":
        groups[f"half {half}"] = [one for one in outcomes if one.bug.half == half]
    repos = [outcome.bug.repo for outcome in outcomes]
    largest = max(set(repos), key=repos.count, default="")
    groups[f"all but {largest}"] = [one for one in outcomes if one.bug.repo != largest]
    return groups


def _figures(group: Sequence[Outcome]) -> dict[str, float]:
    tests = [test for outcome in group for test in outcome.tests]
    said = [outcome for outcome in group if outcome.status == "reproduced"]
    return {
        "n": len(group),
        "first": sum(outcome.is_first for outcome in group),
        "any": sum(outcome.is_any for outcome in group),
        "reproduced": len(said),
        "reproduced_right": sum(outcome.is_first for outcome in said),
        "tests": len(tests),
        "tests_right": sum(test.right for test in tests),
        "cpu": round(median([outcome.cpu for outcome in group]), 1) if group else 0.0,
    }


def _print_groups(figures: dict[str, dict[str, float]]) -> None:
    columns: dict[str, Callable[[dict[str, float]], str]] = {
        "right first": lambda one: share(int(one["first"]), int(one["n"])),
        "right at all": lambda one: share(int(one["any"]), int(one["n"])),
        "Reproduced right": lambda one: share(
            int(one["reproduced_right"]), int(one["reproduced"])
        ),
        "tests right": lambda one: share(int(one["tests_right"]), int(one["tests"])),
        "CPU s": lambda one: f"{one['cpu']:.1f}",
    }
    print(f"\n{'':28}", *(f"{name:>18}" for name in columns))
    for name, one in figures.items():
        print(f"{name[:28]:28}", *(f"{column(one):>18}" for column in columns.values()))


def _print_evidence(outcomes: Sequence[Outcome]) -> None:
    tests = [test for outcome in outcomes for test in outcome.tests]
    firsts = [outcome.tests[0] for outcome in outcomes if outcome.tests]
    print(f"\n{'evidence':28} {'tests right':>18} {'first tests right':>18}")
    for evidence in sorted({test.evidence for test in tests}):
        columns = (
            share(sum(test.right for test in some), len(some))
            for some in (
                [test for test in tests if test.evidence == evidence],
                [test for test in firsts if test.evidence == evidence],
            )
        )
        print(f"{evidence or 'none':28}", *(f"{column:>18}" for column in columns))


if __name__ == "__main__":
    sys.exit(main())
