"""For what the code of a patch is to be read: reported input that it names, and tools of tests.

A patch runs in the process that tests it, and can make tests pass without mending anything. That
cannot be prevented in full; but code that does it nearly always has to name what it tampers with,
which code of a product seldom does.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path

from pytest_brt.pysource.parse import decode, parse, parse_or_empty
from pytest_brt.types import Author, FileChange, JudgedTest, Note

#: Code of the remark about a patch that handles the reported input alone.
SPECIAL = "singles-out-input"
_EQUALITY = ast.Eq | ast.NotEq | ast.In | ast.NotIn
#: Smaller numbers are in every test, which tells nothing.
_SMALLEST = 3
#: What tests are run by, in names and in texts: "pytest" may be looked for in `sys.modules`.
_TOOLS = re.compile(
    r"\b(?:_?pytest|pluggy|_brt_\w*|PYTEST\w*|pytest_\w+|unittest|TestCase|TestResult"
    r"|TextTestRunner|runtest\w*|CallInfo|TestReport|__builtins__|builtins|_getframe"
    r"|_current_frames|f_back|get_objects|get_referrers|meta_path|linecache|_exit|settrace"
    r"|setprofile|exec[lv]p?e?|(?:proc/(?:self|thread-self|\d+)|dev)/fd)\b"
    r"|\b(?:inspect\.|from inspect import .*\b)"
    r"(?:stack|trace|currentframe|get(?:outer|inner)frames)\b"
    r"|\b__eq__\(.*\)(?=:\s+return (?:True|not False|1|(\w+) (?:is|==|<=|>=) \1)$)"
    r"|\b__eq__ = lambda .*: True$",
    re.MULTILINE,
)
#: What makes code of a text, so that no text is left out.
_RUNS_TEXT = re.compile(r"\b(?:exec|eval|__doc__)\b")


def special_note(shown_by: str) -> Note:
    """Return the remark about a patch that handles the reported input alone, as something shows."""
    return Note(code=SPECIAL, text=f"may handle only the reported input: {shown_by}")


def special_cases(
    changes: Iterable[FileChange], root: Path, tests: Sequence[JudgedTest]
) -> tuple[str, ...]:
    """Return the new comparisons of a patch that hold for the reported input only.

    Such a one asks whether something equals a value that a test holds, and its file did not hold
    before. A test that is no bug test holds what is reported, too, unless a model wrote it.
    `changes` are what the patch makes of the tree at `root`.
    """
    own = [t for t in tests if t.judgement.candidate or t.test.origin.author is not Author.MODEL]
    reported = {value for judged in own for value in _values(judged.test.source or "")}
    special: dict[str, None] = {}
    for change in changes:
        before = root / change.path
        old = parse_or_empty(before.read_bytes() if before.is_file() else b"")
        if change.content is None or before.suffix != ".py" or not old.body:
            continue
        unknown = reported.difference(_values(old))
        for shown, fixed in _comparisons(parse_or_empty(change.content)):
            if not unknown.isdisjoint(_values(fixed)):
                special[shown] = None
    return tuple(special)


def _comparisons(tree: ast.AST) -> Iterator[tuple[str, ast.AST]]:
    """Yield what is compared for equality with a fixed value: the text, and the value."""
    for node in ast.walk(tree):
        if isinstance(node, ast.MatchValue):
            yield ast.unparse(node), node
        elif isinstance(node, ast.Compare) and isinstance(node.ops[0], _EQUALITY):
            # Whether a fixed text is a part of another asks for more than one value.
            is_part = isinstance(node.ops[0], ast.In | ast.NotIn)
            sides = node.comparators if is_part else [node.left, *node.comparators]
            if any(map(_is_open, (node.left, *node.comparators))):
                yield from ((ast.unparse(node), side) for side in sides if not _is_open(side))


def _is_open(node: ast.AST) -> bool:
    return any(isinstance(inner, ast.Name | ast.Call) for inner in ast.walk(node))


def _values(code: str | ast.AST) -> Iterator[str]:
    """Yield the numbers, texts and containers in code that say something, as Python shows them."""
    for node in ast.walk(parse_or_empty(code) if isinstance(code, str) else code):
        if isinstance(node, ast.Constant | ast.List | ast.Tuple | ast.Set | ast.Dict):
            with suppress(ValueError, TypeError):  # it holds what is no literal
                value = ast.literal_eval(node)
                is_small = isinstance(value, int | float | complex) and abs(value) < _SMALLEST
                if value and not is_small and value is not ...:
                    yield repr(value)
                if value and isinstance(value, bytes):
                    yield repr(value.decode("utf-8", "replace"))


def named_test_tools(changes: Iterable[FileChange], root: Path) -> tuple[str, ...]:
    """Return what code of a product newly names of the tools that run tests, as in ("pytest",).

    `changes` are what a patch makes of the tree at `root`.
    """
    named: dict[str, None] = {}
    for change in (one for one in changes if one.path.endswith(".py")):
        before = root / change.path
        old = _tools(before.read_bytes() if before.is_file() else b"")
        named |= {name: None for name in _tools(change.content or b"") if name not in old}
    return tuple(named)


def _tools(content: bytes) -> list[str]:
    """Return what a module's code names, without comments and docstrings."""
    text = decode(content)
    if not _RUNS_TEXT.search(text):
        with suppress(SyntaxError):
            tree = parse(content)
            for node in ast.walk(tree):
                if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
                    node.value = ast.Constant(None)
            text = ast.unparse(tree)
    return [match[0] for match in _TOOLS.finditer(text)]
