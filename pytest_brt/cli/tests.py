"""``pytest-brt check``, ``gate`` and ``unmark``: what tests show that somebody wrote."""

from __future__ import annotations

import argparse
import sys
from contextlib import closing
from pathlib import Path

from pytest_brt.cli.run import add_options
from pytest_brt.codec import to_json
from pytest_brt.errors import UsageProblem
from pytest_brt.oracle.judge import examine
from pytest_brt.patches.git import History
from pytest_brt.plugin.inputs import open_project, python_file
from pytest_brt.plugin.options import read_options
from pytest_brt.render.forms import filled
from pytest_brt.report.load import load_issue
from pytest_brt.report.statements import read_report
from pytest_brt.reproduce.user_tests import each_test, load_targets
from pytest_brt.revisions import GateProof, both_trees, changed_tests, gate
from pytest_brt.sandbox.placing import Test
from pytest_brt.sandbox.run_tests import Runner
from pytest_brt.shown import on_a_line, say
from pytest_brt.store import write_bytes
from pytest_brt.types import Finding, Verdict
from pytest_brt.types.note import value
from pytest_brt.types.report import Reading

_ABOUT = {
    "check": (
        "Say whether a test, whoever wrote it, is a bug test for a report: it can be run here, "
        "fails every time, for the reported reason, and expects something other than the bug. "
        "Exit code 0: all of that, of each test; 1: not, or it cannot be told; 4: wrong use."
    ),
    "gate": (
        "Run each test that a change adds or alters on the tree with the change, and on the same "
        "tree with the rest of the change taken back. Exit code 0: one fails without the change "
        "and passes with it, and none fails with it; 1: not; 5: no test is added or changed; 4: "
        "wrong use."
    ),
    "unmark": (
        "Run each test that is marked as strictly expected to fail, without the marker, and "
        "remove the marker from those that pass."
    ),
}
#: Runs of a test that is checked.
_REPEAT = 3
#: Exit code where a change adds or changes no test: pytest's own for no test.
_NO_TEST = 5
_DOES = {
    GateProof.PROVEN: "fails without the change and passes with it",
    GateProof.PASSES_BEFORE: "passes without the change",
    GateProof.UNTESTABLE: "cannot be run without the change",
    GateProof.FAILS_AFTER: "fails with the change",
}


@value
class Examined:
    """A test, and what was found of it."""

    #: As pytest calls it.
    test: str
    findings: tuple[Finding, ...]

    @property
    def is_bug_test(self) -> bool:
        """Whether it is a bug test of the report: all answers are yes."""
        return all(one.answer for one in self.findings)


def set_up(parser: argparse.ArgumentParser, name: str) -> None:
    """Say what a command takes."""
    parser.description = _ABOUT[name]
    if name == "gate":
        about = "the change, since B left A"
        parser.add_argument("range", metavar="A..B", help=about)
    else:
        about = "test file, or one of its tests as FILE::NAME"
        parser.add_argument("tests", metavar="TEST", nargs="+", help=about)
    if name == "check":
        about = "the bug report; '-' reads stdin"
        parser.add_argument("--issue", metavar="FILE", required=True, help=about)
        parser.add_argument(
            "--json", action="store_true", help="print what was found as JSON"
        )
    add_options(parser, "python", "env", "timeout", "sandbox", "show", "net")
    parser.set_defaults(
        command=_run, work={"check": _check, "gate": _gate, "unmark": _unmark}[name]
    )


def _run(arguments: argparse.Namespace) -> int:
    root = Path(arguments.root).resolve()
    with closing(open_project(root, read_options(arguments, root))) as engine:
        code: int = arguments.work(arguments, root, engine)
        return code


def _check(arguments: argparse.Namespace, root: Path, engine: Runner) -> int:
    """Hold tests against a report; return 0 where each is a bug test of it."""
    issue = load_issue(arguments.issue, sys.stdin.buffer)
    reading = read_report(issue)
    found = [
        one for given in arguments.tests for one in _examined(given, root, engine, reading)
    ]
    right = sum(one.is_bug_test for one in found)
    if arguments.json:
        say(to_json(found, indent=2))
    else:
        words = filled("check.txt.jinja", found=found, right=right, source=issue.source)
        say(words.rstrip())
    return int(right < len(found))


def _examined(given: str, root: Path, engine: Runner, reading: Reading) -> list[Examined]:
    """Return what is found of the tests that are given as FILE, or as FILE::NAME."""
    file, _, name = given.partition("::")
    targets = load_targets([file], root, engine.subject.test_root, "check")
    found = [
        Examined(test=f"{test.path}::{test.name}", findings=examine(test, runs, reading))
        for test, runs in each_test(targets, engine, _REPEAT)
        if name in ("", test.name, test.name.partition("[")[0])
    ]
    if not found:
        raise UsageProblem(f"check: no such test: {given!r}")
    return found


def _gate(arguments: argparse.Namespace, root: Path, engine: Runner) -> int:
    """Return 0 where a change brings a test that fails without it, and none that fails with it."""
    history = History(root)
    base, head = history.ends(arguments.range)
    trees, proofs = both_trees(history, base, head), []
    for test in changed_tests(history, base, head):
        proof, run = gate(test, trees, engine)
        is_clear = proof in (GateProof.PROVEN, GateProof.PASSES_BEFORE)
        why = "" if is_clear else f": {run.verdict}, {run.cause.text}"
        say(on_a_line(f"{test.path}::{test.node} {_DOES[proof]}{why}"))
        proofs.append(proof)
    if not proofs:
        say("gate: no test is added or changed")
        return _NO_TEST
    proven = proofs.count(GateProof.PROVEN)
    what = "changed tests that fail without the change and pass with it"
    say(f"gate: {what}: {proven} of {len(proofs)}")
    return 0 if proven and GateProof.FAILS_AFTER not in proofs else 1


def _unmark(arguments: argparse.Namespace, root: Path, engine: Runner) -> int:
    """Return 0 where every test named is unmarked now."""
    from pytest_brt.edit.add_tests import marked_tests, unmark  # libcst takes half a second

    code = 0
    for test in arguments.tests:
        file, _, node = test.partition("::")
        place = python_file("unmark", file, root)
        data = (root / place).read_bytes()
        names = (node,) if node else marked_tests(place, data)
        if not names:
            say(f"{place}: no test is marked")
        for name in names:
            without = unmark(place, data, name)
            target = Test(id=name, path=place, source=without.decode(), node=name)
            run = engine.run([target])[0]
            if run.verdict is Verdict.PASS:
                data = without
                write_bytes(root / place, data)
                say(f"{place}::{name}: unmarked, it passes")
            else:
                code = 1
                say(f"{place}::{name}: still marked: {run.cause.text}", error=True)
    return code
