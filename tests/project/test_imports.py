from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from pytest_brt.project.imports import (
    add_imports,
    can_import,
    project_imports,
    resolve,
    standard_imports,
)
from pytest_brt.project.index import Index, open_index
from pytest_brt.pysource.names import uses_in
from tests.support.trees import write_tree

FILES = {
    "src/pkg/__init__.py": "import sys\nfrom .core import *\nfrom pkg.shapes import Circle\n",
    "src/pkg/core.py": "import re\n__all__ = ['area']\ndef area(x): ...\ndef secret(): ...\n",
    "src/pkg/shapes.py": "class Circle: ...\nclass Square: ...\n",
    "src/pkg/deep/__init__.py": "",
    "src/pkg/deep/one.py": "def twice(): ...\n",
    "src/pkg/deep/two.py": "def twice(): ...\n",
    "src/pkg/_fast.pyx": "",
    "src/pkg/lazy.py": "def __getattr__(n): ...\n",
    "tests/conftest.py": "",
    "tests/test_a.py": "import numpy as np\nfrom pkg.deep.two import twice\nimport pkg._version\n",
    "tests/test_b.py": "import numpy as np\nimport other as np\nfrom pkg.deep.one import twice\n"
    "from pkg.deep.one import twice as t\n",
    "tests/test_c.py": "from pkg.deep.one import twice\n",
}


@pytest.fixture
def index(tmp_path: Path) -> Iterator[Index]:
    write_tree(tmp_path, FILES)
    with open_index(tmp_path) as opened:
        yield opened


@pytest.mark.parametrize(
    ("name", "near", "expected"),
    [
        ("pkg", "", "import pkg"),
        ("area", "", "from pkg.core import area"),
        ("Circle", "", "from pkg.shapes import Circle"),
        ("Square", "", "from pkg.shapes import Square"),
        ("secret", "", "from pkg.core import secret"),
        ("twice", "tests/test_a.py", "from pkg.deep.two import twice"),
        ("twice", "", "from pkg.deep.one import twice"),
        ("np", "", "import numpy as np"),
        ("sys", "", "import sys"),
        ("json", "", ""),
        ("nothing", "", ""),
    ],
)
def test_the_likeliest_import(index: Index, name: str, near: str, expected: str) -> None:
    assert next(project_imports(name, index, near=near), "") == expected


def test_what_is_done_with_a_name_says_what_it_is(index: Index) -> None:
    use = uses_in("json.loads('1')")["json"]
    ways = list(project_imports("json", index, offering=["pkg"], use=use))
    assert ways == ["import json", "from pkg import json"]
    assert next(standard_imports("json", use)) == "import json"
    use = uses_in("json.dump_all('1')")["json"]
    assert list(project_imports("json", index, offering=["pkg"], use=use)) == ways[1:]
    use = uses_in("pkg('a')")["pkg"]
    assert next(project_imports("pkg", index, use=use)) == "from pkg import pkg"


def test_resolve(index: Index) -> None:
    source = '"""Doc."""\nfrom __future__ import annotations\n\ndef test_a(capsys):\n'
    resolved = resolve(source + "    assert area(Circle()) == tmp_path / Sqare\n", index)
    assert resolved.splitlines()[:4] == [
        '"""Doc."""',
        "from __future__ import annotations",
        "from pkg.shapes import Circle",
        "from pkg.core import area",
    ]
    assert "import tmp_path" not in resolved
    assert "import Sqare" not in resolved
    assert resolve(resolved, index) == resolved


def test_names_of_the_standard_library_are_imported_too(index: Index) -> None:
    source = resolve("area(json.loads('1'), Path('a'))", index)
    assert source.splitlines()[:3] == [
        "from pathlib import Path",
        "from pkg.core import area",
        "import json",
    ]


def test_add_imports_keeps_the_encoding_line_first() -> None:
    assert add_imports("# coding: latin-1\nx", ["import a"]) == "# coding: latin-1\nimport a\nx"
    assert add_imports("x", []) == "x"


@pytest.mark.parametrize(
    ("source", "works"),
    [
        ("from pkg import area, Circle, core, sys", True),
        ("from pkg.deep import one", True),
        ("from pkg import *", True),
        ("from pkg.lazy import whatever", True),
        ("from numpy import array", True),
        ("from os import path", True),
        ("from pkg.cor import area", False),
        ("from pkg import Square", False),
        ("from pkg.shapes import Circel", False),
        ("from src.pkg import area", False),
        ("from .core import area", False),
    ],
)
def test_an_import_that_cannot_work(index: Index, source: str, works: bool) -> None:
    (node,) = ast.parse(source).body
    assert isinstance(node, ast.ImportFrom)
    assert can_import(node, index) is works
