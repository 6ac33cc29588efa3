"""Sentences are made for people and never read back: no constant with a blank in it decides."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import TypeGuard

import pytest_brt

PACKAGE = Path(pytest_brt.__file__).parent
#: Rooms that read what people write, and texts for models.
READERS = ("issue/", "reading/")
#: Methods by which a text is told by its beginning, its end or a part of it.
LOOKS = frozenset({
    "startswith", "endswith", "removeprefix", "removesuffix", "partition", "rpartition",
    "split", "find", "index", "count",
})  # fmt: skip
#: Words of a format or of another program, each with whose they are.
FORMATS = {
    # git's diffs
    "diff --git ", "copy from", "new file mode", "deleted file mode", "old mode", "new mode",
    "GIT binary patch", "Binary files ", "@@ -",
    # Python's tracebacks, modules and errors
    "Traceback (most recent call last)", "<frozen os>", "can't start new thread",
    # IPython's prompt, the line of a file in the demo, and the code of tests
    "In [", "^==> (.+)\\n", "def test", "reported = ",
}  # fmt: skip
#: What still reads a sentence back, by file: to be mended, and never to grow.
KNOWN = {
    "guard/regressions.py": 2,
    "render/answer.py": 4,
    "render/html.py": 1,
}


def is_prose(node: ast.AST) -> TypeGuard[ast.Constant]:
    return (
        isinstance(node, ast.Constant)
        and isinstance(node.value, str)
        and " " in node.value.strip()
        and node.value not in FORMATS
    )


def deciding(tree: ast.Module) -> Iterator[ast.AST]:
    """Yield the parts of a module in which a text is compared or looked up."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Compare):
            yield node
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            if node.func.attr in LOOKS:
                yield from node.args
        elif isinstance(node, ast.Dict):
            yield from (key for key in node.keys if isinstance(key, ast.Constant))
        elif isinstance(node, ast.Subscript):
            if isinstance(node.slice, ast.Constant) or ast.unparse(node.value) == "Literal":
                yield node.slice
        elif isinstance(node, ast.ClassDef):
            if any(ast.unparse(base).endswith("Enum") for base in node.bases):
                yield from (item.value for item in node.body if isinstance(item, ast.Assign))
        elif isinstance(node, ast.match_case):
            yield node.pattern


def read_back(source: str) -> list[int]:
    """Return the lines of a module on which a constant with a blank in it decides."""
    tree = ast.parse(source)
    named = {
        item.targets[0].id
        for item in tree.body
        if isinstance(item, ast.Assign)
        and isinstance(item.targets[0], ast.Name)
        and is_prose(item.value)
    }
    found = [
        inner.lineno
        for part in deciding(tree)
        for inner in ast.walk(part)
        if is_prose(inner) or (isinstance(inner, ast.Name) and inner.id in named)
    ]
    return sorted(found)


def test_no_sentence_is_read_back() -> None:
    found = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        name = path.relative_to(PACKAGE).as_posix()
        if not name.startswith(READERS):
            lines = read_back(path.read_text("utf-8"))
            if lines:
                found[name] = lines
    assert {name: len(lines) for name, lines in found.items()} == KNOWN, found


def test_the_walk_sees_each_way_to_read_a_sentence_back() -> None:
    for source in (
        "x.reason == 'it is broken'",
        "x.startswith('it is broken')",
        "'it is' in x",
        "{'it is': 1}",
        "y['it is']",
        "class A(StrEnum):\n    B = 'it is'",
        "z: Literal['it is', 'is not']",
        "match x:\n    case 'it is':\n        pass",
        "IT_IS = 'it is'\nx == IT_IS",
    ):
        assert read_back(source), source
    assert not read_back("x == 'it-is'\nsay('it is')\ny = 'it is'")
