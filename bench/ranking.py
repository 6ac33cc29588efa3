"""How well candidate patches with known labels are ranked, by tests made from the report alone.

For each bug: tests are made from its report by the strategy `replay`, every candidate patch is
run against them (and against existing tests, and with changed inputs), and the resulting orders
are compared with the labels that the bug's hidden tests gave. The true fix and the hidden tests
never reach the ranking; the true fix is one more candidate in one of the two variants.

    python bench/ranking.py --data FOLDER --trees FILE --cache FOLDER

`--data` holds dev.jsonl (instance_id, problem_statement, patch, …) and dev-candidates.jsonl
(instance_id, model_patch, plausible, …). `--trees` is a JSON list with, per instance_id, `base`
(the tree), `python`, `pythonpath_base`, `envvars`, and `issue` (the report's path). What was run
is kept in `--cache`, a file per bug, and not run again; `--score-only` runs nothing.

Counted are the bugs whose pool holds both right and wrong patches and for which at least one test
fails on the unpatched tree for the reported reason. Ties count as the expectation over their
orders. The last line is one JSON object: the variant without the true fix in the pool.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from pytest_brt.codec import content_id, from_json, to_json
from pytest_brt.evaluate.metrics import (
    COLUMNS,
    Order,
    calibration,
    interval,
    mean_columns,
    paired_gap,
    threshold_curve,
)
from pytest_brt.evaluate.orders import RANKERS
from pytest_brt.execute.engine import Engine
from pytest_brt.execute.launch import open_engine
from pytest_brt.execute.row import Limits
from pytest_brt.execute.subject import find_subject
from pytest_brt.guard import Guard
from pytest_brt.issue import load_issue
from pytest_brt.rank.allowance import Allowance
from pytest_brt.rank.epr import rank_by_epr
from pytest_brt.rank.guarding import Guarding
from pytest_brt.rank.matrix import run_patch
from pytest_brt.rank.varying import Varying
from pytest_brt.rank.weighted import rank_by_weight
from pytest_brt.reproduce.replay.run import ReplaySettings, replay
from pytest_brt.store import write_text
from pytest_brt.types import Attempt, JudgedTest, Patch, PatchResult

#: Name of the true fix in a pool.
FIX = "the-fix"


@dataclass(frozen=True, slots=True, kw_only=True)
class Pool:
    """What was run for one bug."""

    instance: str
    attempt: Attempt
    rows: tuple[PatchResult, ...]
    #: Name of the patch → whether it is right.
    labels: dict[str, bool]
    seconds: float

    def candidates(self) -> tuple[JudgedTest, ...]:
        """Return the tests it is ranked by."""
        return tuple(judged for judged in self.attempt.tests if judged.judgement.candidate)


@dataclass(frozen=True, slots=True, kw_only=True)
class Bug:
    """One bug of the data set, as far as the tool may know it."""

    instance: str
    tree: dict[str, object]
    #: Name, text, whether it is right; the true fix last.
    patches: tuple[tuple[str, str, bool], ...]

    @property
    def is_mixed(self) -> bool:
        """Whether the pool, with the true fix, holds right and wrong patches."""
        return len({right for _, _, right in self.patches}) == 2


def read_bugs(data: Path, trees: Path) -> list[Bug]:
    """Return the bugs that have a tree, in the data set's order."""
    by_tree = {entry["instance_id"]: entry for entry in json.loads(trees.read_text("utf-8"))}
    pools: dict[str, list[tuple[str, str, bool]]] = {}
    for line in (data / "dev-candidates.jsonl").read_text("utf-8").splitlines():
        record = json.loads(line)
        pool = pools.setdefault(record["instance_id"], [])
        pool.append((f"c{len(pool):02}", record["model_patch"], bool(record["plausible"])))
    bugs = []
    for line in (data / "dev.jsonl").read_text("utf-8").splitlines():
        record = json.loads(line)
        name = record["instance_id"]
        if name in by_tree:
            patches = (*pools.get(name, []), (FIX, record["patch"], True))
            bugs.append(Bug(instance=name, tree=by_tree[name], patches=patches))
    return bugs


