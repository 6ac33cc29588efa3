"""How well candidate patches with known labels are ranked, by tests made from the report alone.

For each bug: tests are made from its report by the strategy `replay`, every candidate patch is
run against them and against existing tests, and the resulting orders are compared with the labels
that the bug's hidden tests gave. The true fix and the hidden tests never reach the ranking; the
true fix is one more candidate in one of the two variants. Patches that are equal after
normalisation are run once.

    python bench/ranking.py --data FOLDER --trees FILE --cache FOLDER

`--data` holds dev.jsonl (instance_id, problem_statement, patch, …) and dev-candidates.jsonl
(instance_id, model_patch, plausible, …). `--trees` is a JSON list with, per instance_id, `base`
(the tree), `python`, `pythonpath_base`, `envvars`, and `issue` (the report's path). What was run
is kept in `--cache`, a file per bug, and not run again; `--score-only` runs nothing.

Counted are the bugs whose pool holds both right and wrong patches and for which at least one test
fails on the unpatched tree for the reported reason. Ties count as the expectation over their
orders. `--fit` finds the weights of `rank/score.py` and shows what each fact is worth: every bug is
ranked by weights that were found on the others. The last line is one JSON object: the variant
without the true fix in the pool.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import resource
import sys
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import fmean

from calibration import calibration, calibration_error, paired_gap

from pytest_brt.codec import content_id, from_json, to_json
from pytest_brt.evaluate.estimates import estimate
from pytest_brt.evaluate.measures import COLUMNS, Order
from pytest_brt.evaluate.ranking import RANKERS, grouped
from pytest_brt.execute.engine import Limits
from pytest_brt.execute.launch import open_sandbox
from pytest_brt.execute.local import LocalEngine
from pytest_brt.execute.subject import find_subject
from pytest_brt.guard import Guard, touched_of
from pytest_brt.issue.load import load_issue
from pytest_brt.issue.read import read_report
from pytest_brt.oracle.facts import read_facts
from pytest_brt.patches import apply_patch
from pytest_brt.patches.problem import PatchProblem
from pytest_brt.rank.brought import find_brought, judge_brought
from pytest_brt.rank.guarding import Guarding
from pytest_brt.rank.matrix import Ran, run_patch
from pytest_brt.rank.score import facts_of, sigmoid
from pytest_brt.rank.votes import count_votes
from pytest_brt.rank.weighted import rank_by_weight
from pytest_brt.reproduce.replay.run import replay
from pytest_brt.store import write_text
from pytest_brt.types import Attempt, JudgedTest, Patch, PatchResult

#: Name of the true fix in a pool.
FIX = "the-fix"
LIMITS = Limits(seconds=60, memory_mb=4096)


@dataclass(frozen=True, slots=True, kw_only=True)
class Pool:
    """What was run for one bug."""

    instance: str
    attempt: Attempt
    #: Tests that the patches bring, judged.
    brought: tuple[JudgedTest, ...] = ()
    rows: tuple[PatchResult, ...]
    #: Name of the patch → whether it is right.
    labels: dict[str, bool]
    #: CPU seconds of all processes: of making the tests, and of running the patches.
    making: float
    running: float

    def candidates(self) -> tuple[JudgedTest, ...]:
        """Return the tests it is ranked by."""
        found = (*self.attempt.tests, *self.brought)
        return tuple(judged for judged in found if judged.judgement.candidate)

    def patches(self, *, with_fix: bool) -> tuple[PatchResult, ...]:
        """Return the rows to be ranked."""
        return tuple(row for row in self.rows if with_fix or row.patch.name != FIX)


@dataclass(frozen=True, slots=True, kw_only=True)
class Bug:
    """One bug of the data set, as far as the tool may know it."""

    instance: str
    tree: dict[str, object]
    #: Patch and whether it is right; the true fix last.
    patches: tuple[tuple[Patch, bool], ...]

    @property
    def is_mixed(self) -> bool:
        """Whether the pool, with the true fix, holds right and wrong patches."""
        return len({right for _, right in self.patches}) == 2


def read_bugs(data: Path, trees: Path, own_tests: Path | None) -> list[Bug]:
    """Return the bugs that have a tree, in the data set's order."""
    by_tree = {entry["instance_id"]: entry for entry in json.loads(trees.read_text("utf-8"))}
    pools: dict[str, list[tuple[Patch, bool]]] = {}
    own = read_own_tests(own_tests) if own_tests else {}
    for line in (data / "dev-candidates.jsonl").read_text("utf-8").splitlines():
        record = json.loads(line)
        name = record["instance_id"]
        root = Path(str(by_tree[name]["base"])) if name in by_tree else Path()
        pool = pools.setdefault(name, [])
        text = record["model_patch"]
        patch = Patch(
            id=content_id(text),
            name=f"c{len(pool):02}",
            text=with_tests(text, own.get((name, text), ""), root),
            source=record["model_name_or_path"] if own else "",
        )
        pool.append((patch, bool(record["plausible"])))
    bugs = []
    for line in (data / "dev.jsonl").read_text("utf-8").splitlines():
        record = json.loads(line)
        name = record["instance_id"]
        if name in by_tree:
            fix = Patch(id=content_id(record["patch"]), name=FIX, text=record["patch"])
            patches = (*pools.get(name, []), (fix, True))
            bugs.append(Bug(instance=name, tree=by_tree[name], patches=patches))
    return bugs


