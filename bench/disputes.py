"""How often existing tests that assert the bug are known as such, and others taken for them.

Of each bug the existing tests are run with the true fix, beside tests made from its report alone.
*Truly in dispute* is an existing test that passes on the unpatched tree and fails with the fix;
*wrongly excused* is any other that is held against no patch.

    python bench/disputes.py --data FILE ... --trees FILE ... --cache FOLDER [--pools FOLDER]

`--data` and `--trees` are as of `bench/ranking.py`, a file for each data set; what was run is kept
in `--cache`. `--pools` is the cache of `bench/ranking.py`: pools of two to four of its patches are
drawn by seed, and looked at for tests that are wrongly excused.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from ranking import FIX, Bug, Pool, run_bug

from pytest_brt.codec import content_id, from_json, to_json
from pytest_brt.rank.disputes import settle
from pytest_brt.store import write_text
from pytest_brt.types import Patch, PatchResult

#: Pools drawn for each bug, and patches of one.
_DRAWN = 1000
_SIZES = (2, 3, 4)


def read_bugs(data: Sequence[Path], trees: Sequence[Path]) -> Iterator[Bug]:
    """Yield the bugs that have a tree, with the true fix as the only patch."""
    by_tree = {
        entry["instance_id"]: entry for path in trees for entry in json.loads(path.read_text())
    }
    for path in data:
        for line in path.read_text("utf-8").splitlines():
            record = json.loads(line)
            tree = by_tree.get(record["instance_id"])
            if tree is None:
                continue
            folders = [str(Path(tree["base"], part)) for part in tree["pythonpath"]]
            fix = Patch(id=content_id(record["patch"]), name=FIX, text=record["patch"])
            yield Bug(
                instance=record["instance_id"],
                tree={"envvars": {}, "pythonpath_base": folders, **tree},
                patches=((fix, True),),
            )


def broken_by(result: PatchResult) -> set[str]:
    """Return the existing tests that fail with a patch, in dispute or not."""
    return {one.test for one in result.broken}


def excused(pool: Pool, rows: Sequence[PatchResult]) -> set[str]:
    """Return the existing tests that are held against none of some patches."""
    settled = settle(rows, pool.candidates())
    return {dispute.existing for dispute in settled.disputes if dispute.is_disputed}


def truly(pool: Pool) -> set[str]:
    """Return the existing tests that the true fix breaks."""
    return {test for row in pool.rows if row.patch.name == FIX for test in broken_by(row)}


def show_alone(bugs: Sequence[Bug], options: argparse.Namespace) -> None:
    """Print what is found where the true fix is the only patch."""
    bugs_of, tests_of, bugs_found, tests_found = 0, 0, 0, 0
    for bug in bugs:
        place = options.cache / f"{bug.instance}.json"
        if not place.exists():
            write_text(place, to_json(run_bug(bug, options)))
        pool = from_json(place.read_bytes(), Pool)
        right, found = truly(pool), excused(pool, pool.rows)
        if right:
            believed = sum(judged.judgement.counts for judged in pool.candidates())
            print(
                f"{bug.instance}: {len(found)} of {len(right)} found, "
                f"{len(pool.candidates())} bug tests, {believed} believed",
                flush=True,
            )
        bugs_of, bugs_found = bugs_of + bool(right), bugs_found + bool(found)
        tests_of, tests_found = tests_of + len(right), tests_found + len(found)
    print(f"{len(bugs)} bugs: truly in dispute {tests_of} tests of {bugs_of} bugs")
    print(f"found: {tests_found} tests of {bugs_found} bugs, the fix alone")


def show_pools(folder: Path) -> None:
    """Print what is excused in pools that are drawn from those that were ranked."""
    right, wrong, drawn, whole = 0, 0, 0, 0
    names: set[tuple[str, str]] = set()
    for path in sorted(folder.glob("*.json")):
        pool = from_json(path.read_bytes(), Pool)
        real = truly(pool)
        whole += len(excused(pool, pool.rows) & real)
        names |= {(pool.instance, test) for test in excused(pool, pool.rows) - real}
        rows = [row for row in pool.rows if row.applies]
        chance = random.Random(pool.instance)
        for _ in range(_DRAWN if len(rows) >= max(_SIZES) else 0):
            found = excused(pool, chance.sample(rows, chance.choice(_SIZES)))
            drawn += 1
            right += bool(found & real)
            wrong += bool(found - real)
            names |= {(pool.instance, test) for test in found - real}
    print(f"whole pools: {whole} tests found")
    print(f"{drawn} pools drawn: in {right} a test truly in dispute is found, in {wrong} another")
    for instance, test in sorted(names):
        print(f"  wrongly excused: {instance} {test}")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run what is missing and print the counts."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, nargs="+", default=[], help="data sets")
    parser.add_argument("--trees", type=Path, nargs="+", default=[], help="where their trees are")
    parser.add_argument("--cache", type=Path, required=True, help="folder for what was run")
    parser.add_argument("--pools", type=Path, help="cache of bench/ranking.py")
    parser.add_argument("--guard", type=float, default=10.0, help="seconds of existing tests")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--sandbox", default="auto", help="isolation, as --brt-sandbox")
    parser.set_defaults(own_tests=None)
    options = parser.parse_args(arguments)
    show_alone(tuple(read_bugs(options.data, options.trees)), options)
    if options.pools:
        show_pools(options.pools)
    return 0


if __name__ == "__main__":
    sys.exit(main())
