"""What is odd about the code of a patch.

A patch runs in the process that tests it, and can make tests pass without mending anything. That
cannot be prevented in full; but code that does it nearly always has to name what it tampers with,
which code of a product seldom does. And a patch may single out the reported input: what it
compares with is from the report.
"""

from __future__ import annotations

import ast
import io
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from tokenize import detect_encoding

from pytest_brt.syntax.parse import called_name, parse_or_empty, tree_of
from pytest_brt.types import FileChange, JudgedTest

#: In names, and in texts: "pytest" may be looked for in `sys.modules`.
_TESTING = re.compile(
    r"\b(_?pytest|pluggy|_brt_\w*|PYTEST_\w+|pytest_\w+|unittest|TestCase|TestResult|TextTestRunner"
    r"|runtest\w*|CallInfo|TestReport|__builtins__|builtins|_getframe|_current_frames|f_back"
    r"|get_objects|get_referrers|meta_path|linecache|_exit|settrace|setprofile)\b"
)
#: Functions of `inspect` that lead to the frames of callers.
_FRAMES = frozenset({"stack", "currentframe", "getouterframes", "trace", "getinnerframes"})
#: What makes code of a text, so that no text is left out.
_RUNS_TEXT = frozenset(("exec", "eval", "__doc__"))
_EQUALITY = ast.Eq | ast.NotEq | ast.In | ast.NotIn
#: Shorter texts and smaller numbers are in every test, which tells nothing.
_SHORTEST, _SMALLEST = 4, 3


# -- what tests are run by ----------------------------------------------------------------------


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


# -- the reported input -------------------------------------------------------------------------


def singled_out(
    changes: Iterable[FileChange], root: Path, tests: Sequence[JudgedTest]
) -> tuple[str, ...]:
    """Return the new comparisons of a patch that hold for the reported input only.

    Such a one asks whether something equals a fixed value that its file did not hold before: a
    value that a bug test holds, or a text that the value has when it is printed.

    `changes` are what the patch makes of the tree at `root`, and `tests` the candidates and others
    that were made from the report.
    """
    found: dict[str, None] = {}
    reported = _Reported(tests)
    for change in changes:
        before = root / change.path
        if change.content is None or before.suffix != ".py" or not before.is_file():
            continue
        try:
            old, new = tree_of(before.read_bytes()), tree_of(change.content)
        except SyntaxError:
            continue
        found.update(dict.fromkeys(_special(old, new, reported)))
    return tuple(found)


class _Reported:
    """The values of tests, and their texts: what they quote and fail with, too."""

    def __init__(self, tests: Sequence[JudgedTest]) -> None:
        self._values: set[str] = set()
        self._text = ""
        for judged in tests:
            source = judged.test.source or ""
            runs = judged.judgement.runs[:1]
            self._text += _squeezed(f"{source} {judged.test.oracle.sentence}")
            self._text += "".join(_squeezed(run.raised.message) for run in runs if run.raised)
            self._values |= {repr(value) for value in _constants(parse_or_empty(source))}

    def has(self, value: object) -> bool:
        """Whether `value` is one of the tests', or a part of their text."""
        if isinstance(value, str) and len(value) >= _SHORTEST:
            return _squeezed(value) in self._text or repr(value) in self._values
        is_small = isinstance(value, int | float | complex) and abs(value) < _SMALLEST
        return not is_small and repr(value) in self._values


def _special(old: ast.Module, new: ast.Module, reported: _Reported) -> Iterator[str]:
    known, counted = _known(old)
    caught = {node.name for node in ast.walk(new) if isinstance(node, ast.ExceptHandler)}
    before = counted.copy()
    for text, value, fixed in _comparisons(new):
        if before[text]:
            before[text] -= 1
            continue
        # What an exception says is compared for want of anything better; not so what a value is.
        names = {node.id for node in ast.walk(value) if isinstance(node, ast.Name)}
        printed = caught.isdisjoint(names) and _is_printed(value)
        unknown = [item for item in _constants(fixed) if repr(item) not in known]
        if any(reported.has(item) or (printed and isinstance(item, str)) for item in unknown):
            yield text


@lru_cache(maxsize=4)  # most patches of a run change the same file
def _known(old: ast.Module) -> tuple[frozenset[str], Counter[str]]:
    """Return the values that a module holds, and how often it makes each comparison."""
    values = frozenset(map(repr, _constants(old)))
    return values, Counter(text for text, _, _ in _comparisons(old))


def _comparisons(tree: ast.AST) -> Iterator[tuple[str, ast.AST, ast.AST]]:
    """Yield what is compared for equality with a fixed value: the text, the one, the other."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Compare):
            sides = [node.left, *node.comparators]
            for left, operator, right in zip(sides, node.ops, sides[1:], strict=False):
                # Whether a fixed text is a part of another asks for more than one value.
                is_part = _is_fixed(left) and isinstance(operator, ast.In | ast.NotIn)
                if isinstance(operator, _EQUALITY) and not is_part:
                    value, fixed = (right, left) if _is_fixed(left) else (left, right)
                    if _is_fixed(fixed) and not _is_fixed(value):
                        yield ast.unparse(node), value, fixed
        elif isinstance(node, ast.Match):
            for case in node.cases:
                if isinstance(case.pattern, ast.MatchValue):
                    yield ast.unparse(case.pattern), node.subject, case.pattern


def _is_fixed(node: ast.AST) -> bool:
    if isinstance(node, ast.Tuple | ast.List | ast.Set):
        return bool(node.elts) and all(map(_is_fixed, node.elts))
    return isinstance(node.operand if isinstance(node, ast.UnaryOp) else node, ast.Constant)


def _is_printed(node: ast.AST) -> bool:
    calls = (inner for inner in ast.walk(node) if isinstance(inner, ast.Call))
    return any(called_name(call) in ("repr", "str") for call in calls)


def _constants(tree: ast.AST) -> Iterator[object]:
    """Yield the numbers and texts of a tree that are not empty."""
    for node in ast.walk(tree):
        value = node.value if isinstance(node, ast.Constant) else None
        if value and not isinstance(value, bool) and value is not ...:
            yield value


def _squeezed(text: str) -> str:
    return "".join(text.split())