def read_own_tests(path: Path) -> dict[tuple[str, str], str]:
    """Return the diffs of tests that patches brought, by bug and text of the patch."""
    records = map(json.loads, path.read_text("utf-8").splitlines())
    return {(one["instance_id"], one["model_patch"]): one["own_tests"] for one in records}


def with_tests(text: str, tests: str, root: Path) -> str:
    """Return a patch with its tests, where the two go together."""
    whole = f"{text.rstrip()}\n{tests.rstrip()}\n"
    try:
        apply_patch(Patch(id="", name="", text=whole), root, whole=True)
    except PatchProblem:
        return text
    return whole if tests else text


def run_bug(bug: Bug, options: argparse.Namespace) -> Pool:
    """Make the tests of one bug and run its patches against them."""
    place = options.cache / "attempts" / f"{bug.instance}.json"
    if place.exists():
        return run_pool(bug, from_json(place.read_bytes(), Attempt), options)
    begun = cpu()
    engine = engine_of(bug, options)
    try:
        issue = load_issue(str(bug.tree["issue"]), sys.stdin.buffer)
        attempt = replay(issue, engine=engine, keep=5)
    finally:
        engine.close()
    write_text(place, to_json(attempt))
    return replace(run_pool(bug, attempt, options), making=cpu() - begun)


def run_pool(bug: Bug, attempt: Attempt, options: argparse.Namespace) -> Pool:
    """Run the patches of a bug against tests that were made: equal patches once."""
    begun = cpu()
    patches = [patch for patch, _ in bug.patches]
    rows: tuple[PatchResult, ...] = ()
    brought: tuple[JudgedTest, ...] = ()
    engine = engine_of(bug, options)
    try:
        if options.own_tests:
            brought = judged_tests_of(patches, bug, engine)
        tests = (*attempt.tests, *brought)
        if any(judged.judgement.candidate for judged in tests):
            rows = run_patches(patches, attempt.issue, tests, engine, options)
    finally:
        engine.close()
    labels = {patch.name: right for patch, right in bug.patches}
    return Pool(
        instance=bug.instance,
        attempt=attempt,
        brought=brought,
        rows=rows,
        labels=labels,
        making=0.0,
        running=cpu() - begun,
    )


