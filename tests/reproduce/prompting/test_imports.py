"""The imports that a test for a report may need, and no others."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from pytest_brt.code.index import Index, open_index
from pytest_brt.execute.engine import Engine
from pytest_brt.issue.load import read_issue
from pytest_brt.issue.read import read_report
from pytest_brt.observe.watch import watch
from pytest_brt.reproduce.prompting.context import Hints, imports_of
from pytest_brt.types import Place

BARE = read_issue("# It is wrong\n\nIt is.", "issue.md")


@pytest.fixture(scope="module")
def index(engine: Engine) -> Iterator[Index]:
    with open_index(Path(engine.subject.root)) as opened:
        yield opened


def suspect(path: str, function: str, score: float = 1.0) -> Place:
    return Place(path=path, function=function, line=1, end_line=0, score=score)


def test_what_is_suspected_can_be_imported(engine: Engine, index: Index) -> None:
    places = (suspect("pkg/core.py", "Box.fill"), suspect("pkg/core.py", "render"))
    *found, last = imports_of(Hints(suspects=places), BARE, index, engine)
    assert (found, last) == (
        ["from pkg.core import Box", "from pkg.core import render"],
        "import pytest",
    )


def test_of_a_file_as_a_whole_it_is_the_module(engine: Engine, index: Index) -> None:
    *found, last = imports_of(Hints(suspects=(suspect("pkg/core.py", ""),)), BARE, index, engine)
    assert (found, last) == (["import pkg.core"], "import pytest")


def test_what_is_unlikely_or_of_other_files_is_noise(engine: Engine, index: Index) -> None:
    places = (
        suspect("pkg/core.py", "render"),
        suspect("pkg/core.py", "clean", 0.2),
        suspect("pkg/__init__.py", "", 0.9),
        suspect("pkg/__main__.py", "main", 0.9),
    )
    *found, last = imports_of(Hints(suspects=places), BARE, index, engine)
    assert (found, last) == (["from pkg.core import render"], "import pytest")


def test_a_class_that_the_report_can_do_without_is_left_out(engine: Engine, index: Index) -> None:
    text = "# It is wrong\n\n```python\nfrom pkg import double\ndouble(1)\n```\n"
    issue = read_issue(text, "issue.md")
    seen = watch(read_report(issue), engine).seen
    places = (suspect("pkg/core.py", "Box.fill"),)
    hints = Hints(seen=seen, suspects=places)
    *found, last = imports_of(hints, issue, index, engine)
    assert (found, last) == (["from pkg import double"], "import pytest")
    named = read_issue(text + "\nIt is in the Box.\n", "issue.md")
    *found, last = imports_of(hints, named, index, engine)
    assert (found, last) == (
        ["from pkg import double", "from pkg.core import Box"],
        "import pytest",
    )
