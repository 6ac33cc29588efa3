"""What tests show about revisions: which commit fixed a bug, and what a change's own tests prove.

A revision is the working tree with changes: nothing is checked out.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from enum import StrEnum

from pytest_brt.oracle.report_facts import ASSERTIONS
from pytest_brt.patches.changes import altered_tests
from pytest_brt.patches.git import History
from pytest_brt.project.layout import is_test_path
from pytest_brt.project.pytest_config import read_config
from pytest_brt.pysource.parse import decode
from pytest_brt.sandbox.placing import Test
from pytest_brt.sandbox.run_tests import Runner
from pytest_brt.types import CandidateTest, FileChange, Fix, TestRun, Verdict

_FINE = (Verdict.PASS, Verdict.SKIP, Verdict.XFAIL)


def find_fix(
    history: History, engine: Runner, test: CandidateTest, deadline: float
) -> Fix | None:
    """Return what made `test` pass, which does so on the working tree; None where none is found.

    It looks back along first parents, twice as far each time, for a revision on which the test
    does not pass, and then between the two; the last one must fail as the report says. Nothing new
    is tried after `deadline`, as `time.monotonic` counts. The working tree is left alone.

    Raises:
        UsageProblem: git cannot tell the history.
        SubjectProblem: the interpreter cannot be started at all.
    """
    commits = history.first_parents()
    line = [*commits]
    # The working tree comes before the first one.
    newer, older, shows = -1, len(line), False
    while older - newer > 1 and time.monotonic() < deadline:
        place = min(2 * newer + 2, (newer + older) // 2)
        run = engine.run([Test.of(test)], history.changes_to(line[place]))[0]
        if run.verdict is Verdict.PASS:
            newer = place
        else:
            older, shows = place, shows_bug(run, test)
    if not shows or older - newer > 1:
        return None
    if newer < 0:
        return Fix(text="fixed by what is not committed yet")
    text = f"fixed by {line[newer][:10]} ({commits[line[newer]]})"
    return Fix(text=text, commit=line[newer][:10])


def shows_bug(run: TestRun, test: CandidateTest) -> bool:
    """Return whether a run of the test shows the bug.

    A failure is the bug when it raises what the report shows, or where the test is about a value
    when its assertion fails. A test that is broken there, because what it uses is not written yet,
    says nothing.
    """
    wanted = {test.expects.name} if test.expects else ASSERTIONS
    raised = run.raised if run.verdict is Verdict.FAIL else None
    return raised is not None and raised.name in wanted


# -- the gate of a change -------------------------------------------------------------------------


class GateProof(StrEnum):
    """What an added or changed test shows."""

    #: Fails on the base, passes on the head: it shows what the change is for.
    PROVEN = "proven"
    #: Passes on both, at times at least: it would have passed without the change.
    PASSES_BEFORE = "passes-before"
    #: Cannot be run on the base: it uses what the change brings.
    UNTESTABLE = "untestable"
    FAILS_AFTER = "fails-after"


def changed_tests(history: History, base: str, head: str) -> Iterator[Test]:
    """Yield the test functions that `head` adds or changes, by file and in their order."""
    collected = read_config(history.root).collected
    old = {change.path: change.content for change in history.changes_to(base, head)}
    for change in history.changes_to(head, base):
        path = change.path
        if change.content is not None and collected.has_file(path):
            source = decode(change.content)
            for node in altered_tests(old.get(path), change.content, collected):
                yield Test(id=f"{path}::{node}", path=path, source=source, node=node)


def both_trees(history: History, base: str, head: str) -> list[tuple[FileChange, ...]]:
    """Return what makes the working tree that of the change, and that with all but tests undone."""
    with_it = history.changes_to(head)
    back = [c for c in history.changes_to(base, head) if not is_test_path(c.path)]
    return [with_it, tuple({change.path: change for change in (*with_it, *back)}.values())]


def gate(
    test: Test, trees: Sequence[tuple[FileChange, ...]], engine: Runner
) -> tuple[GateProof, TestRun]:
    """Run a test on both trees, twice where it proves something; return the run that shows it.

    Raises:
        SubjectProblem: the interpreter cannot be started at all.
    """
    for seed in (0, 1):
        after, before = (engine.run([test], tree, hash_seed=seed)[0] for tree in trees)
        proof = prove(before.verdict, after.verdict)
        if proof is not GateProof.PROVEN:
            break
    return proof, after if proof is GateProof.FAILS_AFTER else before


def prove(before: Verdict, after: Verdict) -> GateProof:
    """Return what the results of a test on both trees show."""
    if after not in _FINE:
        return GateProof.FAILS_AFTER
    if before is Verdict.FAIL and after is Verdict.PASS:
        return GateProof.PROVEN
    return GateProof.PASSES_BEFORE if before in _FINE else GateProof.UNTESTABLE
