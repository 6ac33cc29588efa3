"""``pytest-brt COMMAND``: one file of this package per command, or per family of them."""

from __future__ import annotations

import argparse
import importlib
import os
import sys
from collections.abc import Sequence
from typing import NoReturn

from pytest_brt import __version__
from pytest_brt.errors import BrtError
from pytest_brt.shown import say

#: Command → the file that has it, which is imported for that command alone, and what it does.
_COMMANDS = {
    "demo": ("demo", "show what comes out, on a small example"),
    "issue": ("run_pytest", "write failing tests for bug reports"),
    "rank": ("run_pytest", "rank patches"),
    "repair": ("run_pytest", "write patches for a bug report, with a model"),
    "check": ("check", "say whether a test is a bug test of a report, whoever wrote it"),
    "review": ("review", "accept, reject or edit the bug tests of the last run"),
    "gate": ("gate", "say whether a change brings a test that fails without it"),
    "unmark": ("unmark", "remove the xfail marker from tests whose bug is fixed"),
    "models": ("models", "say which models there are"),
}
#: The exit code of a program that a closed pipe ends, as shells give it.
_PIPE_CLOSED = 141
#: Commands that are not about a project.
_ALONE = ("demo", "models")


class _Parser(argparse.ArgumentParser):
    """Exits as pytest does when it is used wrongly."""

    def error(self, message: str) -> NoReturn:
        self.print_usage(sys.stderr)
        self.exit(4, f"{self.prog}: error: {message}\n")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code: pytest's own, or 4 for a usage error."""
    words = sys.argv[1:] if arguments is None else list(arguments)
    parser = _Parser(
        prog="pytest-brt", description="Failing tests from bug reports, and patches ranked by them."
    )
    parser.add_argument("--version", action="version", version=f"pytest-brt {__version__}")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    chosen = next((word for word in words if word in _COMMANDS), "")
    for name, (file, what) in _COMMANDS.items():
        about = f"{what[0].upper()}{what[1:]}."
        command = commands.add_parser(name, help=what, description=about)
        if name == chosen:
            command.set_defaults(typed=name)
            if name not in _ALONE:
                command.add_argument(
                    "--root", metavar="DIR", default=".", help="the project (default: this folder)"
                )
            importlib.import_module(f"pytest_brt.cli.{file}").set_up(command)
    known, rest = parser.parse_known_args(words)
    known.rest = rest
    if rest and not getattr(known, "takes_rest", False):
        parser.error(f"unrecognized arguments: {' '.join(rest)}")
    try:
        return known.command(known) or 0
    except BrtError as error:
        say(f"pytest-brt: {error}", error=True)
        return 4
    except BrokenPipeError:
        # Whoever read the output has seen enough, as `head` does. Python would flush once more.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return _PIPE_CLOSED
