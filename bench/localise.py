"""How often the file that the true fix changes is among the first suspects.

INDEX is a JSON list, one object per bug report: `instance_id`, `repo`, `issue` (path of the
report), `base` (the tree without the fix). BUGS is JSON Lines with `instance_id` and `patch`
(the true fix); its files only judge. Printed are the rank of the first truly changed file per
report and the shares within rank 1, 3 and 10, with seconds per report once the tree is indexed.
The last line is one JSON object of shares.
"""

from __future__ import annotations

import argparse
import json
import re
import time
from collections.abc import Sequence
from io import BytesIO
from pathlib import Path
from statistics import median
from tempfile import gettempdir
from typing import TypedDict

from pytest_brt.code.index import open_index
from pytest_brt.issue import load_issue
from pytest_brt.localise.suspects import find_suspects, rank_files

QUICK = 8


class Bug(TypedDict):
    """What the index file says about one report."""

    instance_id: str
    repo: str
    issue: str
    base: str


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the bench; return its exit status."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("index", type=Path, metavar="INDEX", help="the reports (JSON)")
    parser.add_argument("bugs", type=Path, metavar="BUGS", help="the true fixes (JSON Lines)")
    parser.add_argument("--quick", action="store_true", help=f"only {QUICK} reports, spread evenly")
    parser.add_argument(
        "--cache",
        type=Path,
        default=Path(gettempdir()) / "pytest-brt-bench-index",
        metavar="DIR",
        help="where indexes are kept (default: %(default)s)",
    )
    options = parser.parse_args(arguments)
    bugs: list[Bug] = json.loads(options.index.read_text(encoding="utf-8"))
    if options.quick:
        bugs = bugs[:: max(1, len(bugs) // QUICK)][:QUICK]
    truth = {
        record["instance_id"]: set(re.findall(r"^\+\+\+ b/(\S+)", record["patch"], re.M))
        for record in map(json.loads, options.bugs.read_text(encoding="utf-8").splitlines())
    }
    ranks: dict[str, list[int]] = {}
    times: list[float] = []
    for bug in bugs:
        rank, count, seconds = judge(bug, truth[bug["instance_id"]], options.cache)
        ranks.setdefault(bug["repo"], []).append(rank)
        times.append(seconds)
        shown = rank or "-"
        print(f"{bug['instance_id']:40} rank {shown:>3} of {count:3}  {seconds:6.2f} s", flush=True)
    table = {"all": shares([rank for some in ranks.values() for rank in some])}
    table |= {repo: shares(some) for repo, some in sorted(ranks.items())}
    print(f"\n{'':24}{'n':>4}{'@1':>8}{'@3':>8}{'@10':>8}")
    for name, row in table.items():
        print(f"{name:24}{row['n']:4.0f}{row['at1']:8.1%}{row['at3']:8.1%}{row['at10']:8.1%}")
    print(f"median {median(times):.2f} s per report, index warm")
    print(json.dumps(table))
    return 0


def judge(bug: Bug, changed: set[str], cache: Path) -> tuple[int, int, float]:
    """Return the rank of the first changed file (0: not among them), suspects, CPU seconds."""
    issue = load_issue(bug["issue"], open_nothing())
    open_index(Path(bug["base"]), cache).close()
    start = time.process_time()
    with open_index(Path(bug["base"]), cache) as index:
        files = rank_files(find_suspects(issue, index, limit=50))
    seconds = time.process_time() - start
    rank = next((at for at, path in enumerate(files, 1) if path in changed), 0)
    return rank, len(files), seconds


def shares(ranks: Sequence[int]) -> dict[str, float]:
    """Return how many there are, and the shares within rank 1, 3 and 10."""
    row = {"n": float(len(ranks))}
    for top in (1, 3, 10):
        row[f"at{top}"] = round(sum(1 for rank in ranks if 1 <= rank <= top) / len(ranks), 4)
    return row


def open_nothing() -> BytesIO:
    """Return the standard input of this bench: reports are files."""
    return BytesIO()


if __name__ == "__main__":
    raise SystemExit(main())
