"""``pytest-brt bisect TEST GOOD BAD``: the commit that made a test fail."""

from __future__ import annotations

import argparse
from contextlib import closing
from dataclasses import replace
from pathlib import Path

from pytest_brt.errors import UsageProblem
from pytest_brt.execute.engine import Limits, TestTarget
from pytest_brt.execute.launch import open_engine
from pytest_brt.execute.subject import find_subject
from pytest_brt.reproduce.given import read_target
from pytest_brt.revisions.bisect import Bisection, RevisionState, bisect
from pytest_brt.revisions.commits import History, Revision
from pytest_brt.shown import say


def set_up(parser: argparse.ArgumentParser) -> None:
    """Say what the command takes."""
    parser.description = (
        "Find the commit that made a test fail, along first parents. The test is put "
        "into each revision tried; where it cannot run, the revision is untestable, not bad. "
        "Nothing is checked out. Exit code 0: found; 1: not narrowed down to one; 4: wrong use."
    )
    parser.add_argument(
        "test", metavar="TEST", help="as in tests/test_a.py::test_b; the file may lie outside"
    )
    parser.add_argument("good", metavar="GOOD", help="a revision on which it passes")
    parser.add_argument("bad", metavar="BAD", help="a later revision on which it fails")
    parser.add_argument("--python", metavar="PATH", help="interpreter of the project")
    parser.add_argument("--timeout", metavar="SECONDS", type=float, default=60.0)
    parser.add_argument("--sandbox", metavar="NAME", default="auto", help="isolation")
    parser.set_defaults(command=_bisect)


def _bisect(arguments: argparse.Namespace) -> int:
    root = Path(arguments.root).resolve()
    history = History(root)
    good, bad = history.revision(arguments.good), history.revision(arguments.bad)
    subject = find_subject(root, python=arguments.python, env={}, sandbox=arguments.sandbox)
    target = _target(arguments.test, root, subject.test_root)
    limits = Limits(seconds=arguments.timeout)
    with closing(open_engine(subject, sandbox=arguments.sandbox, limits=limits)) as engine:
        return _tell(bisect(history, engine, target, good, bad, _say))


def _target(test: str, root: Path, test_root: str) -> TestTarget:
    """Return the test with the source of its file, placed where the file lies in the project."""
    name, _, node = test.partition("::")
    if not node:
        raise UsageProblem(f"bisect: one test is needed, as in 'test_a.py::test_b', got {test!r}")
    path = Path(name)
    file = path if path.is_absolute() or path.exists() else root / path
    return replace(read_target(file, root, test_root, "bisect"), node=node)


def _say(revision: Revision, state: RevisionState, reason: str) -> None:
    say(f"{state:<10} {revision.short} {revision.about}")
    if state is not RevisionState.GOOD:
        say(f"           {reason}")


def _tell(found: Bisection) -> int:
    if found.problem:
        say(f"not searched: {found.problem}")
        return 1
    if len(found.suspects) == 1:
        revision = found.suspects[0]
        say(f"first bad commit: {revision.sha} {revision.about}")
        return 0
    say("one of these made it fail; the test cannot be run on the others:")
    for revision in found.suspects:
        say(f"  {revision.short} {revision.about}")
    return 1
