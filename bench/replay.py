"""How often replay writes a test that fails on the bug and passes with the true fix.

Each INDEX is a data set: a JSON list, one object per bug report:

    instance_id   name of the report                 repo      "owner/name", for the tables
    issue         path of the report                 python    interpreter that runs the project
    base, fixed   trees without and with the fix     envvars   environment of the tests
    pythonpath    import path relative to a tree

Replay is given the report and the tree `base`, nothing else. Each test it holds to be a
candidate is then run as a pytest file, by this project's engine, on `base` and on `fixed`: it
is fail-to-pass (F→P) when it fails on the first every time and passes on the second. Printed
are, per repository and over all, the shares of reports with a candidate and with an F→P test at
rank 1, in the top 3, in the top 5 and at all; the precision of each oracle; that of each evidence,
beside the confidence that its tests have; and seconds per report. Then, for each data set and for
all but each project in turn: the shares of reports with an F→P test, how many tests count, and the
shares of them, and of those at rank 1, that are right, and the same of the tests that are said to
reproduce the report. The last line is one JSON object of shares.

With --cpu the reports are taken one by one, and CPU seconds are told too: of all of replay, from
starting the subject to the last candidate, beside those of importing the subject once.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

from pytest_brt.errors import BrtError
from pytest_brt.execute.engine import Engine, Limits, Row, target_of
from pytest_brt.execute.launch import open_sandbox
from pytest_brt.execute.local import LocalEngine
from pytest_brt.execute.sandbox import Sandbox
from pytest_brt.execute.subject import find_subject
from pytest_brt.issue.load import load_issue
from pytest_brt.reproduce.replay.run import replay
from pytest_brt.types import JudgedTest, Verdict
from pytest_brt.types.subject import Subject

QUICK = 6


@dataclass(frozen=True, slots=True, kw_only=True)
class Tried:
    """A candidate and what the true fix makes of it."""

    rule: str
    evidence: str
    confidence: float
    counts: bool
    reproduces: bool
    f2p: bool
    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What came of one report."""

    report: str
    repo: str
    #: Name of its data set.
    data: str
    tried: tuple[Tried, ...]
    #: Wall-clock seconds that replay took.
    seconds: float
    #: CPU seconds of replay with all its processes, and of importing the subject once.
    cpu: float = 0.0
    import_cpu: float = 0.0
    problem: str = ""

    def first(self) -> int:
        """Return the rank of the first F→P test, 0 when there is none."""
        return next((rank for rank, one in enumerate(self.tried, 1) if one.f2p), 0)


def main() -> int:
    """Run replay on every report of the index and print the tables."""
    arguments = _arguments()
    entries: list[Mapping[str, Any]] = [
        {**entry, "data": Path(index).stem}
        for index in arguments.index
        for entry in json.loads(Path(index).read_text(encoding="utf-8"))
    ]
    chosen = [
        e for e in entries if any(part in e["instance_id"] for part in arguments.only or [""])
    ]
    if arguments.quick:
        chosen = _spread(chosen, QUICK)
    outcomes: list[Outcome] = []
    with ThreadPoolExecutor(1 if arguments.cpu else arguments.jobs) as pool:
        for outcome in pool.map(lambda entry: _measure(entry, arguments), chosen):
            outcomes.append(outcome)
            print(_line(outcome), flush=True)
            if arguments.tests:
                for rank, one in enumerate(outcome.tried, 1):
                    mark = "F→P" if one.f2p else "   "
                    kinds = f"{one.rule:15} {one.evidence:18}"
                    print(f"    {rank:2} {mark} {one.confidence:.2f} {kinds} {one.name}")
    _tables(outcomes)
    _line_table(outcomes)
    print(json.dumps(_shares(outcomes)))
    return 0


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "index",
        nargs="*",
        default=os.environ.get("PYTEST_BRT_BENCH", "").split(),
        help="lists of reports (default: the environment's PYTEST_BRT_BENCH)",
    )
    parser.add_argument("--quick", action="store_true", help=f"{QUICK} reports, of many projects")
    parser.add_argument("--only", action="append", metavar="PART", help="reports with PART in id")
    parser.add_argument("--jobs", type=int, default=2, help="reports at a time (default 2)")
    parser.add_argument("--repeat", type=int, default=2, help="runs that must agree (default 2)")
    parser.add_argument("--keep", type=int, help="keep so many candidates per report")
    parser.add_argument("--sandbox", default="auto", help="isolation level (default auto)")
    parser.add_argument("--cpu", action="store_true", help="measure CPU seconds, one by one")
    parser.add_argument("--tests", action="store_true", help="list every candidate")
    arguments = parser.parse_args()
    if not arguments.index:
        parser.error("no INDEX given, and PYTEST_BRT_BENCH is not set")
    for index in arguments.index:
        if not Path(index).is_file():
            parser.error(f"no such file: {index!r}")
    return arguments


