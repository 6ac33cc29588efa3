"""How well candidate patches with known labels are ranked, by tests made from the report alone.

    python bench/ranking.py INDEX --bugs dev.jsonl --candidates dev-candidates.jsonl --out FOLDER

INDEX is as in `bugs.py`. BUGS has `instance_id` and `patch`, the true fix, a line each; CANDIDATES
has `instance_id`, `model_patch` and `plausible`, the label that the bug's hidden tests gave. With
--own-tests FILE (`instance_id`, `model_patch`, `own_tests`) patches bring the tests that came with
them. The labels and the hidden tests never reach the tool.

Three pools are ranked for each bug: the candidates; with the true fix as one more; and the wrong
ones alone, where nothing should be called best. Counted for P@1, MRR and AUC are pools with right
and wrong patches; ties count as the expectation over their orders. Printed besides are, by the
evidence that the first patch leads on: of those that lead clearly, how many are right, for
`pytest_brt/rank/leaders.toml`; in how many pools one is called the best, and is; and of the wrong
patches, how many a right test rejects. The last line is one JSON object.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean

from bugs import FIX, Bug, add_options, each, read_bugs, run, share
from orders import Order, auc, interval, order_of, precision_at_1, reciprocal_rank

from tests.scenarios.read import Ranking, Report

#: The pools, and which patches are in each besides the wrong ones.
POOLS = ("candidates", "with the fix", "wrong ones")
MEASURES = {"p1": precision_at_1, "mrr": reciprocal_rank, "auc": auc}


@dataclass(frozen=True, slots=True, kw_only=True)
class Pool:
    """The patches of a bug as files, and which are right."""

    bug: Bug
    folder: Path
    right: frozenset[str]
    wrong: frozenset[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Ranked:
    """What the tool made of a pool."""

    pool: Pool
    #: None where there is no report, or no ranking in it.
    report: Report | None
    cpu: float

    @property
    def ranking(self) -> Ranking | None:
        """The ranking, where there is one."""
        return self.report.rankings[0] if self.report and self.report.rankings else None

    @property
    def order(self) -> Order | None:
        """The labels in their order, where it can be right or wrong and rests on a test."""
        both = self.pool.right and self.pool.wrong
        if (
            self.ranking is None
            or self.report is None
            or not (both and self.report.bug_tests)
        ):
            return None
        return order_of(self.ranking, self.pool.right)

    @property
    def evidence(self) -> str:
        """What the first patch leads on, or else what the first patch leads on."""
        tests = self.report.bug_tests if self.report else ()
        first = (tests[0].evidence or tests[0].author) if tests else "no test"
        patches = self.ranking.patches if self.ranking else ()
        return (patches[0].leads_by if patches else "") or first

    @property
    def is_clear(self) -> bool:
        """Whether a patch leads clearly, be that evidence measured or not."""
        ranking = self.ranking
        return ranking is not None and (
            ranking.status in ("best", "only") or ranking.reason.startswith("leaders-")
        )


def main() -> int:
    """Rank every pool and print the tables."""
    arguments = _arguments()
    pools = list(_pools(arguments))
    figures: dict[str, object] = {}
    for kind in arguments.pool or POOLS:
        figures[kind] = _show(kind, list(_rank_all(pools, kind, arguments)))
    print(json.dumps(figures))
    return 0


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add_options(parser)
    parser.add_argument("--bugs", type=Path, required=True, help="the true fixes")
    parser.add_argument(
        "--candidates", type=Path, required=True, help="the labelled patches"
    )
    parser.add_argument("--own-tests", type=Path, help="tests that patches bring")
    parser.add_argument("--pool", action="append", choices=POOLS, help="this pool alone")
    parser.add_argument("--guard", default="auto", help="seconds for existing tests")
    return parser.parse_args()


def _pools(arguments: argparse.Namespace) -> list[Pool]:
    """Write the patches of each bug to files, and return the pools."""
    own = {}
    if arguments.own_tests:
        for one in _lines(arguments.own_tests):
            own[one["instance_id"], one["model_patch"]] = str(one["own_tests"])
    candidates: dict[str, list[dict[str, object]]] = {}
    for one in _lines(arguments.candidates):
        candidates.setdefault(str(one["instance_id"]), []).append(one)
    fixes = {str(one["instance_id"]): str(one["patch"]) for one in _lines(arguments.bugs)}
    pools = []
    for bug in read_bugs(arguments):
        if bug.name not in candidates:
            continue
        folder = arguments.out / "patches" / bug.name
        folder.mkdir(parents=True, exist_ok=True)
        right: set[str] = set()
        wrong: set[str] = set()
        for number, one in enumerate(candidates[bug.name]):
            text = str(one["model_patch"])
            whole = _with_tests(text, own.get((bug.name, text), ""), bug.base)
            (folder / f"c{number:02}.diff").write_text(whole, "utf-8")
            (right if one["plausible"] else wrong).add(f"c{number:02}.diff")
        (folder / FIX).write_text(fixes[bug.name].rstrip("\n") + "\n", "utf-8")
        pools.append(
            Pool(
                bug=bug,
                folder=folder,
                right=frozenset({*right, FIX}),
                wrong=frozenset(wrong),
            )
        )
    return pools


def _lines(path: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def _with_tests(text: str, tests: str, tree: Path) -> str:
    """Return a patch with its tests, where the two go together."""
    alone = text.rstrip("\n") + "\n"
    if not tests:
        return alone
    whole = f"{alone}{tests.rstrip()}\n"
    check = ["git", "apply", "--check", "-"]
    done = subprocess.run(
        check, input=whole, cwd=tree, text=True, capture_output=True, check=False
    )
    return alone if done.returncode else whole


def _rank_all(
    pools: Sequence[Pool], kind: str, arguments: argparse.Namespace
) -> Iterator[Ranked]:
    """Rank the pools of one kind, and print a line for each."""
    chosen = {pool.bug.name: pool for pool in pools if _is_ranked(pool, kind)}

    def rank(bug: Bug) -> Ranked:
        return _rank(chosen[bug.name], kind, arguments)

    bugs = [pool.bug for pool in chosen.values()]
    for bug, one in each(bugs, arguments.jobs, rank):
        print(f"  {bug.name:32} {_line(one)}", flush=True)
        yield one


def _is_ranked(pool: Pool, kind: str) -> bool:
    """Say whether a pool tells anything: right and wrong patches, or two wrong ones."""
    if kind == "wrong ones":
        return len(pool.wrong) > 1
    return bool(pool.wrong) and (kind == "with the fix" or len(pool.right) > 1)


def _rank(pool: Pool, kind: str, arguments: argparse.Namespace) -> Ranked:
    """Rank the patches of a pool."""
    right = {
        "candidates": pool.right - {FIX},
        "with the fix": pool.right,
        "wrong ones": frozenset[str](),
    }[kind]
    files = [str((pool.folder / name).resolve()) for name in sorted(right | pool.wrong)]
    words = ["issue", str(pool.bug.issue), "--rank", *files, "--strategy", "replay"]
    words += ["--guard", arguments.guard]
    ran = run(pool.bug, arguments, *words, kind=kind.replace(" ", "-"))
    chosen = Pool(bug=pool.bug, folder=pool.folder, right=right, wrong=pool.wrong)
    return Ranked(pool=chosen, report=ran.report, cpu=ran.cpu)


def _line(one: Ranked) -> str:
    """Return what became of a pool."""
    order, status = one.order, one.ranking.status if one.ranking else "no ranking"
    first = f"p1 {precision_at_1(order):.2f}" if order else "not counted"
    return f"{status:12} {first:12} {one.evidence:22} {one.cpu:6.1f} s"


def _show(kind: str, ranked: Sequence[Ranked]) -> dict[str, object]:
    """Print what is to be said of one kind of pools; return its figures."""
    orders = [order for one in ranked if (order := one.order)]
    print(f"\n## {kind}: {len(orders)} of {len(ranked)} pools counted")
    figures: dict[str, object] = {"n": len(orders)}
    for name, measure in MEASURES.items() if orders else ():
        values = [measure(order) for order in orders]
        low, high = interval(values)
        print(f"{name:4} {fmean(values):.3f} [{low:.2f}, {high:.2f}]")
        figures[name] = round(fmean(values), 4)
    print(f"{'first patch leads on':28} {'clear leader right':>20} {'p1':>6}")
    for evidence in sorted({one.evidence for one in ranked}):
        some = [one for one in ranked if one.evidence == evidence]
        clear = [one for one in some if one.is_clear]
        right = sum(one.ranking.leader in one.pool.right for one in clear if one.ranking)
        firsts = [precision_at_1(order) for one in some if (order := one.order)]
        mean = f"{fmean(firsts):.2f}" if firsts else "–"
        print(f"{evidence:28} {share(right, len(clear)):>20} {mean:>6}")
    best = [one for one in ranked if one.ranking and one.ranking.status == "best"]
    correct = sum(one.ranking.leader in one.pool.right for one in best if one.ranking)
    print(
        f"called the best, and right: {share(correct, len(best))}, of {len(ranked)} pools"
    )
    rejected, tried = _rejections(ranked)
    print(f"wrong patches rejected by right tests: {share(rejected, tried)}")
    cpu = [one.cpu / max(1, len(one.ranking.patches)) for one in ranked if one.ranking]
    if cpu:
        print(f"CPU seconds a patch: {fmean(cpu):.1f}")
    clear = [one for one in ranked if one.is_clear]
    right = sum(one.ranking.leader in one.pool.right for one in clear if one.ranking)
    return {
        **figures,
        "clear": len(clear),
        "clear_right": right,
        "rejected": rejected,
        "of": tried,
    }


def _rejections(ranked: Sequence[Ranked]) -> tuple[int, int]:
    """Return how often a right test fails on a wrong patch, and how often it was run on one.

    A test is right that passes on the true fix, so only pools that hold it tell.
    """
    rejected = tried = 0
    for one in ranked:
        patches = one.ranking.patches if one.ranking else ()
        fix = next((patch for patch in patches if patch.name == FIX), None)
        right = (
            [name for name, result in fix.results.items() if result == "PASS"]
            if fix
            else []
        )
        for patch in patches:
            if patch.name in one.pool.wrong:
                results = [patch.results[name] for name in right if name in patch.results]
                tried += len(results)
                rejected += sum(result != "PASS" for result in results)
    return rejected, tried


if __name__ == "__main__":
    sys.exit(main())
