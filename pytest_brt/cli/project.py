"""The project that a command is about: how its code is run, and the engine for that."""

from __future__ import annotations

import argparse
from pathlib import Path

from pytest_brt.errors import UsageProblem
from pytest_brt.plugin.option_list import MORE_OPTIONS, OPTIONS, REPEATED
from pytest_brt.plugin.options import read_pair, read_seconds
from pytest_brt.sandbox.available import open_sandbox
from pytest_brt.sandbox.limits import Limits
from pytest_brt.sandbox.run_tests import Runner
from pytest_brt.subject import demand_project, find_subject

#: The options that say with which interpreter, in which sandbox, tests are run.
_OPTIONS = ("python", "env", "timeout", "sandbox", "show", "net")


def add_project_options(parser: argparse.ArgumentParser) -> None:
    """Add the options that say with which interpreter, in which sandbox, tests are run."""
    for flag, _, metavar, kind, default, text in (*OPTIONS, *MORE_OPTIONS):
        name = flag.removeprefix("--brt-")
        if name in _OPTIONS:
            action = "append" if kind in REPEATED else "store"
            parser.add_argument(
                f"--{name}", metavar=metavar, action=action, default=default, help=text
            )


def open_engine(arguments: argparse.Namespace) -> Runner:
    """Return an engine for the project at ``--root``; close it when done.

    Raises:
        BrtError: the project, its interpreter or the isolation cannot be had.
    """
    try:
        env = dict(map(read_pair, arguments.env or ()))
        limits = Limits(seconds=read_seconds(arguments.timeout))
    except ValueError as error:
        given = f"--env {arguments.env}, --timeout {arguments.timeout}"
        raise UsageProblem(f"{error}, got {given}") from error
    root = Path(arguments.root).resolve()
    demand_project(root)
    sandbox = open_sandbox(arguments.sandbox, net=arguments.net, shown=arguments.show or ())
    subject = find_subject(root, python=arguments.python, env=env, sandbox=sandbox)
    return Runner(subject, sandbox, limits=limits)
