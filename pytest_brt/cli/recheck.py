"""``pytest-brt recheck DIR``: run what a run kept again, and compare the verdicts."""

from __future__ import annotations

import argparse
from contextlib import closing
from pathlib import Path

from pytest_brt.errors import UsageProblem
from pytest_brt.execute.engine import Limits
from pytest_brt.execute.launch import open_sandbox
from pytest_brt.execute.local import LocalEngine
from pytest_brt.execute.subject import find_subject
from pytest_brt.plugin.option_values import pair
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
    parser.add_argument(
        "--python", metavar="PATH", help="interpreter (default: the project's own, as pytest's)"
    )
    parser.add_argument(
        "--env", metavar="NAME=VALUE", action="append", default=[], help="environment; repeatable"
    )
    parser.add_argument(
        "--timeout", metavar="SECONDS", type=float, default=60.0, help="of one test (default: 60)"
    )
    parser.add_argument("--sandbox", metavar="NAME", default="auto", help="isolation")
    parser.add_argument(
        "--show", metavar="DIR", action="append", default=[], help="folder to read; repeatable"
    )
    parser.add_argument("--net", choices=("none", "host"), default="none", help="default: none")
    parser.add_argument("-v", "--verbose", action="store_true", help="show also what is the same")
    parser.set_defaults(command=_recheck)


def _recheck(arguments: argparse.Namespace) -> int:
    try:
        env = dict(map(pair, arguments.env))
    except ValueError as error:
        raise UsageProblem(f"--env: {error}, got {arguments.env!r}") from error
    root = Path(arguments.root).resolve()
    sandbox = open_sandbox(arguments.sandbox, net=arguments.net, project=root, shown=arguments.show)
    subject = find_subject(root, python=arguments.python, env=env, sandbox=sandbox)
    same = changed = 0
    limits = Limits(seconds=arguments.timeout)
    with closing(LocalEngine(subject, sandbox, limits=limits)) as engine:
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
