from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from pytest_brt.project.index import Index, open_index
from pytest_brt.project.terms import terms_of
from tests.support.trees import write_tree

FILES = {
    "pkg/__init__.py": "from .core import *\nfrom .shapes import Circle\n__version__ = '1'\n",
    "pkg/core.py": "import math\nfrom json import dumps as _dumps\n\n"
    "def area_of(shape):\n    return math.floor(shape.area())\n\n"
    "def helper():\n    import json as _inside\n\n    return area_of(1)\n",
    "pkg/shapes.py": "from .core import helper\n\nclass Circle:\n"
    "    '''Round things: radius and circumference.'''\n\n"
    "    def area(self):\n        return helper()\n",
    "pkg/deep/__init__.py": "",
    "pkg/deep/more.py": "def helper(): ...\ndef only_here(): ...\n",
    "pkg/old.py": "def ancient():\n    print 'x'\n",
    "tests/test_core.py": "from pkg import (\n    Circle,  # round\n    old,\n)\n"
    "import pkg.core \\\n    as c\n\ndef helper(): ...\n\n"
    "def test_circle():\n    from json import loads as _deep\n\n    assert c.area_of(Circle())\n",
    "tests/test_talk.py": """'''import of the data\n\nimport this, and that.\n'''\n"""
    "from math import tau as turn\n\ndef half():\n    from math import pi as half_turn\n",
    "build/lib/pkg/core.py": "def area_of(): ...",
    ".venv/lib/x.py": "def area_of(): ...",
}


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    write_tree(tmp_path / "tree", FILES)
    return tmp_path / "tree"


@pytest.fixture
def index(tree: Path) -> Iterator[Index]:
    with open_index(tree) as opened:
        yield opened


def found(text: str, index: Index) -> list[str]:
    shares = index.shares(dict.fromkeys(terms_of(text), 1.0))
    return [one.function for one in sorted(shares, key=lambda one: -sum(shares[one].values()))]


def test_only_source_is_read(index: Index) -> None:
    assert index.layout.files == {p for p in FILES if not p.startswith(("build", ".venv"))}
    assert [d.path for d in index.definitions["area_of"]] == ["pkg/core.py"]


def test_definitions(index: Index) -> None:
    paths = [d.path for d in index.definitions["helper"]]
    assert paths == ["pkg/core.py", "pkg/deep/more.py"]
    assert index.definitions["ancient"] == []  # in a syntax that this interpreter does not know
    unique = index.unique_definition("helper")
    assert unique is not None
    assert index.layout.module_of(unique.path) == "pkg.core"
    assert index.unique_definition("test_circle") is None
    around = index.definition_at("pkg/shapes.py", 7)
    assert around is not None
    assert (around.qualname, around.line, around.top) == ("Circle.area", 6, False)


def test_imports(index: Index) -> None:
    (item,) = index.imports_of("_dumps")
    assert item.statement == "from json import dumps as _dumps"
    (inside,) = index.imports_of("_inside")
    assert inside.statement == "import json as _inside"
    assert inside not in index.imports_in("pkg/core.py")
    assert [one.bound for one in index.imports_in("tests/test_core.py")] == ["Circle", "old", "c"]
    for statement in (
        "from json import loads as _deep", "from pkg import old", "import pkg.core as c",
        "from math import tau as turn", "from math import pi as half_turn",
    ):  # fmt: skip
        (item,) = index.imports_of(statement.split()[-1])
        assert item.statement == statement
    assert [i.module for i in index.imports_in("pkg/__init__.py")] == ["pkg.core", "pkg.shapes"]


def test_what_has_a_word_is_found_in_the_product(index: Index) -> None:
    assert found("circumferences", index) == ["Circle"]
    assert found("area_of", index)[0] == "area_of"
    assert "test_circle" not in found("Circle", index)
    assert found('zzz "', index) == []


def test_changes_are_noticed(tree: Path, tmp_path: Path) -> None:
    open_index(tree, tmp_path / "cache").close()
    (tree / "pkg/core.py").unlink()
    write_tree(tree, {"pkg/new.py": "def fresh(): ...\n", "pkg/deep/more.py": "def other(): ...\n"})
    with open_index(tree, tmp_path / "cache") as index:
        assert index.definitions["area_of"] == index.definitions["only_here"] == []
        assert found("math only_here", index) == []
        assert [d.path for d in index.definitions["fresh"]] == ["pkg/new.py"]
        assert found("other", index) == ["other"]


def test_a_damaged_cache_is_made_anew(tree: Path, tmp_path: Path) -> None:
    open_index(tree, tmp_path).close()
    (file,) = tmp_path.glob("index-*.sqlite")
    file.write_bytes(b"no database" * 1000)
    with open_index(tree, tmp_path) as index:
        assert found("circumference", index) == ["Circle"]


def test_a_cache_that_cannot_be_written_costs_time_alone(tree: Path, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with open_index(tree, tmp_path / "file") as index:
        assert found("circumference", index) == ["Circle"]


def test_several_processes_at_once(tree: Path, tmp_path: Path) -> None:
    code = (
        "import sys; from pathlib import Path; from pytest_brt.project.index import open_index\n"
        "print(len(open_index(Path(sys.argv[1]), Path(sys.argv[2])).definitions['helper']))"
    )
    command = [sys.executable, "-c", code, str(tree), str(tmp_path / "cache")]
    runs = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(3)]
    assert [run.communicate()[0] for run in runs] == ["2\n"] * 3
