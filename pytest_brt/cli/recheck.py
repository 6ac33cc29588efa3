"""``pytest-brt recheck DIR``: run what a run kept again, and compare the verdicts."""

from __future__ import annotations

import argparse
from contextlib import closing
from pathlib import Path

from pytest_brt.cli.project import add_project_options, open_engine
from pytest_brt.revisions.recheck import Comparison, recheck
from pytest_brt.shown import on_a_line, say


def set_up(parser: argparse.ArgumentParser) -> None:
    """Say what the command takes."""
    parser.description = (
        "Run the tests that `--brt-record DIR` kept again, on the project as it is and on each "
        "patch, and compare the verdicts. Exit code 0: all are the same; 1: some are not; 4: the "
        "folder cannot be read."
    )
    parser.add_argument("folder", metavar="DIR", help="folder written by --brt-record")
    add_project_options(parser)
    parser.add_argument("-v", "--verbose", action="store_true", help="show also what is the same")
    parser.set_defaults(command=_recheck)


def _recheck(arguments: argparse.Namespace) -> int:
    same = changed = 0
    with closing(open_engine(arguments)) as engine:
        for compared in recheck(Path(arguments.folder), engine):
            same += compared.same
            changed += not compared.same
            if arguments.verbose or not compared.same:
                say(on_a_line(_line(compared)))
        level = engine.level
    if not same + changed:
        say("nothing to compare: no test was recorded")
        return 1
    say(f"{changed} of {same + changed} verdicts changed (sandbox {level})")
    return 1 if changed else 0


def _line(compared: Comparison) -> str:
    where = compared.patch or "the unpatched tree"
    if not compared.test:
        return f"changed  {where}: applied then or applies now, not both"
    now = compared.now or "did not run"
    if compared.same:
        return f"same     {compared.test} on {where}: {now}"
    return f"changed  {compared.test} on {where}: {now}, not {compared.then}"
