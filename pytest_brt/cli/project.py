"""The project that a command is about: how its code is run, and the engine for that."""

from __future__ import annotations

import argparse
from pathlib import Path

from pytest_brt.errors import UsageProblem
from pytest_brt.execute.subject import demand_project, find_subject
from pytest_brt.plugin.options import read_pair
from pytest_brt.sandbox.available import open_sandbox
from pytest_brt.sandbox.limits import Limits
from pytest_brt.sandbox.run_tests import Runner


def add_project_options(parser: argparse.ArgumentParser) -> None:
    """Add the options that say with which interpreter, in which sandbox, tests are run."""
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


def open_engine(arguments: argparse.Namespace) -> Runner:
    """Return an engine for the project at ``--root``; close it when done.

    Raises:
        BrtError: the project, its interpreter or the isolation cannot be had.
    """
    try:
        env = dict(map(read_pair, arguments.env))
    except ValueError as error:
        raise UsageProblem(f"--env: {error}, got {arguments.env!r}") from error
    root = Path(arguments.root).resolve()
    demand_project(root)
    sandbox = open_sandbox(arguments.sandbox, net=arguments.net, shown=arguments.show)
    subject = find_subject(root, python=arguments.python, env=env, sandbox=sandbox)
    return Runner(subject, sandbox, limits=Limits(seconds=arguments.timeout))
