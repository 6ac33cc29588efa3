"""``pytest-brt unmark``: removes the xfail marker from tests whose bug is fixed."""

from __future__ import annotations

import argparse
from contextlib import closing
from pathlib import Path

from pytest_brt.cli.project import add_project_options, open_engine
from pytest_brt.edit.add_tests import marked_tests, unmark
from pytest_brt.errors import UsageProblem
from pytest_brt.render.words import run_words
from pytest_brt.sandbox.placing import Test
from pytest_brt.sandbox.run_tests import Runner
from pytest_brt.shown import say
from pytest_brt.store import write_bytes
from pytest_brt.types import Verdict


def set_up(parser: argparse.ArgumentParser, _: str) -> None:
    """Say what the command takes."""
    parser.description = (
        "Run each test that is marked as strictly expected to fail, without the "
        "marker, and remove the marker from those that pass."
    )
    about = "test file, or one test in it"
    parser.add_argument("tests", nargs="+", metavar="FILE[::TEST]", help=about)
    add_project_options(parser)
    parser.set_defaults(command=_unmark)


def _unmark(arguments: argparse.Namespace) -> int:
    """Return 0 when every test named is unmarked now, 1 when one still fails."""
    root = Path(arguments.root).resolve()
    with closing(open_engine(arguments)) as engine:
        return max(_unmark_file(test, root, engine) for test in arguments.tests)


def _unmark_file(test: str, root: Path, engine: Runner) -> int:
    file, _, node = test.partition("::")
    path = (root / file).resolve()
    if not path.is_file() or not path.is_relative_to(root):
        raise UsageProblem(
            f"unmark: no such file in the project: {file!r} (name test files, not folders)"
        )
    place, before = path.relative_to(root).as_posix(), path.read_bytes()
    data, left = before, 0
    nodes = (node,) if node else marked_tests(place, data)
    if not nodes:
        say(f"{place}: no test is marked")
    for name in nodes:
        without = unmark(place, data, name)
        target = Test(id=name, path=place, source=without.decode(), node=name)
        run = engine.run([target])[0]
        if run.verdict is Verdict.PASS:
            data = without
            say(f"{place}::{name}: unmarked, it passes")
        else:
            left = 1
            say(f"{place}::{name}: still marked: {run_words(run)}", error=True)
    if data != before:
        write_bytes(path, data)
    return left