def judged_tests_of(
    patches: Sequence[Patch], bug: Bug, engine: LocalEngine
) -> tuple[JudgedTest, ...]:
    """Return the tests that patches bring, judged on the unpatched tree."""
    root = Path(engine.subject.root)
    issue = load_issue(str(bug.tree["issue"]), sys.stdin.buffer)
    found = find_brought(patches, root)
    return judge_brought(
        found, tuple(touched_of(patches, root)), engine, read_facts(read_report(issue)), 2
    )


def run_patches(
    patches: Sequence[Patch],
    issue: str,
    tests: tuple[JudgedTest, ...],
    engine: LocalEngine,
    options: argparse.Namespace,
) -> tuple[PatchResult, ...]:
    """Run patches; the tests on those that make equal trees run once."""
    total = None if options.guard is None else options.guard * len(patches)
    guarding = (
        None
        if options.guard == 0
        else Guarding(guard=Guard(engine), patches=tuple(patches), total=total)
    )
    ran: dict[str, Ran] = {}

    def share(normal: str, work: Callable[[], Ran]) -> Ran:
        if normal not in ran:
            ran[normal] = work()
        return ran[normal]

    def run_one(patch: Patch) -> PatchResult:
        return run_patch(patch, issue, tests, engine, guarding=guarding, share=share)

    with ThreadPoolExecutor(options.jobs) as executor:
        return tuple(executor.map(run_one, patches))


def engine_of(bug: Bug, options: argparse.Namespace) -> LocalEngine:
    """Return an engine on the project of a bug."""
    tree = bug.tree
    root = Path(str(tree["base"]))
    env = {str(key): str(value) for key, value in dict(tree["envvars"]).items()}  # type: ignore[call-overload]
    env["PYTHONPATH"] = os.pathsep.join(tree["pythonpath_base"])  # type: ignore[arg-type]
    sandbox = open_sandbox(options.sandbox, project=root)
    subject = find_subject(root, python=str(tree["python"]), env=env, sandbox=sandbox)
    return LocalEngine(subject, sandbox, limits=LIMITS, jobs=options.jobs)