def run_bug(bug: Bug, options: argparse.Namespace) -> Pool:
    """Make the tests of one bug and run its patches against them."""
    started = time.monotonic()
    tree = bug.tree
    env = {str(key): str(value) for key, value in dict(tree["envvars"]).items()}  # type: ignore[call-overload]
    env["PYTHONPATH"] = os.pathsep.join(tree["pythonpath_base"])  # type: ignore[arg-type]
    subject = find_subject(Path(str(tree["base"])), python=str(tree["python"]), env=env)
    limits = Limits(seconds=60, memory_mb=4096)
    engine = open_engine(subject, sandbox=options.sandbox, limits=limits, jobs=options.jobs)
    try:
        issue = load_issue(str(tree["issue"]), sys.stdin.buffer)
        attempt = replay(issue, engine=engine, settings=ReplaySettings(keep=5))
        rows: tuple[PatchResult, ...] = ()
        if any(judged.judgement.candidate for judged in attempt.tests):
            rows = run_rows(bug, attempt, engine, options)
    finally:
        engine.close()
    labels = {name: right for name, _, right in bug.patches}
    seconds = time.monotonic() - started
    return Pool(instance=bug.instance, attempt=attempt, rows=rows, labels=labels, seconds=seconds)


def run_rows(
    bug: Bug, attempt: Attempt, engine: Engine, options: argparse.Namespace
) -> tuple[PatchResult, ...]:
    """Run every patch of a bug, several at a time."""
    guarding = None
    if options.guard > 0:
        guarding = Guarding(
            guard=Guard(engine),
            allowance=Allowance(
                seconds=options.guard * (len(bug.patches) + 1),
                patches=len(bug.patches),
                spent=0.0,
            ),
        )
    varying = Varying(engine, seed=int(content_id(attempt.issue), 16) % 2**32)

    def run_one(patch: tuple[str, str, bool]) -> PatchResult:
        name, text, _ = patch
        return run_patch(
            Patch(id=content_id(text), name=name, text=text),
            attempt.issue,
            attempt.tests,
            engine,
            guarding=guarding,
            varying=None if options.quick else varying,
        )

    with ThreadPoolExecutor(options.jobs) as executor:
        return tuple(executor.map(run_one, bug.patches))


def orders_of(pools: Sequence[Pool], ranker: str, *, with_fix: bool) -> list[Order]:
    """Return the labels of each pool in a ranker's order."""
    orders: list[Order] = []
    for pool in pools:
        rows = tuple(row for row in pool.rows if with_fix or row.patch.name != FIX)
        ordered = RANKERS[ranker](rows, pool.candidates())
        orders.append([[pool.labels[row.patch.name] for row in group] for group in ordered])
    return orders


def is_counted(pool: Pool, *, with_fix: bool) -> bool:
    """Whether a pool has a test, and both right and wrong patches."""
    kinds = {right for name, right in pool.labels.items() if with_fix or name != FIX}
    return bool(pool.candidates()) and kinds == {True, False}


# -- what is printed ----------------------------------------------------------------------


def show_variant(pools: Sequence[Pool], *, with_fix: bool) -> dict[str, object]:
    """Print the tables of one variant and return its figures."""
    counted = [pool for pool in pools if is_counted(pool, with_fix=with_fix)]
    print(f"\n## {'with' if with_fix else 'without'} the true fix in the pool: {len(counted)} bugs")
    if not counted:
        return {"n": 0}
    orders = {ranker: orders_of(counted, ranker, with_fix=with_fix) for ranker in RANKERS}
    print("ranker".ljust(24), *(column.rjust(5) for column in COLUMNS))
    figures: dict[str, object] = {}
    for ranker, order in orders.items():
        means = mean_columns(order)
        print(ranker.ljust(24), *(f"{value:5.2f}" for value in means.values()))
        figures[ranker] = {key: round(means[key], 4) for key in ("p1", "mrr", "auc", "f1")}
    print("\nabove plain EPR, mean [95 % by paired bootstrap]")
    for ranker in ("weighted", "weighted+guard", "weighted+guard+property"):
        gaps = {
            name: paired_gap(orders[ranker], orders["epr"], name)
            for name in ("p1", "p3", "r3", "mrr", "f1", "auc")
        }
        cells = (f"{k} {g.mean:+.3f} [{g.low:+.2f}, {g.high:+.2f}]" for k, g in gaps.items())
        print(" ", ranker.ljust(24), "  ".join(cells))
    best = orders["weighted+guard+property"]
    ends = {column: interval(best, column) for column in ("p1", "mrr")}
    words = (f"{key} {g.mean:.3f} [{g.low:.2f}, {g.high:.2f}]" for key, g in ends.items())
    print("  weighted+guard+property:", ", ".join(words), "(95 % by bootstrap)")
    show_curves(counted, with_fix=with_fix)
    return {**figures, "n": len(counted)}


