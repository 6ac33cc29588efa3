"""What a patch names of the tools that run tests.

A patch runs in the process that tests it, and can make tests pass without mending anything. That
cannot be prevented in full; but code that does it nearly always has to name what it tampers with,
which code of a product seldom does.
"""

from __future__ import annotations

import ast
import io
import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from pathlib import Path
from tokenize import detect_encoding

from pytest_brt.pysource.parse import tree_of
from pytest_brt.types import FileChange

#: In names, and in texts: "pytest" may be looked for in `sys.modules`.
_TESTING = re.compile(
    r"\b(_?pytest|pluggy|_brt_\w*|PYTEST\w*|pytest_\w+|unittest|TestCase|TestResult|TextTestRunner"
    r"|runtest\w*|CallInfo|TestReport|__builtins__|builtins|_getframe|_current_frames|f_back"
    r"|get_objects|get_referrers|meta_path|linecache|_exit|settrace|setprofile|exec[lv]p?e?"
    r"|(?:proc/(?:self|thread-self|\d+)|dev)/fd)\b"
)
#: Functions of `inspect` that lead to the frames of callers.
_FRAMES = frozenset({"stack", "currentframe", "getouterframes", "trace", "getinnerframes"})
#: What makes code of a text, so that no text is left out.
_RUNS_TEXT = frozenset(("exec", "eval", "__doc__"))


def named_testers(changes: Iterable[FileChange], root: Path) -> tuple[str, ...]:
    """Return what code of a product newly names, as in ("pytest", "always-true __eq__").

    `changes` are what a patch makes of the tree at `root`.
    """
    found: dict[str, None] = {}
    for change in changes:
        if change.content is None or not _may_be_run(change):
            continue
        before = root / change.path
        old = set(_names(before.read_bytes() if before.is_file() else b""))
        found.update(dict.fromkeys(name for name in _names(change.content) if name not in old))
    return tuple(found)


def _may_be_run(change: FileChange) -> bool:
    """Say whether a file is a module, or other text that ``exec`` or ``runpy`` would run."""
    if change.path.endswith(".py"):
        return True
    try:
        tree = tree_of(change.content or b"")
    except SyntaxError:
        return False
    return any(isinstance(node, ast.Call | ast.Import | ast.ImportFrom) for node in ast.walk(tree))


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
        yield from _frame_readers(node)


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


def _frame_readers(node: ast.AST) -> Iterator[str]:
    """Yield what a node names of `inspect` that shows the frames of its callers."""
    if isinstance(node, ast.Attribute) and _word(node.value) == "inspect":
        names = [node.attr]
    elif isinstance(node, ast.ImportFrom) and node.module == "inspect":
        names = [alias.name for alias in node.names]
    else:
        return
    yield from (f"inspect.{name}" for name in names if name in _FRAMES)


def _is_equality_that_holds(node: ast.AST) -> bool:
    """Return whether a node defines an ``__eq__`` that says True whatever it is given."""
    if isinstance(node, ast.FunctionDef) and node.name == "__eq__":
        body = [line for line in node.body if not isinstance(line, ast.Expr)]
        return len(body) == 1 and isinstance(body[0], ast.Return) and _is_true(body[0].value)
    if isinstance(node, ast.Assign) and any(_word(target) == "__eq__" for target in node.targets):
        return isinstance(node.value, ast.Lambda) and _is_true(node.value.body)
    return False


def _is_true(value: ast.expr | None) -> bool:
    if isinstance(value, ast.Compare) and len(value.ops) == 1:
        same = ast.dump(value.left) == ast.dump(value.comparators[0])
        return same and isinstance(value.ops[0], ast.Is | ast.Eq | ast.LtE | ast.GtE)
    if isinstance(value, ast.UnaryOp) and isinstance(value.op, ast.Not):
        return isinstance(value.operand, ast.Constant) and not value.operand.value
    return isinstance(value, ast.Constant) and bool(value.value)
