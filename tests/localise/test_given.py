"""Places that a user names, and those whose words a report quotes."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from pytest_brt.errors import UsageProblem
from pytest_brt.localise.suspects import find_suspects, given_places
from pytest_brt.project.index import Index, open_index
from pytest_brt.report.load import read_issue
from tests.support.trees import write_tree

CORE = """\
def outer(value):
    if value > 3:
        return inner(value)
    return value


def inner(value):
    step = 2
    return value // (step - 2)
"""


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("places") / "project"
    write_tree(root, {"src/pkg/__init__.py": "", "src/pkg/core.py": CORE})
    return root


@pytest.fixture(scope="module")
def index(root: Path) -> Iterator[Index]:
    with open_index(root) as index:
        yield index


def test_given_places_are_checked(index: Index) -> None:
    (whole, lines) = given_places(["src/pkg/core.py", "./src/pkg/core.py:8-9"], index)
    assert (whole.function, whole.line, whole.end_line) == ("", 1, 0)
    assert (lines.function, lines.line, lines.end_line) == ("inner", 8, 9)
    for spec in (
        "src/pkg/none.py",
        "src/pkg/core.py:9-8",
        "src/pkg/core.py:999",
        "src/pkg/core.py:x",
    ):
        with pytest.raises(UsageProblem, match="--brt-buggy-file"):
            given_places([spec], index)


MORE = {
    "pkg/__init__.py": "",
    "pkg/say.py": (
        "def quiet(text):\n    return text\n\n\ndef loud(text):\n"
        "    raise ValueError('Malformed price tag %s' % text)\n"
    ),
}


@pytest.fixture
def more(tmp_path: Path) -> Iterator[Index]:
    write_tree(tmp_path, MORE)
    with open_index(tmp_path) as index:
        yield index


def test_what_says_what_the_report_quotes_comes_first(more: Index) -> None:
    text = "# It fails\n\n```\nin/prices.txt:4:Malformed price tag '[x]', sorry\n```\n"
    first = find_suspects(read_issue(text, "-"), more)[0]
    assert (first.path, first.function) == ("pkg/say.py", "loud")
    assert [clue.text for clue in first.clues] == ["shares Malformed, prices, tag with the report"]
