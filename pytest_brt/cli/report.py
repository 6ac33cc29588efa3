"""``pytest-brt report DIR``: what was said in the dialogues of a recorded run."""

from __future__ import annotations

import argparse
from pathlib import Path

from pytest_brt.agent.trajectory import read_trajectories
from pytest_brt.errors import UsageProblem
from pytest_brt.render.dialogue import as_page, as_text, heading
from pytest_brt.shown import say
from pytest_brt.store import write_text


def set_up(parser: argparse.ArgumentParser) -> None:
    """Say what the command takes."""
    parser.description = (
        "Show the dialogues with a model that `--brt-record DIR` kept, those of "
        "interrupted runs too: one line each, or one of them step by step."
    )
    parser.add_argument("folder", metavar="DIR", help="folder written by --brt-record")
    parser.add_argument("name", metavar="NAME", nargs="*", help="a dialogue, as in agent-03")
    parser.add_argument("--html", metavar="FILE", help="write all of them as one HTML page")
    parser.add_argument("-v", "--verbose", action="store_true", help="leave nothing out")
    parser.set_defaults(command=_report)


def _report(arguments: argparse.Namespace) -> None:
    folder = Path(arguments.folder)
    names: list[str] = arguments.name
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
