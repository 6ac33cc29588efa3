"""How often a varied call tells patches apart of which none stands out, and which one is right.

    python bench/telling.py --data FOLDER --trees FILE --cache FOLDER [--seconds N] [--only TEXT]

The pools are those that `bench/ranking.py` left in `--cache`; `--data` and `--trees` are as for it.
Of each pool in which the verdict names several patches, right and wrong ones, up to three of either
kind are compared, as a ranking does it: by the calls of the bug tests, and by calls near them, for
`--seconds` at most. What the smallest call that tells them apart gives is set beside what it gives
with the true fix.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from ranking import FIX, Bug, Pool, engine_of, read_bugs

from pytest_brt.answers import answer_ranking
from pytest_brt.codec import from_json
from pytest_brt.patches import apply_patch
from pytest_brt.patches.problem import PatchProblem
from pytest_brt.rank.calls import Call
from pytest_brt.rank.telling import find_telling, outcomes
from pytest_brt.rank.weighted import rank_by_weight
from pytest_brt.render.values import telling_sentence
from pytest_brt.types import FileChange, NoLeader, Patch

#: Right patches of a tie that are compared, and wrong ones.
_OF_A_KIND = 3


def tied(pool: Pool) -> list[str]:
    """Return patches among which none stands out, right and wrong ones; [] for no such tie."""
    ranks = rank_by_weight(pool.patches(with_fix=False), pool.candidates())
    answer = answer_ranking(ranks)
    names = answer.patches if isinstance(answer, NoLeader) else ()
    right = [name for name in names if pool.labels[name]]
    wrong = [name for name in names if not pool.labels[name]]
    return [*right[:_OF_A_KIND], *wrong[:_OF_A_KIND]] if right and wrong else []


def changes_of(patch: Patch, root: Path) -> tuple[FileChange, ...]:
    """Return what a patch changes."""
    try:
        return apply_patch(patch, root).changes
    except PatchProblem:
        return ()


def look(pool: Pool, bug: Bug, names: Sequence[str], options: argparse.Namespace) -> str:
    """Print what tells patches apart; return "not told", or whose result the true fix gives."""
    engine = engine_of(bug, options)
    begin = time.monotonic()
    try:
        root = Path(engine.subject.root)
        every = {patch.name: changes_of(patch, root) for patch, _ in bug.patches}
        changes = {name: every[name] for name in names}
        found = find_telling(pool.candidates(), changes, engine, options.seconds)
        if found is None:
            print(f"{bug.instance}: not told, {time.monotonic() - begin:.1f} s", flush=True)
            return "not told"
        call = Call(setup=found.setup, expression=found.expression, prints=found.prints)
        fixed = outcomes([call], every[FIX], engine)[0]
    finally:
        engine.close()
    same = [given for given in found.gives if fixed == (given.text, given.raised)]
    kinds = {pool.labels[name] for given in same for name in given.patches}
    whose = {frozenset({True}): "right", frozenset({False}): "wrong", frozenset(): "neither"}
    said = whose.get(frozenset(kinds), "both")
    print(f"{bug.instance}: {said}, {time.monotonic() - begin:.1f} s: {telling_sentence(found)}")
    return said


def main(arguments: Sequence[str] | None = None) -> int:
    """Look at every pool and print what tells its leaders apart."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, required=True, help="folder of the data set")
    parser.add_argument("--trees", type=Path, required=True, help="where its trees are")
    parser.add_argument("--cache", type=Path, required=True, help="cache of bench/ranking.py")
    parser.add_argument("--seconds", type=float, default=10.0, help="seconds of one tie")
    parser.add_argument("--only", default="", help="bugs with TEXT in their names")
    parser.add_argument("--sandbox", default="auto", help="isolation, as --brt-sandbox")
    parser.set_defaults(jobs=1)
    options = parser.parse_args(arguments)
    pools, counts = 0, Counter[str]()
    for bug in read_bugs(options.data, options.trees, None):
        place = options.cache / f"{bug.instance}.json"
        if options.only not in bug.instance or not place.exists():
            continue
        pool = from_json(place.read_bytes(), Pool)
        pools += bool(pool.candidates())
        names = tied(pool)
        if names:
            counts[look(pool, bug, names, options)] += 1
    told = ", ".join(f"{many} {said}" for said, many in sorted(counts.items()))
    print(f"{pools} pools with a test; of {counts.total()} ties of right and wrong patches: {told}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