def _spread(entries: list[Mapping[str, Any]], count: int) -> list[Mapping[str, Any]]:
    """Return `count` entries, of as many repositories as can be."""
    by_repo: dict[str, list[Mapping[str, Any]]] = defaultdict(list)
    for entry in entries:
        by_repo[entry["repo"]].append(entry)
    queues = [list(queue) for queue in by_repo.values()]
    found: list[Mapping[str, Any]] = []
    while len(found) < count and any(queues):
        for queue in queues:
            if queue and len(found) < count:
                found.append(queue.pop(0))
    return found


def _measure(entry: Mapping[str, Any], arguments: argparse.Namespace) -> Outcome:
    begin = time.monotonic()
    tried: tuple[Tried, ...] = ()
    problem = ""
    cpu = 0.0
    try:
        start = _cpu()
        tests, seconds = _candidates(entry, arguments)
        cpu = _cpu() - start
        passing = _passing(entry, tests, arguments)
        tried = tuple(
            Tried(
                rule=str(item.test.oracle.kind),
                evidence=str(item.judgement.evidence),
                confidence=item.judgement.confidence,
                counts=item.judgement.counts,
                reproduces=item.judgement.reproduces,
                f2p=item.test.id in passing,
                name=item.test.name,
            )
            for item in tests
        )
    except BrtError as error:
        problem, seconds = str(error), time.monotonic() - begin
    return Outcome(
        report=entry["instance_id"],
        repo=entry["repo"],
        data=entry["data"],
        tried=tried,
        seconds=seconds,
        cpu=cpu,
        import_cpu=_import_cpu(entry) if arguments.cpu else 0.0,
        problem=problem,
    )


def _cpu() -> float:
    """Return the CPU seconds of this process and of all that it has waited for."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in used)


def _import_cpu(entry: Mapping[str, Any]) -> float:
    """Return the CPU seconds of a process that imports the subject's packages; median of 3."""
    subject = _subject(entry, "base", open_sandbox("process"))
    roots = [Path(subject.root, root) for root in subject.source_roots]
    # Single modules beside them may be scripts.
    packages = [
        name
        for name in subject.packages
        if any((root / name / "__init__.py").is_file() for root in roots)
    ]
    code = "\n".join(f"import {name}" for name in packages or subject.packages)
    found = []
    for _ in range(3):
        start = _cpu()
        subprocess.run(
            [subject.python, "-c", code],
            env={**os.environ, **dict(subject.env)},
            cwd=subject.root,
            capture_output=True,
            check=False,
        )
        found.append(_cpu() - start)
    return median(found)


def _candidates(
    entry: Mapping[str, Any], arguments: argparse.Namespace
) -> tuple[list[JudgedTest], float]:
    issue = load_issue(entry["issue"], sys.stdin.buffer)
    engine = _engine(entry, "base", arguments)
    try:
        attempt = replay(issue, engine=engine, repeat=arguments.repeat, keep=arguments.keep)
    finally:
        engine.close()
    return [item for item in attempt.tests if item.judgement.candidate], attempt.seconds


def _passing(
    entry: Mapping[str, Any], tests: Sequence[JudgedTest], arguments: argparse.Namespace
) -> set[str]:
    """Return the ids of the tests that pass on the tree with the true fix."""
    if not tests:
        return set()
    engine = _engine(entry, "fixed", arguments)
    targets = tuple(target_of(item.test) for item in tests)
    try:
        runs = engine.run(Row(targets=targets)).runs
    finally:
        engine.close()
    return {run.test for run in runs if run.verdict is Verdict.PASS}


def _engine(entry: Mapping[str, Any], tree: str, arguments: argparse.Namespace) -> Engine:
    sandbox = open_sandbox(arguments.sandbox, project=Path(entry[tree]))
    return LocalEngine(_subject(entry, tree, sandbox), sandbox, limits=Limits())


def _subject(entry: Mapping[str, Any], tree: str, sandbox: Sandbox) -> Subject:
    root = Path(entry[tree])
    path = os.pathsep.join(str((root / part).resolve()) for part in entry.get("pythonpath", ["."]))
    env = {**entry.get("envvars", {}), "PYTHONPATH": path}
    return find_subject(root, python=entry["python"], env=env, sandbox=sandbox)


