"""Names that a test gives, and others for them."""

from __future__ import annotations

import ast
from textwrap import dedent

import pytest

from pytest_brt.rank.rename import new_names, own_names, renamed


def names(source: str) -> tuple[str, ...]:
    tree = ast.parse(dedent(source))
    functions = (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef))
    return own_names(tree, next(node for node in functions if node.name.startswith("test")))


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("def g(n, *rest): pass\ndef test_a(): f(g)", ("g", "n", "rest")),
        ("def test_a():\n    def g(): pass\n    f(g, lambda key: key)", ("g", "key")),
        ("class A:\n    load: int = 3\n    kind = 4\ndef test_a(): f(A)", ("A", "load")),
        ("class A:\n    kind = 4\n    def go(self): pass\ndef test_a(): A().go(kind=1)",
         ("A", "kind", "go")),
        ("class A:\n    def __init__(self, n): self.m = n\ndef test_a(): f(A(1).m)",
         ("A", "m", "n")),
        ("class A(p.B):\n    load: int\n    kind = 4\n    def go(self, at): self.m = 1\n"
         "def test_a(): A().go(A.kind, A.m)", ("A", "load")),
        ("class A(B, meta=1):\n    kind = 4\nclass B: pass\ndef test_a(): A.kind", ("A", "B")),
        ("class A(B):\n    kind = 4\nclass B(Enum): pass\ndef test_a(): A.kind",
         ("A", "B", "kind")),
        ("import g\nfrom p.q import h as k\ndef test_a(tmp_path):\n"
         "    def f(tmp_path, g, k, p, q, print, __x, _): pass", ("f",)),
        ("@pytest.fixture\ndef thing(at): pass\nclass TestA:\n    def test_a(self): pass", ()),
    ],
)  # fmt: skip
def test_only_what_the_test_names_itself_is_its_own(source: str, expected: tuple[str, ...]) -> None:
    assert names(source) == expected


def test_a_name_is_replaced_everywhere_but_in_what_is_of_others() -> None:
    source = '''
    import json

    class A:
        load: int

    def test_a(key):
        """Of load."""
        global load
        a = A(load=json.load(1, load=2), other='load')
        assert a.load == sorted(load, load=3)
        assert repr(a) == "A(load=2, loads=3)"
    '''
    tree = ast.parse(dedent(source))
    expected = source.replace("load", "loae").replace("loaes", "loads")
    expected = expected.replace("json.loae", "json.load").replace(
        "sorted(loae, loae", "sorted(loae, load"
    )
    assert ast.unparse(renamed(tree, "load", "loae")) == ast.unparse(ast.parse(dedent(expected)))
    assert "loae" not in ast.unparse(tree)


@pytest.mark.parametrize(
    ("name", "source", "expected"),
    [
        ("g", "g f z", ("h", "i")),
        ("g", "g h", ("ga", "gb")),
        ("Item", "Item", ("Iten", "Iteo")),
        ("x1", "x1 x2", ("x1a", "x1b")),
        ("x1", "x1", ("x2", "x3")),
        ("z", "z", ("za", "zb")),
        ("_", "_", ("_a", "_b")),
        ("i", "i", ("j", "k")),
        ("ir", "ir", ("it", "iu")),  # "is" is no name
    ],
)
def test_new_names_look_alike_and_are_sorted_alike(
    name: str, source: str, expected: tuple[str, ...]
) -> None:
    assert new_names(name, source) == expected
