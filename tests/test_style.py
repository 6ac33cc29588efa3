"""Sentences are made for people and never read back: no constant with a blank in it decides."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TypeGuard

import pytest_brt

PACKAGE = Path(pytest_brt.__file__).parent
#: Rooms that read what people write, and texts for models.
READERS = ("report/",)
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
    # the loaders of shared libraries, glibc's and musl's
    "cannot open shared object file", "Error loading shared library",
    # IPython's prompt, the line of a file in the demo, and the code of tests
    "In [", "^==> (.+)\\n", "def test", "async def ", "reported = ",
}  # fmt: skip


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
            yield from (key for key in node.keys if isinstance(key, ast.Constant | ast.Name))
        elif isinstance(node, ast.Subscript):
            if isinstance(node.slice, ast.Constant) or ast.unparse(node.value) == "Literal":
                yield node.slice
        elif isinstance(node, ast.ClassDef):
            if any(ast.unparse(base).endswith("Enum") for base in node.bases):
                yield from (value for _, value in assigned(node.body))
        elif isinstance(node, ast.match_case):
            yield node.pattern


def assigned(body: Sequence[ast.stmt]) -> Iterator[tuple[str, ast.expr]]:
    """Yield the names that statements give to values, annotated ones too."""
    for node in body:
        if isinstance(node, ast.Assign):
            for target in node.targets:
                if isinstance(target, ast.Name):
                    yield target.id, node.value
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and node.value:
            yield node.target.id, node.value


def is_container(node: ast.expr) -> bool:
    if isinstance(node, ast.Call) and ast.unparse(node.func) == "frozenset":
        return True
    return isinstance(node, ast.Tuple | ast.List | ast.Set)


def named_prose(source: str) -> set[str]:
    """Return the constants of a module that are prose, or hold some in a tuple, list or set."""
    found = set()
    for name, value in assigned(ast.parse(source).body):
        parts = ast.walk(value) if is_container(value) else [value]
        if any(is_prose(part) for part in parts):
            found.add(name)
    return found


def imported_prose(tree: ast.Module, package: Mapping[str, set[str]]) -> set[str]:
    """Return the names under which a module has other modules' constants that are prose."""
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            prose = package.get(node.module or "", set())
            found |= {alias.asname or alias.name for alias in node.names if alias.name in prose}
    return found


def module_of(path: Path) -> str:
    return ".".join(("pytest_brt", *path.relative_to(PACKAGE).with_suffix("").parts))


def read_back(source: str, package: Mapping[str, set[str]]) -> list[int]:
    """Return the lines of a module on which a constant with a blank in it decides.

    `package` has the constants of each module of the package that are prose.
    """
    tree = ast.parse(source)
    named = named_prose(source) | imported_prose(tree, package)
    found = {
        (inner.lineno, inner.col_offset)
        for part in deciding(tree)
        for inner in ast.walk(part)
        if is_prose(inner) or (isinstance(inner, ast.Name) and inner.id in named)
    }
    return sorted(line for line, _ in found)


def test_no_sentence_is_read_back() -> None:
    texts = {path: path.read_text("utf-8") for path in PACKAGE.rglob("*.py")}
    package = {module_of(path): named_prose(text) for path, text in texts.items()}
    found = {}
    for path in sorted(texts):
        name = path.relative_to(PACKAGE).as_posix()
        if not name.startswith(READERS):
            lines = read_back(texts[path], package)
            if lines:
                found[name] = lines
    assert found == {}


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
        "IT_IS: Final = 'it is'\nx == IT_IS",
        "IT_IS = {'it is', 'b'}\nx in IT_IS",
        "IT_IS = frozenset({'it is'})\nx in IT_IS",
        "IT_IS = ('it is',)\nx.startswith(IT_IS)",
        "IT_IS = 'it is'\n{IT_IS: 1}",
        "class A(StrEnum):\n    B: str = 'it is'",
    ):
        assert read_back(source, {}), source
    imported = "from pkg.a import IT_IS as IT\nx == IT"
    assert read_back(imported, {"pkg.a": {"IT_IS"}})
    assert not read_back(imported, {"pkg.a": set()})
    assert not read_back("x == 'it-is'\nsay('it is')\ny = 'it is'", {})
