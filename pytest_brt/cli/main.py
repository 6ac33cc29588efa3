"""``pytest-brt COMMAND``: one file of this package per command, or per family of them."""

from __future__ import annotations

import argparse
import importlib
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

from pytest_brt import __version__
from pytest_brt.errors import BrtError
from pytest_brt.project.pytest_config import find_project
from pytest_brt.shown import say

#: Command → the file that has it, which is imported for that command alone, and what it does.
_COMMANDS = {
    "demo": ("run", "show what comes out, on a small example"),
    "issue": ("run", "write failing tests for bug reports"),
    "rank": ("run", "rank patches"),
    "repair": ("run", "write patches for a bug report, with a model"),
    "check": ("tests", "say whether a test is a bug test of a report, whoever wrote it"),
    "review": ("review", "accept or reject the bug tests of the last run"),
    "gate": ("tests", "say whether a change brings a test that fails without it"),
    "unmark": ("tests", "remove the xfail marker from tests whose bug is fixed"),
    "models": ("models", "say which models there are, and measure one"),
}
#: The exit code of a program that a closed pipe ends, as shells give it.
_PIPE_CLOSED = 141
#: As pytest ends where it is interrupted.
_INTERRUPTED = 2


class _Parser(argparse.ArgumentParser):
    """Exits as pytest does when it is used wrongly."""

    def error(self, message: str) -> NoReturn:
        self.print_usage(sys.stderr)
        self.exit(4, f"{self.prog}: error: {message}\n")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code: pytest's own, or 4 for a usage error."""
    words = sys.argv[1:] if arguments is None else arguments
    about = "Failing tests from bug reports, and patches ranked by them."
    parser = _Parser(prog="pytest-brt", description=about)
    parser.add_argument("--version", action="version", version=f"pytest-brt {__version__}")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for name, (file, what) in _COMMANDS.items():
        about = f"{what.capitalize()}."
        command = commands.add_parser(
            name, help=what, description=about, allow_abbrev=False
        )
        if name in words:
            command.add_argument(
                "--root", help="the project (default: that of this folder)"
            )
            importlib.import_module(f"pytest_brt.cli.{file}").set_up(command, name)
    known, rest = parser.parse_known_args(words)
    known.rest, known.root = rest, known.root or str(find_project(Path.cwd()))
    if rest and "rank_fixes" not in known:
        parser.error(f"unrecognized arguments: {' '.join(rest)}")
    try:
        return known.command(known) or 0
    except BrtError as error:
        say(f"pytest-brt: {error}", error=True)
        return 4
    except KeyboardInterrupt:
        return _INTERRUPTED
    except BrokenPipeError:
        # Whoever read the output has seen enough, as `head` does. Python would flush once more.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return _PIPE_CLOSED
