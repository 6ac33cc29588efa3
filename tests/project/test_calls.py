from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from pytest_brt.project.index import Index, open_index
from pytest_brt.project.search import find_calls
from tests.support.trees import write_tree

FILES = {
    "pkg/__init__.py": "",
    "pkg/core.py": "def area_of(shape):\n    return shape.area()\n\n"
    "def helper():\n    return area_of(1) + area_of (\n        2)\n",
    "pkg/old.py": "def ancient():\n    print area_of(1), 'x'\n",
    "pkg/talk.py": "# area_of(1) is the area\n",
    "tests/test_core.py": "import pkg.core as c\n\ndef test_circle():\n    c.area_of(c.Circle())\n"
    "c.area_of(0)\n",
}


@pytest.fixture
def index(tmp_path: Path) -> Iterator[Index]:
    write_tree(tmp_path, FILES)
    with open_index(tmp_path) as opened:
        yield opened


def test_calls_of_the_product_come_first(index: Index) -> None:
    assert [(c.path, c.line, c.text, c.caller) for c in find_calls("area_of", index)] == [
        ("pkg/core.py", 5, "area_of(1)", "helper"),
        ("pkg/core.py", 5, "area_of ( 2)", "helper"),
        ("tests/test_core.py", 4, "c.area_of(c.Circle())", "test_circle"),
        ("tests/test_core.py", 5, "c.area_of(0)", ""),
    ]


def test_only_in_one_file_and_only_so_many(index: Index) -> None:
    calls = find_calls("area_of", index)
    assert find_calls("area_of", index, path="tests/test_core.py") == calls[2:]
    assert find_calls("area_of", index, limit=1) == calls[:1]
    assert find_calls("area_of", index, path="pkg/gone.py") == ()
    assert find_calls("perimeter", index) == ()
