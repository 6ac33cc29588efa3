from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from pytest_brt.code.fixtures import fixtures_in_scope
from pytest_brt.code.index import Index, open_index
from pytest_brt.code.words import code_tokens, rank_hosts
from tests.support.trees import write_tree

UNITTEST = """\
import unittest

class Base(unittest.TestCase):
    def check(self): ...

class ParserTests(Base):
    def testNumbers(self):
        self.assertEqual(parse("1"), 1)
        self.assertRaises(ValueError, parse, "x")

class PrinterTests(Base):
    def testColour(self):
        self.assertEqual(show(1), "1")
"""

FILES = {
    "pkg/__init__.py": "from .core.shapes import area\nfrom .text import render\n",
    "pkg/core/__init__.py": "",
    "pkg/core/shapes.py": "def area(x): ...\n",
    "pkg/text.py": "def render(x): ...\n",
    "pkg/_io.py": "def load(x): ...\n",
    "tests/conftest.py": "import pytest\n\n@pytest.fixture\ndef shape(): ...\n",
    "tests/test_shapes.py": "from pkg import area\n"
    "def test_area(shape):\n    assert area(shape) == 1\n",
    "tests/test_text.py": "from pkg import render, area\nfrom pytest import raises\n"
    "def test_render():\n    assert render(area(2)) == 'x'\n    with raises(E): pass\n",
    "tests/test_io.py": "import pytest\n\n@pytest.fixture(name='disk')\ndef _disk(): ...\n\n"
    "class TestLoad:\n    def test_a(self, disk): ...\n\n"
    "class TestSave:\n    def test_b(self): ...\n",
    "tests/test_old.py": UNITTEST,
    "docs/test_area.py": "def test_area(): assert area(2) == area(3)\n",
    "tests/broken_test.py": "def test_area(: area\n",
}


@pytest.fixture
def index(tmp_path: Path) -> Iterator[Index]:
    write_tree(tmp_path, FILES)
    with open_index(tmp_path) as opened:
        yield opened


def test_the_file_that_shares_most_tokens_takes_it(index: Index) -> None:
    source = "from pkg import render\n\ndef test_new():\n    assert render(3) == 'q'\n"
    files = index.test_tokens
    assert rank_hosts(source, files)[0] == "tests/test_text.py"
    # LIBRO's share, with a file of equal share that comes first by its path.
    assert rank_hosts(source, {**files, "a_test.py": files["tests/test_text.py"]})[:2] == (
        "a_test.py",
        "tests/test_text.py",
    )


def test_a_file_of_base_classes_takes_none(index: Index, tmp_path: Path) -> None:
    assert set(index.test_tokens) == {
        "tests/test_shapes.py",
        "tests/test_text.py",
        "tests/test_io.py",
        "tests/test_old.py",
    }
    base = FILES["tests/test_text.py"].replace("def test_render", "class Base:\n  def check")
    write_tree(tmp_path, {"tests/test_text.py": base})
    with open_index(tmp_path) as changed:
        assert "tests/test_text.py" not in changed.test_tokens


def test_the_project_s_settings_say_what_a_test_file_is(tmp_path: Path) -> None:
    settings = "[pytest]\npython_files = tests.py\n"
    text = "from pkg import render\n\ndef test_render():\n    assert render(1) == 'x'\n"
    own = {"pytest.ini": settings, "pkg/tests.py": text, "pkg/test_text.py": text}
    write_tree(tmp_path, {**FILES, **own})
    with open_index(tmp_path) as opened:
        source = "from pkg import render\n\ndef test_new():\n    assert render(3) == 'q'\n"
        assert rank_hosts(source, opened.test_tokens) == ("pkg/tests.py",)


@pytest.mark.parametrize(
    ("line", "taken"),
    [
        ("pytestmark = pytest.mark.skip", False),
        ("pytestmark = [pytest.mark.skip(reason='old')]", False),
        ("pytestmark = pytest.mark.parametrize('backend', ['a', 'b'])", False),
        ("pytest.skip('old', allow_module_level=True)", False),
        ("pytestmark = pytest.mark.skipif(os.name == 'nt', reason='paths')", True),
        ("if os.name == 'nt':\n    pytest.skip('paths', allow_module_level=True)", True),
    ],
)
def test_a_file_that_skips_all_its_tests_takes_none(tmp_path: Path, line: str, taken: bool) -> None:
    text = f"import os, pytest\n{line}\n{FILES['tests/test_text.py']}"
    write_tree(tmp_path, {**FILES, "tests/test_text.py": text})
    source = "from pkg import render\n\ndef test_new():\n    assert render(3) == 'q'\n"
    with open_index(tmp_path) as opened:
        paths = rank_hosts(source, opened.test_tokens)
    assert ("tests/test_text.py" in paths) is taken


def test_no_tests_no_hosts(tmp_path: Path) -> None:
    (tmp_path / "mod.py").write_text("def f(): ...", encoding="utf-8")
    with open_index(tmp_path) as index:
        assert rank_hosts("from mod import f\nf()", index.test_tokens) == ()


def test_tokens() -> None:
    assert code_tokens("f(x1, 'a b') + 2.5") == {"f", "x1", "'a b'", "2.5"}


def test_fixtures_in_scope(index: Index) -> None:
    in_text = fixtures_in_scope("tests/test_text.py", index)
    assert {"shape", "tmp_path"} <= in_text
    assert "disk" not in in_text
    in_io = fixtures_in_scope("tests/test_io.py", index)
    assert "disk" in in_io
    assert "_disk" not in in_io
    # A file that is no Python is pytest's to tell.
    assert "shape" in fixtures_in_scope("tests/broken_test.py", index)
    assert "shape" in fixtures_in_scope("tests/new/test_x.py", index)