def cpu() -> float:
    """Return the CPU seconds of this process and of those that ended below it."""
    kinds = (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    return sum(used.ru_utime + used.ru_stime for used in map(resource.getrusage, kinds))


def orders_of(pools: Sequence[Pool], ranker: str, *, with_fix: bool) -> list[Order]:
    """Return the labels of each pool in a ranker's order."""
    orders: list[Order] = []
    for pool in pools:
        ordered = RANKERS[ranker](pool.patches(with_fix=with_fix), pool.candidates())
        orders.append([[pool.labels[row.patch.name] for row in group] for group in ordered])
    return orders


def is_counted(pool: Pool, *, with_fix: bool) -> bool:
    """Whether a pool has a test, and both right and wrong patches."""
    kinds = {right for name, right in pool.labels.items() if with_fix or name != FIX}
    return bool(pool.candidates()) and kinds == {True, False}


# -- the weights ---------------------------------------------------------------------------


#: What is known of a patch, the constant first, and whether it is right.
Example = tuple[tuple[float, ...], bool]


def measured(
    rows: Sequence[PatchResult], tests: Sequence[JudgedTest], names: Sequence[str]
) -> list[tuple[float, ...]]:
    """Return the constant 1 and the facts called `names` for each row, as the model has them."""
    having_vote = count_votes(rows, tests).having
    facts = [facts_of(row, having_vote) for row in rows]
    return [(1.0, *(float(getattr(fact, name)) for name in names)) for fact in facts]


def fit(pools: Iterable[Sequence[Example]], ridge: float = 1.0) -> tuple[float, ...]:
    """Return the weights of a logistic regression in which every pool counts as eight patches.

    Newton's method; `ridge` keeps all weights but the constant small.
    """
    data = [(*example, 8 / len(pool)) for pool in pools for example in pool]
    size = len(data[0][0])
    weights = [0.0] * size
    for _ in range(30):
        slope = [-(ridge if at else 0.05) * weights[at] for at in range(size)]
        bend = [[(ridge if at else 0.05) * (at == to) for to in range(size)] for at in range(size)]
        for facts, right, share in data:
            guess = sigmoid(sum(map(math.prod, zip(weights, facts, strict=True))))
            for at in range(size):
                slope[at] += share * (right - guess) * facts[at]
                for to in range(size):
                    bend[at][to] += share * guess * (1 - guess) * facts[at] * facts[to]
        step = solved(bend, slope)
        weights = [old + new for old, new in zip(weights, step, strict=True)]
    return tuple(weights)


def solved(matrix: list[list[float]], right: list[float]) -> list[float]:
    """Return the solution of a small system of linear equations, by elimination."""
    rows = [[*row, value] for row, value in zip(matrix, right, strict=True)]
    for at in range(len(rows)):
        pivot = max(range(at, len(rows)), key=lambda row: abs(rows[row][at]))
        rows[at], rows[pivot] = rows[pivot], rows[at]
        rows[at] = [value / rows[at][at] for value in rows[at]]
        for other in range(len(rows)):
            if other != at:
                factor = rows[other][at]
                rows[other] = [a - factor * b for a, b in zip(rows[other], rows[at], strict=True)]
    return [row[-1] for row in rows]


def left_out(
    pools: Sequence[Pool], names: Sequence[str], *, with_fix: bool
) -> tuple[list[Order], list[tuple[float, bool]]]:
    """Return each pool's order, and its scores, by weights that were found on all other pools."""
    sets = [examples(pool, names, with_fix=with_fix) for pool in pools]
    orders: list[Order] = []
    scored: list[tuple[float, bool]] = []
    for number, pool in enumerate(pools):
        weights = fit([found for other, found in enumerate(sets) if other != number])
        rows = [row for row in pool.patches(with_fix=with_fix) if row.applies]
        tests = count_votes(rows, pool.candidates()).having
        keys: dict[str, float] = {}
        for row, facts in zip(rows, measured(rows, pool.candidates(), names), strict=True):
            odds = sum(map(math.prod, zip(weights, facts, strict=True)))
            keys[row.patch.name] = 99 * facts_of(row, tests).is_at_fault - odds
            scored.append((sigmoid(odds), pool.labels[row.patch.name]))
        lost = [row for row in pool.patches(with_fix=with_fix) if not row.applies]
        ordered = [*grouped(rows, lambda row, keys=keys: keys[row.patch.name]), lost]  # type: ignore[misc]
        orders.append(
            [[pool.labels[row.patch.name] for row in group] for group in ordered if group]
        )
    return orders, scored


def examples(pool: Pool, names: Sequence[str], *, with_fix: bool) -> list[Example]:
    """Return what the weights are found from: equal patches once."""
    rows = [row for row in pool.patches(with_fix=with_fix) if row.applies]
    facts = measured(rows, pool.candidates(), names)
    once = {
        row.normal or row.patch.id: (found, pool.labels[row.patch.name])
        for row, found in zip(rows, facts, strict=True)
    }
    return list(once.values())


#: The facts of the model.
FACTS = ("tests", "breaks", "length")


def mean_columns(orders: Sequence[Order]) -> dict[str, float]:
    """Return each measure, averaged over bugs."""
    return {name: fmean(map(measure, orders)) for name, measure in COLUMNS.items()}


def show_fit(pools: Sequence[Pool], *, with_fix: bool) -> None:
    """Print what each fact is worth, and the weights found on all pools."""
    print("\nfacts (each bug by weights of the others)   p1   mrr   auc   ece")
    subsets = [FACTS, *(tuple(f for f in FACTS if f != gone) for gone in FACTS), FACTS[:1]]
    for names in subsets:
        orders, scored = left_out(pools, names, with_fix=with_fix)
        means = mean_columns(orders)
        cells = (f"{means[key]:5.2f}" for key in ("p1", "mrr", "auc"))
        print(f"  {', '.join(names):40}", *cells, f"{calibration_error(scored):5.2f}")
    weights = fit([examples(pool, FACTS, with_fix=with_fix) for pool in pools])
    print(
        "weights:",
        ", ".join(f"{n} {w:+.2f}" for n, w in zip(("start", *FACTS), weights, strict=True)),
    )


# -- what is printed ----------------------------------------------------------------------


def show_variant(
    pools: Sequence[Pool], *, with_fix: bool, options: argparse.Namespace
) -> dict[str, object]:
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
        figures[ranker] = {key: round(means[key], 4) for key in ("p1", "mrr", "auc", "f1@3")}
    best = orders["weighted+guard"]
    for column in ("p1", "mrr"):
        end = estimate([COLUMNS[column](order) for order in best])
        gap = paired_gap(best, orders["epr"], column)
        assert end is not None, "there are bugs"
        assert gap is not None, "there are bugs"
        print(
            f"{column} {end.mean:.3f} [{end.low:.2f}, {end.high:.2f}], above plain EPR "
            f"{gap.mean:+.3f} [{gap.low:+.2f}, {gap.high:+.2f}] (95 % by bootstrap)"
        )
    for pool, found, plain in zip(counted, best, orders["epr"], strict=True):
        firsts = [COLUMNS["p1"](one) for one in (plain, found)]
        print(f"  {pool.instance:28} p1: EPR {firsts[0]:.2f}, weighted+guard {firsts[1]:.2f}")
    if options.fit:
        show_fit(counted, with_fix=with_fix)
    show_calibration(counted, with_fix=with_fix)
    return {**figures, "n": len(counted)}


def show_calibration(pools: Sequence[Pool], *, with_fix: bool) -> None:
    """Print how well the score says how often a patch is right."""
    scored = [
        (rank.score, pool.labels[rank.result.patch.name])
        for pool in pools
        for rank in rank_by_weight(pool.patches(with_fix=with_fix), pool.candidates())
        if rank.score is not None
    ]
    print(
        f"calibration error {calibration_error(scored):.2f}: bin, patches, mean score, share right"
    )
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
    parser.add_argument("--own-tests", type=Path, help="tests that patches brought, as a data set")
    parser.add_argument("--only", nargs="*", default=[], metavar="TEXT", help="bugs named so")
    parser.add_argument("--score-only", action="store_true", help="run nothing")
    parser.add_argument("--fit", action="store_true", help="find the weights, and what they gain")
    parser.add_argument(
        "--guard", type=float, help="seconds of existing tests a patch (default: the tool's)"
    )
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--sandbox", default="auto", help="isolation, as --brt-sandbox")
    return parser.parse_args(arguments)


def collect(bugs: Sequence[Bug], options: argparse.Namespace) -> list[Pool]:
    """Return what was run, running what is missing."""
    pools = []
    for bug in bugs:
        path = options.cache / f"{bug.instance}.json"
        if not path.exists() and not options.score_only:
            write_text(path, to_json(run_bug(bug, options)))
        if path.exists():
            pool = from_json(path.read_bytes(), Pool)
            pools.append(pool)
            distinct = len({row.normal or row.patch.id for row in pool.rows})
            print(
                f"{pool.instance}: {len(pool.candidates())} candidate tests, {len(pool.rows)} "
                f"patches, {distinct} different, {sum(pool.labels.values())} right; CPU "
                f"{pool.running / max(1, distinct):.1f} s a patch",
                flush=True,
            )
    return pools


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the study and print its tables; the last line is one JSON object."""
    options = parse(arguments)
    bugs = [
        bug for bug in read_bugs(options.data, options.trees, options.own_tests) if bug.is_mixed
    ]
    bugs = [b for b in bugs if not options.only or any(t in b.instance for t in options.only)]
    pools = collect(bugs, options)
    show_variant(pools, with_fix=True, options=options)
    print(json.dumps(show_variant(pools, with_fix=False, options=options)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
