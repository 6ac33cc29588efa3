"""``pytest-brt check TEST --issue FILE``: is this a bug test of the report, whoever wrote it?"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

from pytest_brt.cli.project import add_project_options, open_engine
from pytest_brt.codec import to_json
from pytest_brt.errors import UsageProblem
from pytest_brt.oracle.judge import examine
from pytest_brt.oracle.report_facts import ReportFacts, read_facts
from pytest_brt.report.load import load_issue
from pytest_brt.report.statements import read_report
from pytest_brt.reproduce.user_tests import each_test, load_targets
from pytest_brt.sandbox.run_tests import Runner
from pytest_brt.shown import on_a_line, say
from pytest_brt.types import Check, Examined

_ASKED = {
    Check.FAILS: "fails on this tree",
    Check.STEADY: "fails every time",
    Check.EQUIPPED: "can be run here",
    Check.AS_REPORTED: "fails for the reported reason",
    Check.HONEST: "expects something other than the bug",
}
_ANSWERS = {True: "yes", False: "no", None: "?"}


def set_up(parser: argparse.ArgumentParser) -> None:
    """Say what the command takes."""
    parser.description = (
        "Say whether a test, whoever wrote it, is a bug test for a report: it can be run here, "
        "fails every time, for the reported reason, and expects something other than the bug. "
        "Exit code 0: all of that, of each test; 1: not, or it cannot be told; 4: wrong use."
    )
    parser.add_argument(
        "tests", metavar="TEST", nargs="+", help="test file, or one of its tests as FILE::NAME"
    )
    parser.add_argument(
        "--issue", metavar="FILE", required=True, help="the bug report; '-' reads stdin"
    )
    parser.add_argument(
        "--repeat", metavar="N", type=int, default=3, help="runs of a failing test (default: 3)"
    )
    parser.add_argument("--json", action="store_true", help="print what was found as JSON")
    add_project_options(parser)
    parser.set_defaults(command=_check)


def _check(arguments: argparse.Namespace) -> int:
    issue = load_issue(arguments.issue, sys.stdin.buffer)
    facts = read_facts(read_report(issue))
    found: list[Examined] = []
    with closing(open_engine(arguments)) as engine:
        for given in arguments.tests:
            found += _examined(given, engine, facts, arguments)
    if arguments.json:
        say(to_json(found, indent=2))
    else:
        for examined in found:
            for line in _lines(examined, issue.source):
                say(on_a_line(line))
        if len(found) > 1:
            right = sum(examined.is_bug_test for examined in found)
            say(on_a_line(f"bug tests for {issue.source}: {right} of {len(found)}"))
    return 0 if all(examined.is_bug_test for examined in found) else 1


def _examined(
    given: str, engine: Runner, facts: ReportFacts, arguments: argparse.Namespace
) -> list[Examined]:
    """Return what was found of each test of a file, or of one of them.

    Raises:
        UsageProblem: there is no such test.
    """
    file, _, name = given.partition("::")
    root = Path(engine.subject.root)
    targets = load_targets([file], root, engine.subject.test_root, "check")
    found = []
    for test, runs in each_test(targets, engine, arguments.repeat):
        if not name or test.name.partition("[")[0] == name or test.name == name:
            findings = examine(test, runs, facts)
            good = all(finding.answer for finding in findings)
            called = f"{test.path}::{test.name}" if test.name else test.path
            found.append(Examined(test=called, findings=findings, is_bug_test=good))
    if not found:
        raise UsageProblem(f"check: no such test: {given!r}")
    return found


def _lines(examined: Examined, report: str) -> Iterator[str]:
    """Yield a test's name, a line per question, and what that comes to."""
    yield examined.test
    for one in examined.findings:
        said = one.said or ("not checked" if one.answer is None else "")
        yield f"  {_ANSWERS[one.answer]:4} {_ASKED[one.question]}{said and f': {said}'}"
    if examined.is_bug_test:
        yield f"  This is a bug test for {report}."
    elif any(one.answer is False for one in examined.findings):
        yield f"  This is not a bug test for {report}."
    else:
        yield f"  This may be a bug test for {report}: read it."
