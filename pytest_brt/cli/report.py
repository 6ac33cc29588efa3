"""``pytest-brt report DIR``: what was said in the dialogues of a recorded run.

``pytest-brt report A B``, with the results of two studies, says what changed between them.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from pytest_brt.agent.trajectory import read_trajectories
from pytest_brt.errors import UsageProblem
from pytest_brt.evaluate.comparison import compare_studies
from pytest_brt.evaluate.forms import as_text as table_text
from pytest_brt.evaluate.write import NAME, read_study
from pytest_brt.render.dialogue import as_page, as_text, heading
from pytest_brt.shown import say
from pytest_brt.store import write_text


def set_up(parser: argparse.ArgumentParser) -> None:
    """Say what the command takes."""
    parser.description = (
        "Show the dialogues with a model that `--brt-record DIR` kept, those of "
        "interrupted runs too: one line each, or one of them step by step. With the results of "
        "two studies (`pytest-brt study`), say what changed between them."
    )
    parser.add_argument(
        "folder", metavar="DIR", help="folder written by --brt-record, or by a study"
    )
    parser.add_argument(
        "name", metavar="NAME", nargs="*", help="a dialogue, as in agent-03, or another study"
    )
    parser.add_argument("--html", metavar="FILE", help="write all of them as one HTML page")
    parser.add_argument("-v", "--verbose", action="store_true", help="leave nothing out")
    parser.set_defaults(command=_report)


def _report(arguments: argparse.Namespace) -> None:
    folder = Path(arguments.folder)
    names: list[str] = arguments.name
    if names and (folder / NAME).is_file():
        if len(names) > 1:
            what = "two studies are compared at a time (give the folders of two)"
            raise UsageProblem(f"report: {what}")
        for table in compare_studies(read_study(folder), read_study(Path(names[0]))):
            say("\n".join(table_text(table)))
        return
    found = read_trajectories(folder)
    if not found:
        raise UsageProblem(
            f"no dialogue in {arguments.folder!r} (name the folder that a run with a model was "
            "given with --brt-record)"
        )
    if arguments.html:
        write_text(Path(arguments.html), as_page(found))
        say(f"{len(found)} dialogues: {arguments.html}")
        return
    chosen = [told for told in found if not names or told.name in names]
    if not chosen:
        known = ", ".join(told.name for told in found)
        raise UsageProblem(f"no dialogue is called {names[0]!r} (there are: {known})")
    if len(chosen) == 1:
        say("\n".join(as_text(chosen[0], whole=arguments.verbose)))
        return
    for told in chosen:
        last = heading(told.steps[-1]) if told.steps else "nothing"
        say(f"{told.name}: {len(told.steps)} steps, {told.ended}; last: {last}")
    say(f"one of them: pytest-brt report {arguments.folder} {chosen[0].name}")
