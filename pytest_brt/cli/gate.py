"""``pytest-brt gate A..B``: does a change bring a test that fails without it?"""

from __future__ import annotations

import argparse
from contextlib import closing
from pathlib import Path

from pytest_brt.cli.project import add_project_options, open_engine
from pytest_brt.errors import UsageProblem
from pytest_brt.patches.git import History
from pytest_brt.render.words import count, run_words
from pytest_brt.revisions import (
    GateProof,
    both_trees,
    changed_tests,
    gate,
    split_range,
)
from pytest_brt.sandbox.placing import Test
from pytest_brt.shown import on_a_line, say
from pytest_brt.types import TestRun

#: Exit code where the change adds or changes no test: pytest's own for no test.
_NO_TEST = 5
_DOES = {
    GateProof.PROVEN: "fails without the change and passes with it",
    GateProof.PASSES_BEFORE: "passes without the change",
    GateProof.UNTESTABLE: "cannot be run without the change",
    GateProof.FAILS_AFTER: "fails with the change",
}


def set_up(parser: argparse.ArgumentParser, _: str) -> None:
    """Say what the command takes."""
    parser.description = (
        "Run each test that a change adds or alters on the tree with the change, and on the same "
        "tree with the rest of the change taken back. Exit code 0: one fails without the change "
        "and passes with it, and none fails with it; 1: not; 5: no test is added or changed; 4: "
        "wrong use."
    )
    about = "the change, since B left A; B is checked out"
    parser.add_argument("range", metavar="A..B", help=about)
    add_project_options(parser)
    parser.set_defaults(command=_gate)


def _gate(arguments: argparse.Namespace) -> int:
    root = Path(arguments.root).resolve()
    history = History(root)
    base, head = (history.revision(name) for name in split_range(arguments.range))
    base = history.fork(base, head)
    tests = [*changed_tests(history, base, head)]
    if not tests:
        say("gate: no test is added or changed")
        return _NO_TEST
    for test in tests:
        if not (root / test.path).exists():
            advice = "(check out the end of the range first)"
            raise UsageProblem(f"gate: no such file here: {test.path!r} {advice}")
    with closing(open_engine(arguments)) as engine:
        trees = both_trees(history, base, head)
        proofs = [_say(test, *gate(test, trees, engine)) for test in tests]
    proven = proofs.count(GateProof.PROVEN)
    of = count(len(proofs), "changed test")
    say(f"gate: of {of}, {proven} {_DOES[GateProof.PROVEN]}")
    return 0 if proven and GateProof.FAILS_AFTER not in proofs else 1


def _say(test: Test, proof: GateProof, run: TestRun) -> GateProof:
    """Say what a test shows, by a run of it."""
    why = "" if proof is GateProof.PROVEN else f": {run.verdict}, {run_words(run)}"
    say(on_a_line(f"{test.path}::{test.node} {_DOES[proof]}{why}"))
    return proof
