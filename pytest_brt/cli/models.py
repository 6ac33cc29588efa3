"""``pytest-brt models``: what models there are here, and how good one of them is."""

from __future__ import annotations

import argparse
import time
import tomllib
from collections.abc import Iterator
from importlib.resources import files

from pytest_brt.errors import BrtError
from pytest_brt.model.child import engines
from pytest_brt.model.model import open_model
from pytest_brt.model.replies import Replies
from pytest_brt.model.request import Message, Request, Usage
from pytest_brt.model.spec import PORTS, gguf_files, read_spec
from pytest_brt.shown import say

_GB = 1e9


def set_up(parser: argparse.ArgumentParser) -> None:
    """Say what the command takes."""
    parser.description = (
        "Say which models there are on this machine, and ask each server for one token. With "
        "--measure SPEC, let a model write tests for ten made-up bugs and say how many are right."
    )
    parser.add_argument("--measure", metavar="SPEC", help="a model, as --brt-model takes it")
    parser.set_defaults(command=_models)


def _models(arguments: argparse.Namespace) -> None:
    if arguments.measure:
        from pytest_brt.cli.measure import measure  # runs the tool itself

        measure(arguments.measure)
        return
    known = gguf_files()
    no_files = "no GGUF files in the model folder (PYTEST_BRT_MODELS); or name one: gguf:FILE"
    say("models of files, for --brt-model gguf:NAME:" if known else no_files)
    for file in known:
        size = file.stat().st_size
        say(f"  {file.stem}: {size / _GB:.1f} GB; {file.parent}")
    have = ", ".join(engines())
    say(f"they are run by: {have or 'nothing yet: pip install ' + repr('pytest-brt[server]')}")
    say("\nservers on their usual ports:")
    for line in _servers():
        say(f"  {line}")
    say("\nworth having (facts of their makers; measure one here with --measure):")
    rows = tomllib.loads(files("pytest_brt.model").joinpath("catalogue.toml").read_text("utf-8"))
    for row in rows["model"]:
        say(f"  {row['tier']:<9} {row['name']}: {row['size']}; {row['licence']}")
        say(f"            {row['repository']} {row['file']}")


def _servers() -> Iterator[str]:
    """Yield a line for each usual server: which models it has, and whether one answers."""
    for scheme in PORTS:
        server = read_spec(f"{scheme}:").server
        try:
            names = list(server.models())
        except BrtError:
            yield f"{scheme}: none on port {server.port}"
            continue
        listed = ", ".join(f"{scheme}:{name}" for name in names)
        yield f"{listed or f'{scheme}: no models'} ({_one_token(f'{scheme}:{names[0]}')})"


def _one_token(text: str) -> str:
    """Return how long a model takes for one token, or why it has none."""
    usage = Usage(deadline=time.monotonic() + 120)
    model = open_model(read_spec(text), Replies(None)).paid_by(usage)
    try:
        model.text(Request(messages=(Message("user", "Say yes."),), max_tokens=1))
    except BrtError as problem:
        return str(problem)
    finally:
        model.close()
    return f"a token in {usage.cost.seconds:.1f} s"
