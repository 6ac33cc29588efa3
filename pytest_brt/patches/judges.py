"""A patch must not score by changing what judges it.

Files that do (tests, pytest's configuration, code that Python runs by itself) are left out of what
is applied. Besides, a patch runs in the process that tests it, and can make tests pass without
mending anything. That cannot be prevented in full; but who does it nearly always has to name what
it tampers with, which code of a product seldom does: such names are told.
"""

from __future__ import annotations

import ast
import fnmatch
import io
import re
import tomllib
from collections.abc import Iterable, Iterator
from functools import lru_cache
from pathlib import Path
from tokenize import detect_encoding

from pytest_brt.syntax import tree_of
from pytest_brt.types import FileChange, LeftOutKind

_CONFIGURATION = frozenset(
    ("conftest.py", "pytest.ini", ".pytest.ini", "pytest.toml", ".pytest.toml")
)
#: They may have a pytest section; what else they have does not change how code runs.
_MIXED_CONFIGURATION = frozenset(("tox.ini", "setup.cfg"))
#: What the interpreter runs at its start, or instead of the source beside it.
_STARTUP = ("sitecustomize.py", "usercustomize.py", "*.pth", "*.pyc", "*.pyo")
#: Folders of what is installed beside the project, and of what tools keep.
_BESIDE = frozenset(("site-packages", "dist-packages", ".venv", "venv", "__pycache__"))
_KEPT = frozenset((".pytest_cache", ".hypothesis", ".mypy_cache", ".tox", ".nox"))
_TESTS = ("test_*.py", "*_test.py", "tests.py")
#: Top-level folders of tests; deeper down only "tests" is one, since packages called "test"
#: or "testing" are often code that a project offers.
_TEST_FOLDERS = frozenset(("test", "tests", "testing"))
_COMPILED = re.compile(
    r".*\.(?:c|h|cc|cpp|cxx|hh|hpp|cu|mm?|s|rs|go|f|f77|f90|f95|py[xd]|pxi|pyx\.in|i|swg|proto|y|l)"
)
_BUILD_FILES = frozenset(
    ("setup.py", "pyproject.toml", "meson.build", "cmakelists.txt", "makefile", "cargo.toml")
)


def left_out_kind(path: str, before: bytes | None, after: bytes | None) -> LeftOutKind | None:
    """Return as what a change of `path` is left out of a candidate fix; None when it is not.

    >>> left_out_kind("pkg/tests/test_m.py", b"", b"x").value
    'tests'
    """
    name = path.rpartition("/")[2].casefold()
    folders = path.split("/")[:-1]
    if name in _CONFIGURATION | _MIXED_CONFIGURATION:
        return LeftOutKind.PYTEST_CONFIGURATION
    if name == "pyproject.toml" and _pytest_table(before) != _pytest_table(after):
        return LeftOutKind.PYTEST_CONFIGURATION
    if _is_any(name, _STARTUP):
        return LeftOutKind.STARTUP_CODE
    if not _BESIDE.isdisjoint(folders):
        return LeftOutKind.INSTALLED_CODE
    if not _KEPT.isdisjoint(folders):
        return LeftOutKind.TOOL_FILES
    if "tests" in folders or (folders and folders[0] in _TEST_FOLDERS) or _is_any(name, _TESTS):
        return LeftOutKind.TESTS
    return None


def needs_build(change: FileChange) -> bool:
    """Whether `change` has no effect on a tree until something is built or installed."""
    name = change.path.rpartition("/")[2].casefold()
    return name in _BUILD_FILES or _COMPILED.fullmatch(name) is not None


def _is_any(name: str, patterns: tuple[str, ...]) -> bool:
    return any(fnmatch.fnmatchcase(name, pattern) for pattern in patterns)


def _pytest_table(content: bytes | None) -> object:
    """Return the pytest part of a pyproject.toml; its bytes when it cannot be read."""
    if content is None:
        return None
    try:
        return tomllib.loads(content.decode()).get("tool", {}).get("pytest")
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, AttributeError, RecursionError):
        return content


#: In names, and in texts: "pytest" may be looked for in `sys.modules`.
_TESTING = re.compile(
    r"\b(_?pytest|pluggy|_brt_\w*|PYTEST_\w+|pytest_\w+|unittest|TestCase|TestResult|TextTestRunner"
    r"|runtest\w*|CallInfo|TestReport|__builtins__|builtins|_getframe|_current_frames|f_back"
    r"|get_objects|get_referrers|meta_path|linecache|_exit|settrace|setprofile)\b"
)
#: What makes code of a text, so that no text is left out.
_RUNS_TEXT = frozenset(("exec", "eval", "__doc__"))


def named_testers(changes: Iterable[FileChange], root: Path) -> tuple[str, ...]:
    """Return what code of a product newly names, as in ("pytest", "always-true __eq__").

    `changes` are what a patch makes of the tree at `root`.
    """
    found: dict[str, None] = {}
    for change in changes:
        if change.content is None or not change.path.endswith(".py"):
            continue
        before = root / change.path
        old = set(_names(before.read_bytes() if before.is_file() else b""))
        found.update(dict.fromkeys(name for name in _names(change.content) if name not in old))
    return tuple(found)


@lru_cache(maxsize=8)  # most patches of a run change the same few files
def _names(content: bytes) -> tuple[str, ...]:
    """Return what a module's code names, without comments and docstrings."""
    return tuple(dict.fromkeys(_named(content)))


def _named(content: bytes) -> Iterator[str]:
    try:
        encoding, _ = detect_encoding(io.BytesIO(content).readline)
        text = content.decode(encoding, "replace")
    except SyntaxError:
        text = content.decode("utf-8", "replace")
    try:
        tree = tree_of(text)
    except SyntaxError:
        yield from _TESTING.findall(text)
        return
    nodes = list(ast.walk(tree))
    told = {id(node.value) for node in nodes if isinstance(node, ast.Expr)}
    if _RUNS_TEXT.intersection(map(_word, nodes)):
        told = set()
        yield from _TESTING.findall(" ".join(re.findall(r"#.*", text)))
    for node in nodes:
        if id(node) not in told:
            yield from _TESTING.findall(_word(node))
        if _is_equality_that_holds(node):
            yield "always-true __eq__"


def _word(node: ast.AST) -> str:
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        return node.attr
    if isinstance(node, ast.alias):
        return node.name.replace(".", " ")
    if isinstance(node, ast.ImportFrom):
        return (node.module or "").replace(".", " ")
    if isinstance(node, ast.keyword | ast.arg):
        return node.arg or ""
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return node.name
    if isinstance(node, ast.Constant) and isinstance(node.value, str | bytes):
        value = node.value
        return value if isinstance(value, str) else value.decode("utf-8", "replace")
    return ""


def _is_equality_that_holds(node: ast.AST) -> bool:
    """Return whether a node defines an ``__eq__`` that says True whatever it is given."""
    if isinstance(node, ast.FunctionDef) and node.name == "__eq__":
        body = [line for line in node.body if not isinstance(line, ast.Expr)]
        return len(body) == 1 and isinstance(body[0], ast.Return) and _is_true(body[0].value)
    if isinstance(node, ast.Assign) and any(_word(target) == "__eq__" for target in node.targets):
        return isinstance(node.value, ast.Lambda) and _is_true(node.value.body)
    return False


def _is_true(value: ast.expr | None) -> bool:
    if isinstance(value, ast.UnaryOp) and isinstance(value.op, ast.Not):
        return isinstance(value.operand, ast.Constant) and not value.operand.value
    return isinstance(value, ast.Constant) and bool(value.value)
