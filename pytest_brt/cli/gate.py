"""``pytest-brt gate A..B``: does a change bring a test that fails without it?"""

from __future__ import annotations

import argparse
from contextlib import closing
from pathlib import Path

from pytest_brt.cli.project import add_project_options, open_engine
from pytest_brt.errors import UsageProblem
from pytest_brt.patches.history import History
from pytest_brt.render.causes import run_words
from pytest_brt.render.words import count
from pytest_brt.revisions.gate import Gate, Gated, GateProof, changed_tests, split_range
from pytest_brt.sandbox.placing import Test
from pytest_brt.shown import on_a_line, say

#: Exit code where the change adds or changes no test: pytest's own for no test.
_NO_TEST = 5
_DOES = {
    GateProof.PROVEN: "fails without the change and passes with it",
    GateProof.PASSES_BEFORE: "passes without the change",
    GateProof.UNTESTABLE: "cannot be run without the change",
    GateProof.UNSTABLE: "does not always fail without the change",
    GateProof.FAILS_AFTER: "fails with the change",
}


def set_up(parser: argparse.ArgumentParser) -> None:
    """Say what the command takes."""
    parser.description = (
        "Run each test that a change adds or alters on the tree with the change, and on the same "
        "tree with the rest of the change taken back. Exit code 0: one fails without the change "
        "and passes with it, and none fails with it; 1: not; 5: no test is added or changed; 4: "
        "wrong use."
    )
    parser.add_argument(
        "range", metavar="A..B", help="the change, since B left A; B is checked out"
    )
    add_project_options(parser)
    parser.set_defaults(command=_gate)


def _gate(arguments: argparse.Namespace) -> int:
    root = Path(arguments.root).resolve()
    history = History(root)
    base, head = (history.revision(name) for name in split_range(arguments.range))
    base = history.fork(base, head)
    tests = changed_tests(history, base, head)
    if not tests:
        say("gate: no test is added or changed")
        return _NO_TEST
    missing = [test.path for test in tests if not (root / test.path).exists()]
    if missing:
        raise UsageProblem(
            f"gate: no such file in the working tree: {missing[0]!r} "
            f"(check out {split_range(arguments.range)[1]} first)"
        )
    with closing(open_engine(arguments)) as engine:
        gate = Gate(history, engine, base, head)
        found = [_look(gate, test) for test in tests]
    proofs = [gated.proof for gated in found]
    proven = proofs.count(GateProof.PROVEN)
    if proven == len(proofs) == 1:
        say(f"gate: the changed test {_DOES[GateProof.PROVEN]}")
    else:
        of = count(len(proofs), "changed test")
        say(f"gate: of {of}, {proven} fail without the change and pass with it")
    return 0 if proven and GateProof.FAILS_AFTER not in proofs else 1


def _look(gate: Gate, test: Test) -> Gated:
    """Run a test on both trees, and say what it does."""
    gated = gate.look(test)
    run = gated.after if gated.proof is GateProof.FAILS_AFTER else gated.before
    why = "" if gated.proof is GateProof.PROVEN else f": {run.verdict}, {run_words(run)}"
    say(on_a_line(f"{test.path}::{test.node} {_DOES[gated.proof]}{why}"))
    return gated
