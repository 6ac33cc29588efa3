"""Does a change bring a test that fails without it? For continuous integration."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum

from pytest_brt.errors import UsageProblem
from pytest_brt.guard.suite import altered_tests
from pytest_brt.patches.history import History, Revision
from pytest_brt.project.layout import is_test_path
from pytest_brt.project.pytest_config import read_config
from pytest_brt.sandbox.placing import Test
from pytest_brt.sandbox.run_tests import Runner
from pytest_brt.types import TestRun, Verdict


class GateProof(StrEnum):
    """What an added or changed test shows."""

    #: Fails on the base, passes on the head: it shows what the change is for.
    PROVEN = "proven"
    #: Passes on both: it would have passed without the change.
    PASSES_BEFORE = "passes-before"
    #: Cannot be run on the base: it uses what the change brings.
    UNTESTABLE = "untestable"
    #: Fails on the base at times only: it says nothing about the change.
    UNSTABLE = "unstable"
    FAILS_AFTER = "fails-after"


@dataclass(frozen=True, slots=True, kw_only=True)
class Gated:
    """What a changed test did on both trees."""

    proof: GateProof
    before: TestRun
    after: TestRun


def split_range(text: str) -> tuple[str, str]:
    """Return both ends of BASE..HEAD; HEAD is the commit that is checked out when left out.

    Three dots mean the same: what is looked at is always HEAD against where it left BASE.

    Raises:
        UsageProblem: there is no base.

    >>> split_range("main..fix"), split_range("main..")
    (('main', 'fix'), ('main', 'HEAD'))
    """
    base, dots, head = text.replace("...", "..", 1).partition("..")
    if not dots or not base or head.startswith("."):
        raise UsageProblem(f"gate: expected BASE..HEAD, got {text!r}")
    return base, head or "HEAD"


def changed_tests(history: History, base: Revision, head: Revision) -> tuple[Test, ...]:
    """Return the test functions that `head` adds or changes, by file and in their order."""
    found = []
    collected = read_config(history.root).collected
    for change in history.changes_to(base, head):
        text = history.text(head, change.path) if collected.has_file(change.path) else None
        if text is None:
            continue
        before = None if change.content is None else change.content.decode("utf-8", "replace")
        found += [
            Test(id=test.name, path=change.path, source=text, node=test.node)
            for test in altered_tests(change.path, before, text, collected)
        ]
    return tuple(found)


class Gate:
    """Runs changed tests on the head, and on the head with all but its tests undone."""

    def __init__(self, history: History, engine: Runner, base: Revision, head: Revision) -> None:
        """Read both trees."""
        self._engine = engine
        self._head = history.changes_to(head)
        back = [c for c in history.changes_to(base, head) if not is_test_path(c.path)]
        undone = {change.path: change for change in (*self._head, *back)}
        self._base = tuple(undone.values())

    def look(self, test: Test) -> Gated:
        """Run one test on both trees, twice where it proves something: it must do so each time.

        Raises:
            SubjectProblem: the interpreter cannot be started at all.
        """
        found = self._once(test, 0)
        if found.proof is not GateProof.PROVEN:
            return found
        again = self._once(test, 1)
        is_same = again.proof in (GateProof.PROVEN, GateProof.FAILS_AFTER)
        return again if is_same else replace(again, proof=GateProof.UNSTABLE)

    def _once(self, test: Test, seed: int) -> Gated:
        after, before = (
            self._engine.run([test], changes, hash_seed=seed)[0]
            for changes in (self._head, self._base)
        )
        return Gated(proof=prove(before, after), before=before, after=after)


def prove(before: TestRun, after: TestRun) -> GateProof:
    """Return what the runs of a test on both trees show."""
    fine = (Verdict.PASS, Verdict.SKIP, Verdict.XFAIL)
    if after.verdict not in fine:
        return GateProof.FAILS_AFTER
    if before.verdict is Verdict.FAIL and after.verdict is Verdict.PASS:
        return GateProof.PROVEN
    return GateProof.PASSES_BEFORE if before.verdict in fine else GateProof.UNTESTABLE
