"""A small project with one bug per oracle."""

from __future__ import annotations

from pathlib import Path

from pytest_brt.model.model import Model
from pytest_brt.model.replies import Replies
from pytest_brt.report.load import read_issue
from pytest_brt.report.statements import read_report
from pytest_brt.reproduce.strategy import Workbench
from pytest_brt.sandbox.run_tests import Runner
from pytest_brt.types.report import Reading
from tests.support.projects import open_on
from tests.support.trees import write_tree

CORE = '''\
import os

SETTINGS = {"step": 1}


def first(items, default=None):
    """Return the first of some items."""
    return items[0]


def double(x):
    return x + x + 1


def shout(text):
    print(text.upper() + "?")


def steps(n):
    return n * SETTINGS["step"]


def use(step):
    SETTINGS["step"] = step


def stop():
    os._exit(3)


class Box:
    def __init__(self, value):
        self.value = value

    def __repr__(self):
        return f"Box<{self.value}>"


def leave():
    raise SystemExit(1)
'''


def make_project(root: Path) -> Path:
    """Write the package `pkg` with a tests folder to `root`."""
    write_tree(
        root,
        {
            "pkg/__init__.py": "from .core import *\n",
            "pkg/core.py": CORE,
            "tests/test_old.py": "from pkg import double\n\n\ndef test_old():\n    double(1)\n",
        },
    )
    return root


def open_project(root: Path) -> Runner:
    """Return an engine for the project in `root`."""
    return open_on(make_project(root))


def reading_of(text: str) -> Reading:
    """Return what a report says."""
    return read_report(read_issue(text, "report.md"))


def bench_of(engine: Runner) -> Workbench:
    """Return all that an attempt needs that asks no model."""
    kept = Replies(None)
    model = Model(replies=kept, unfinished=kept)
    return Workbench(engine=engine, model=model, say=lambda _: None)
