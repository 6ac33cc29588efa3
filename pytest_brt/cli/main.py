"""``pytest-brt COMMAND``: one file of this package per command, or per family of them."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from typing import NoReturn

from pytest_brt import __version__
from pytest_brt.cli import bisect, bundle, front, last_run, models, recheck, report, unmark
from pytest_brt.errors import BrtError
from pytest_brt.shown import say


class _Parser(argparse.ArgumentParser):
    """Exits as pytest does when it is used wrongly."""

    def error(self, message: str) -> NoReturn:
        self.print_usage(sys.stderr)
        self.exit(4, f"{self.prog}: error: {message}\n")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code: pytest's own, or 4 for a usage error."""
    parser = _Parser(
        prog="pytest-brt",
        description="Failing tests from bug reports, and patches ranked by them.",
    )
    parser.add_argument("--version", action="version", version=f"pytest-brt {__version__}")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for family in (front, last_run, report, unmark, recheck, models, bundle, bisect):
        family.register(commands)
    known, rest = parser.parse_known_args(arguments)
    known.rest = rest
    if rest and not getattr(known, "takes_rest", False):
        parser.error(f"unrecognized arguments: {' '.join(rest)}")
    try:
        return int(known.command(known))
    except BrtError as error:
        say(f"pytest-brt: {error}", error=True)
        return 4