def _line(outcome: Outcome) -> str:
    rank = outcome.first()
    found = f"F→P at {rank}" if rank else ("no F→P" if outcome.tried else "no candidate")
    note = f"  {outcome.problem}" if outcome.problem else ""
    return (
        f"{outcome.report:40} {found:12} of {len(outcome.tried):2} {outcome.seconds:6.1f} s{note}"
    )


def _tables(outcomes: Sequence[Outcome]) -> None:
    print("\nrepository                n  candidate  rank 1  top 3  top 5    any")
    for name, row in _shares(outcomes).items():
        print(
            f"{name:22} {row['n']:4.0f}  {row['candidate']:9.0%}  {row['at1']:6.0%}"
            f"  {row['at3']:5.0%}  {row['at5']:5.0%}  {row['any']:5.0%}"
        )
    tried = [one for outcome in outcomes for one in outcome.tried]
    print("\noracle              candidates  F→P  precision")
    for rule in sorted({one.rule for one in tried}):
        of_rule = [one for one in tried if one.rule == rule]
        right = sum(one.f2p for one in of_rule)
        print(f"{rule:19} {len(of_rule):10}  {right:3}  {right / len(of_rule):9.2f}")
    print("\nevidence            candidates  F→P  precision  confidence")
    for evidence in sorted({one.evidence for one in tried}):
        inside = [one for one in tried if one.evidence == evidence]
        right = sum(one.f2p for one in inside)
        share, number = right / len(inside), inside[0].confidence
        print(f"{evidence:19} {len(inside):10}  {right:3}  {share:9.2f}  {number:10.2f}")
    seconds = sorted(outcome.seconds for outcome in outcomes)
    if seconds:
        print(f"\nseconds per report: median {median(seconds):.1f}, longest {seconds[-1]:.1f}\n")
    ratios = [one.cpu / one.import_cpu for one in outcomes if one.import_cpu and one.tried]
    if ratios:
        print(
            f"CPU of replay per CPU of importing the subject, {len(ratios)} reports with a"
            f" candidate: median {median(ratios):.1f}, largest {max(ratios):.1f}\n"
        )


def _line_table(outcomes: Sequence[Outcome]) -> None:
    """Print how far tests that count, and those said to reproduce a report, can be believed."""
    print(
        "data set                  n  rank 1    any  tests that count  right  first right"
        "  reproduced  right"
    )
    sets: dict[str, list[Outcome]] = {"all": list(outcomes)}
    for outcome in outcomes:
        sets.setdefault(outcome.data, []).append(outcome)
    repos = sorted({outcome.repo for outcome in outcomes})
    if len(repos) > 1:
        sets |= {
            f"all but {repo.rpartition('/')[2]}": [one for one in outcomes if one.repo != repo]
            for repo in repos
        }
    for name, group in sets.items():
        ranks = [outcome.first() for outcome in group]
        above = [one for out in group for one in out.tried if one.counts]
        first = [out.tried[0] for out in group if out.tried and out.tried[0].counts]
        said = [one for one in first if one.reproduces]
        print(
            f"{name[:22]:22} {len(group):4}  {sum(r == 1 for r in ranks) / len(group):6.0%}"
            f"  {sum(r > 0 for r in ranks) / len(group):5.0%}  {len(above):16}"
            f"  {_right(above):>5}  {_right(first):>11}  {len(said):10}  {_right(said):>5}"
        )


def _right(tests: Sequence[Tried]) -> str:
    return f"{sum(one.f2p for one in tests) / len(tests):.0%}" if tests else "-"


def _shares(outcomes: Sequence[Outcome]) -> dict[str, dict[str, float]]:
    groups: dict[str, list[Outcome]] = {"all": list(outcomes)}
    for outcome in sorted(outcomes, key=lambda one: one.repo):
        groups.setdefault(outcome.repo, []).append(outcome)
    return {name: _share(group) for name, group in groups.items()}


def _share(group: Sequence[Outcome]) -> dict[str, float]:
    ranks = [outcome.first() for outcome in group]

    def part(hits: Iterable[bool]) -> float:
        return round(sum(hits) / len(group), 4) if group else 0.0

    return {
        "n": len(group),
        "candidate": part(bool(outcome.tried) for outcome in group),
        "at1": part(rank == 1 for rank in ranks),
        "at3": part(1 <= rank <= 3 for rank in ranks),
        "at5": part(1 <= rank <= 5 for rank in ranks),
        "any": part(rank > 0 for rank in ranks),
    }


if __name__ == "__main__":
    sys.exit(main())
