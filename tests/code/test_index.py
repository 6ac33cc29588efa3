from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
import textwrap
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from pytest_brt.code import index as index_module
from pytest_brt.code.database import refresh
from pytest_brt.code.index import Index, open_index
from pytest_brt.code.scan import FileStamp
from pytest_brt.errors import StoreProblem

FILES = {
    "pkg/__init__.py": "from .core import *\nfrom .shapes import Circle\n__version__ = '1'\n",
    "pkg/core.py": """\
        import math
        from json import dumps as _dumps

        def area_of(shape):
            return math.floor(shape.area())

        def helper():
            return area_of(1) + area_of (
                2)
        """,
    "pkg/shapes.py": """\
        from .core import helper

        class Circle:
            '''Round things: radius and circumference.'''

            def area(self):
                return helper()

        class Dynamic: ...
        """,
    "pkg/deep/__init__.py": "",
    "pkg/deep/more.py": "def helper(): ...\ndef only_here(): ...\n",
    "pkg/lazy.py": "def __getattr__(name):\n    return 1\n",
    "pkg/old.py": "def ancient():\n    print 'x'\n",
    "tests/test_core.py": """\
        from pkg import Circle
        import pkg.core as c

        def helper(): ...

        def test_circle():
            assert c.area_of(Circle())
        """,
    "build/lib/pkg/core.py": "def area_of(): ...",
    ".venv/lib/x.py": "def area_of(): ...",
}


def write(root: Path, files: dict[str, str]) -> None:
    for path, text in files.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(textwrap.dedent(text), encoding="utf-8")


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    write(tmp_path / "tree", FILES)
    return tmp_path / "tree"


@pytest.fixture
def index(tree: Path) -> Iterator[Index]:
    with open_index(tree) as opened:
        yield opened


def test_only_source_is_read(index: Index) -> None:
    assert index.layout.files == {p for p in FILES if not p.startswith(("build", ".venv"))}
    assert [d.path for d in index.definitions("area_of")] == ["pkg/core.py"]


def test_definitions(index: Index) -> None:
    paths = [d.path for d in index.definitions("helper")]
    assert paths == ["pkg/core.py", "pkg/deep/more.py", "tests/test_core.py"]
    (area,) = index.definitions("Circle.area")
    assert (index.module_of(area), area.qualname, area.line, area.top) == (
        "pkg.shapes",
        "Circle.area",
        6,
        False,
    )
    assert index.definitions("Square.area") == ()
    assert index.definitions("ancient") == ()  # in a syntax that this interpreter does not know


def test_unique_definition(index: Index) -> None:
    found = index.unique_definition("helper")
    assert found is not None
    assert index.module_of(found) == "pkg.core"
    assert index.unique_definition("area") is None
    assert index.unique_definition("test_circle") is None


def test_definition_at(index: Index) -> None:
    around = index.definition_at("pkg/shapes.py", 7)
    assert around is not None
    assert around.qualname == "Circle.area"
    assert index.definition_at("pkg/shapes.py", 1) is None


def test_exports(index: Index) -> None:
    exports = index.exports("pkg")
    assert {"Circle", "area_of", "helper", "math", "core", "deep"} <= exports.names
    assert exports.complete
    assert not index.exports("pkg.lazy").complete


def test_imports(index: Index) -> None:
    (item,) = index.imports_of("_dumps")
    assert item.statement == "from json import dumps as _dumps"
    assert [i.module for i in index.imports_in("pkg/__init__.py")] == ["pkg.core", "pkg.shapes"]
    assert index.importers("pkg.core") == (
        "pkg/__init__.py",
        "pkg/shapes.py",
        "tests/test_core.py",
    )


def test_terms(index: Index) -> None:
    (number,) = index.having("circumferenc")
    assert (index.passages[number].path, index.passages[number].function) == (
        "pkg/shapes.py",
        "Circle",
    )
    assert index.files_with("area_of") == ("pkg/core.py", "tests/test_core.py")
    assert index.files_with("Circles") == index.files_with("circle")
    assert index.files_with("zzz") == index.files_with('"') == ()


def test_passages(index: Index) -> None:
    def function(path: str, line: int) -> str:
        number = index.passage_at(path, line)
        assert number is not None
        return index.passages[number].function

    assert function("pkg/shapes.py", 1) == ""
    assert function("pkg/shapes.py", 4) == "Circle"
    assert function("pkg/shapes.py", 7) == "Circle.area"
    assert index.passage_at("pkg/none.py", 1) is None