def show_curves(pools: Sequence[Pool], *, with_fix: bool) -> None:
    """Print the threshold curves, and how well the weighted score is calibrated."""
    plain: list[list[tuple[float | None, bool]]] = []
    weighted: list[list[tuple[float | None, bool]]] = []
    scored: list[tuple[float, bool]] = []
    for pool in pools:
        rows = tuple(row for row in pool.rows if with_fix or row.patch.name != FIX)
        for ranks, scores in (
            (rank_by_epr(rows, pool.candidates()), plain),
            (rank_by_weight(rows, pool.candidates()), weighted),
        ):
            labelled = [(rank, pool.labels[rank.result.patch.name]) for rank in ranks]
            scores.append(
                [(rank.epr if scores is plain else rank.score, right) for rank, right in labelled]
            )
        scored += [(score, right) for score, right in weighted[-1] if score is not None]
    print("\nthreshold   EPR: precision recall  F1     score: precision recall  F1")
    curves = zip(threshold_curve(plain, 10), threshold_curve(weighted, 10), strict=True)
    for one, other in curves:
        cells = (f"{p.precision:9.2f} {p.recall:8.2f} {p.f1:6.2f}" for p in (one, other))
        print(f"  {one.threshold:4.2f}    ", "     ".join(cells))
    print("\ncalibration of the score: bin, patches, mean score, share right")
    for low, high, count, score, right in calibration(scored):
        print(f"  {low:.1f}-{high:.1f}  {count:4}  {score:.2f}  {right:.2f}")


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    """Return the options."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, required=True, help="folder with the data set")
    parser.add_argument("--trees", type=Path, required=True, help="where each bug's tree is")
    parser.add_argument("--cache", type=Path, required=True, help="folder for what was run")
    parser.add_argument("--only", nargs="*", default=[], metavar="TEXT", help="bugs named so")
    parser.add_argument("--quick", action="store_true", help="5 bugs, no guard, no changed inputs")
    parser.add_argument("--score-only", action="store_true", help="run nothing")
    parser.add_argument(
        "--guard", type=float, default=20.0, help="seconds of existing tests a tree"
    )
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--sandbox", default="auto", help="isolation, as --brt-sandbox")
    options = parser.parse_args(arguments)
    if options.quick:
        options.guard = 0.0
    return options


def collect(bugs: Sequence[Bug], options: argparse.Namespace) -> list[Pool]:
    """Return what was run, running what is missing."""
    pools = []
    suffix = "-quick" if options.quick else ""
    for bug in bugs:
        path = options.cache / f"{bug.instance}{suffix}.json"
        if not path.exists() and not options.score_only:
            pool = run_bug(bug, options)
            write_text(path, to_json(pool))
        if path.exists():
            pool = from_json(path.read_bytes(), Pool)
            pools.append(pool)
            count = len(pool.candidates())
            print(
                f"{pool.instance}: {count} candidate tests, {len(pool.rows)} patches, "
                f"{sum(pool.labels.values())} right, {pool.seconds:.0f} s",
                flush=True,
            )
    return pools


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the study and print its tables; the last line is one JSON object."""
    options = parse(arguments)
    bugs = [bug for bug in read_bugs(options.data, options.trees) if bug.is_mixed]
    bugs = [b for b in bugs if not options.only or any(t in b.instance for t in options.only)]
    pools = collect(bugs[:5] if options.quick else bugs, options)
    show_variant(pools, with_fix=True)
    print(json.dumps(show_variant(pools, with_fix=False)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
