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
from pytest_brt.report.load import load_issue
from pytest_brt.report.statements import read_report
from pytest_brt.reproduce.user_tests import each_test, load_targets
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


def set_up(parser: argparse.ArgumentParser, _: str) -> None:
    """Say what the command takes."""
    parser.description = (
        "Say whether a test, whoever wrote it, is a bug test for a report: it can be run here, "
        "fails every time, for the reported reason, and expects something other than the bug. "
        "Exit code 0: all of that, of each test; 1: not, or it cannot be told; 4: wrong use."
    )
    about = "test file, or one of its tests as FILE::NAME"
    parser.add_argument("tests", metavar="TEST", nargs="+", help=about)
    about = "the bug report; '-' reads stdin"
    parser.add_argument("--issue", metavar="FILE", required=True, help=about)
    about = "runs of a failing test (default: 3)"
    parser.add_argument("--repeat", metavar="N", type=int, default=3, help=about)
    parser.add_argument("--json", action="store_true", help="print what was found as JSON")
    add_project_options(parser)
    parser.set_defaults(command=_check)


def _check(arguments: argparse.Namespace) -> int:
    issue = load_issue(arguments.issue, sys.stdin.buffer)
    reading = read_report(issue)
    found: list[Examined] = []
    with closing(open_engine(arguments)) as engine:
        subject = engine.subject
        for given in arguments.tests:
            file, _, name = given.partition("::")
            targets = load_targets([file], Path(subject.root), subject.test_root, "check")
            mine = [
                Examined(test=f"{test.path}::{test.name}", findings=examine(test, runs, reading))
                for test, runs in each_test(targets, engine, arguments.repeat)
                if name in ("", test.name, test.name.partition("[")[0])
            ]
            if not mine:
                raise UsageProblem(f"check: no such test: {given!r}")
            found += mine
    right = sum(examined.is_bug_test for examined in found)
    if arguments.json:
        say(to_json(found, indent=2))
    else:
        for examined in found:
            say("\n".join(map(on_a_line, _lines(examined))))
        say(on_a_line(f"bug tests for {issue.source}: {right} of {len(found)}"))
    return int(right < len(found))


def _lines(examined: Examined) -> Iterator[str]:
    """Yield what a test is, and a line per question."""
    told = "a bug test" if examined.is_bug_test else "perhaps a bug test: read it"
    if any(one.answer is False for one in examined.findings):
        told = "not a bug test"
    yield f"{examined.test}: {told}"
    for one in examined.findings:
        said = one.said or ("not checked" if one.answer is None else "")
        yield f"  {_ANSWERS[one.answer]:4} {_ASKED[one.question]}{said and f': {said}'}"