def test_names_like(index: Index) -> None:
    assert index.names_like("area_off") == ("area_of",)


def test_changes_are_noticed(tree: Path, tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    open_index(tree, cache).close()
    (tree / "pkg/core.py").unlink()
    write(tree, {"pkg/new.py": "def fresh(): ...\n", "pkg/deep/more.py": "def renamed(): ...\n"})
    with open_index(tree, cache) as index:
        assert index.definitions("area_of") == ()
        assert index.files_with("math") == ()
        assert [d.path for d in index.definitions("fresh")] == ["pkg/new.py"]
        assert index.definitions("only_here") == ()
        assert index.files_with("only_here") == ()
        assert [d.path for d in index.definitions("renamed")] == ["pkg/deep/more.py"]


def test_unchanged_files_are_not_read_again(tree: Path, tmp_path: Path) -> None:
    cache, path = tmp_path / "cache", tree / "pkg/deep/more.py"
    open_index(tree, cache).close()
    status = path.stat()
    path.write_text(
        path.read_text(encoding="utf-8").replace("only_here", "0nly_here"), encoding="utf-8"
    )
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
    with open_index(tree, cache) as index:
        assert index.definitions("only_here"), "same size and time: not looked at"
    os.utime(path)
    with open_index(tree, cache) as index:
        assert not index.definitions("only_here")


def test_damaged_cache_is_made_anew(tree: Path, tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    open_index(tree, cache).close()
    (file,) = cache.glob("*.sqlite")
    file.write_bytes(b"rubbish" * 1000)
    with open_index(tree, cache) as index:
        assert index.definitions("area_of")


def test_problems_are_told(tmp_path: Path) -> None:
    with pytest.raises(StoreProblem, match=r"no such folder: .*nowhere"):
        open_index(tmp_path / "nowhere")


def test_a_cache_that_cannot_be_written_costs_time_and_nothing_else(
    tree: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    with open_index(tree, tmp_path / "file" / "cache") as index:
        assert index.definitions("area_of")

    def full(connection: sqlite3.Connection, root: Path) -> dict[str, FileStamp]:
        if connection.execute("pragma database_list").fetchone()[2]:  # a file
            raise sqlite3.OperationalError("database or disk is full")
        return refresh(connection, root)

    monkeypatch.setattr(index_module, "refresh", full)
    with open_index(tree, tmp_path / "cache") as index:
        assert index.definitions("area_of")


def test_several_processes_at_once(tree: Path, tmp_path: Path) -> None:
    for number in range(60):
        write(tree, {f"pkg/gen{number}.py": f"def made_{number}(): ...\n"})
    script = (
        "import sys; from pathlib import Path; from pytest_brt.code.index import open_index\n"
        "with open_index(Path(sys.argv[1]), Path(sys.argv[2])) as index:\n"
        "    print(len(index.definitions('made_59')), len(index.definitions('area_of')))\n"
    )
    command = [sys.executable, "-c", script, str(tree), str(tmp_path / "cache")]
    root = Path(__file__).parents[2]
    processes = [
        subprocess.Popen(
            command,
            cwd=root,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            encoding="utf-8",
        )
        for _ in range(4)
    ]
    for process in processes:
        out, errors = process.communicate(timeout=60)
        assert (out.split(), errors) == (["1", "1"], "")


def test_opening_again_is_quick(tree: Path, tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    for folder in range(20):
        write(
            tree,
            {f"pkg/d{folder}/m{n}.py": f"def f_{n}(a, b):\n    return a\n" for n in range(50)},
        )
    times = []
    for _ in range(4):
        start = time.process_time()
        open_index(tree, cache).close()
        times.append(time.process_time() - start)
    assert min(times[1:]) < times[0] / 3, times


def test_declared_source_root(tree: Path) -> None:
    write(
        tree, {"python/extra/__init__.py": "", "setup.cfg": "[tool:pytest]\npythonpath = python\n"}
    )
    with open_index(tree) as index:
        assert index.layout.roots[0] == "python"
        assert index.layout.path_of("extra") == "python/extra/__init__.py"


def test_closed_index_refuses(tree: Path) -> None:
    index = open_index(tree)
    index.close()
    with pytest.raises(sqlite3.ProgrammingError):
        index.definitions("x")
