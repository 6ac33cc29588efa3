"""``pytest-brt schema``: the JSON schema of the report that ``--brt-report FILE.json`` writes."""

from __future__ import annotations

import argparse
from importlib.resources import files

from pytest_brt.shown import say


def set_up(parser: argparse.ArgumentParser) -> None:
    """Say what the command takes."""
    parser.description = "Print the JSON schema of what `--brt-report FILE.json` writes."
    parser.set_defaults(command=_schema)


def _schema(_arguments: argparse.Namespace) -> None:
    say(files("pytest_brt.render").joinpath("report.schema.json").read_text("utf-8").rstrip())
