"""``pytest-brt models``: what models there are here, and how good one of them is."""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
import tomllib
from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path

from pytest_brt import __version__
from pytest_brt.cli.run import write_files
from pytest_brt.codec import from_json
from pytest_brt.errors import BrtError, ModelProblem
from pytest_brt.model.child import engines
from pytest_brt.model.model import open_model
from pytest_brt.model.replies import Replies
from pytest_brt.model.request import Message, Request
from pytest_brt.model.spec import PORTS, gguf_files, read_spec
from pytest_brt.render.report import Report
from pytest_brt.shown import say
from pytest_brt.types import Verdict

#: The bugs on which a model is measured; "fix.diff" is what makes each right, which no model sees.
_BUGS = Path(__file__).parent / "bugs.txt"
_GB = 1e9


def set_up(parser: argparse.ArgumentParser, _: str) -> None:
    """Say what the command takes."""
    parser.description = (
        "Say which models there are on this machine, and ask each server for one token. With "
        "--measure SPEC, let a model write tests for ten made-up bugs and say how many are right."
    )
    parser.add_argument(
        "--measure", metavar="SPEC", help="a model, as --brt-model takes it"
    )
    parser.set_defaults(command=_models)


def _models(arguments: argparse.Namespace) -> None:
    for line in _measured(arguments.measure) if arguments.measure else _found():
        say(line)


def _found() -> Iterator[str]:
    known = gguf_files()
    no_files = (
        "no GGUF files in the model folder (PYTEST_BRT_MODELS); or name one: gguf:FILE"
    )
    yield "models of files, for --brt-model gguf:NAME:" if known else no_files
    for file in known:
        yield f"  {file.stem}: {file.stat().st_size / _GB:.1f} GB; {file.parent}"
    have = ", ".join(engines()) or "nothing yet: pip install 'pytest-brt[server]'"
    yield f"they are run by: {have}"
    yield "\nservers on their usual ports:"
    for scheme in PORTS:
        server = read_spec(f"{scheme}:").server
        try:
            names = [f"{scheme}:{name}" for name in server.models()]
            yield f"  {', '.join(names)} ({_one_token(names[0])})"
        except (BrtError, IndexError):
            yield f"  {scheme}: no model on port {server.port}"
    yield "\nworth having (facts of their makers; measure one here with --measure):"
    rows = tomllib.loads(
        files("pytest_brt.model").joinpath("catalogue.toml").read_text("utf-8")
    )
    for row in rows["model"]:
        yield f"  {row['tier']:<9} {row['name']}: {row['size']}; {row['licence']}"
        yield f"            {row['repository']} {row['file']}"


def _one_token(text: str) -> str:
    """Return how long a model takes for one token, or why it has none."""
    model = open_model(read_spec(text), Replies(None))
    model.usage.deadline = time.monotonic() + 120
    try:
        model.text(Request(messages=(Message("user", "Say yes."),), max_tokens=1))
    except BrtError as problem:
        return str(problem)
    return f"a token in {model.usage.cost.seconds:.1f} s"


def _measured(spec: str) -> Iterator[str]:
    """Let a model write tests for ten bugs, and yield how many of the first ones are right.

    Raises:
        BrtError: there is no such model.
    """
    name = read_spec(spec).text
    right = tokens = 0
    begin = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="pytest-brt-measure-") as folder:
        paths = write_files(_BUGS, Path(folder))
        bugs = dict.fromkeys(path.partition("/")[0] for path in paths)
        for bug in bugs:
            is_right, spent = _try(Path(folder) / bug, spec)
            right += is_right
            tokens += spent
            yield f"{bug}: {'right' if is_right else 'not right'}, {spent:,} tokens"
    seconds = f"{time.monotonic() - begin:.0f} s (pytest-brt {__version__})"
    yield f"\n{name}: {right} of {len(bugs)} right first, {tokens:,} tokens, {seconds}"


def _try(folder: Path, spec: str) -> tuple[bool, int]:
    """Return whether the first test for a bug fails on it and passes with its fix, and its cost."""
    options = ("--rank=fix.diff", f"--model={spec}", "--report=report.json", "--write=no")
    command = [sys.executable, "-P", "-m", "pytest_brt", "issue", "issue.md", *options]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    path = folder / "report.json"
    if not path.exists():  # the run could not begin, as without any sandbox
        raise ModelProblem(f"not measured: {done.stderr.strip()}")
    report = from_json(path.read_bytes(), Report)
    costs = [attempt.cost for attempt in report.issues[0].attempts]
    cells = [cell for ranking in report.rankings for cell in ranking.patches[0].cells]
    passed = {cell.test for cell in cells if cell.verdict is Verdict.PASS}
    is_right = any(test.id in passed for test in report.tests[:1])
    return is_right, sum(cost.prompt_tokens + cost.tokens for cost in costs)
