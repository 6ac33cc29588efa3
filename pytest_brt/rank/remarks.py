"""For what the code of a patch is to be read: reported input that it names, and tools of tests.

A patch runs in the process that tests it, and can make tests pass without mending anything. That
cannot be prevented in full; but code that does it nearly always has to name what it tampers with,
which code of a product seldom does.
"""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path

from pytest_brt.pysource.parse import decode, parse, parse_or_empty
from pytest_brt.types import Author, FileChange, JudgedTest, Note

#: Code of the remark about a patch that handles the reported input alone.
SPECIAL = "singles-out-input"
_EQUALITY = ast.Eq | ast.NotEq | ast.In | ast.NotIn
#: Shorter texts and smaller numbers are in every test, which tells nothing.
_SHORTEST, _SMALLEST = 4, 3
#: What tests are run by, in names and in texts: "pytest" may be looked for in `sys.modules`.
_TOOLS = re.compile(
    r"\b(?:_?pytest|pluggy|_brt_\w*|PYTEST\w*|pytest_\w+|unittest|TestCase|TestResult"
    r"|TextTestRunner|runtest\w*|CallInfo|TestReport|__builtins__|builtins|_getframe"
    r"|_current_frames|f_back|get_objects|get_referrers|meta_path|linecache|_exit|settrace"
    r"|setprofile|exec[lv]p?e?|(?:proc/(?:self|thread-self|\d+)|dev)/fd)\b"
    r"|\binspect\.(?:stack|trace|currentframe|get(?:outer|inner)frames)\b"
    r"|\bfrom inspect import .*\b(?:stack|trace|currentframe|get(?:outer|inner)frames)\b"
    r"|\b__eq__\(.*\):\s+return (?:True|not False|1|(\w+) (?:is|==|<=|>=) \1)$"
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

    Such a one asks whether something equals a fixed value that its file did not hold before, and
    that a bug test holds, or its failure. What a test that fails for another reason holds is in the
    report, too, unless a model wrote it. `changes` are what the patch makes of the tree at `root`.
    """
    own = [t for t in tests if t.judgement.candidate or t.test.origin.author is not Author.MODEL]
    raised = [run.raised.message for t in own for run in t.judgement.runs[:1] if run.raised]
    sources = [judged.test.source or "" for judged in own]
    text = _squeezed(" ".join([*sources, *(t.test.oracle.sentence for t in own), *raised]))
    reported = {repr(value) for code in sources for value in _literals(parse_or_empty(code))}
    special: dict[str, None] = {}
    for change in changes:
        before = root / change.path
        old = parse_or_empty(before.read_bytes() if before.is_file() else b"")
        if change.content is None or before.suffix != ".py" or not old.body:
            continue
        known = set(map(repr, _literals(old)))
        left = Counter(shown for shown, _ in _comparisons(old))
        for shown, fixed in _comparisons(parse_or_empty(change.content)):
            left[shown] -= 1
            values = [v for v in _literals(fixed) if repr(v) not in known]
            if left[shown] < 0 and any(_is_reported(v, reported, text) for v in values):
                special[shown] = None
    return tuple(special)


def _is_reported(value: object, reported: set[str], text: str) -> bool:
    """Say whether a value is one of the tests', or a part of their text."""
    words = value.decode("utf-8", "replace") if isinstance(value, bytes) else value
    if isinstance(words, str) and len(words) >= _SHORTEST and _squeezed(words) in text:
        return True
    is_small = isinstance(value, int | float | complex) and abs(value) < _SMALLEST
    return not is_small and repr(value) in reported


def _comparisons(tree: ast.AST) -> Iterator[tuple[str, ast.AST]]:
    """Yield what is compared for equality with a fixed value: the text, and the value."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Compare):
            sides = [node.left, *node.comparators]
            for left, operator, right in zip(sides, node.ops, sides[1:], strict=False):
                fixed = [side for side in (left, right) if _is_fixed(side)]
                # Whether a fixed text is a part of another asks for more than one value.
                is_part = left in fixed and isinstance(operator, ast.In | ast.NotIn)
                if isinstance(operator, _EQUALITY) and len(fixed) == 1 and not is_part:
                    yield ast.unparse(node), fixed[0]
        elif isinstance(node, ast.MatchValue):
            yield ast.unparse(node), node


def _is_fixed(node: ast.AST) -> bool:
    return not any(isinstance(inner, ast.Name | ast.Call) for inner in ast.walk(node))


def _literals(tree: ast.AST) -> Iterator[object]:
    """Yield the numbers, texts and containers of a tree that are not empty."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant | ast.List | ast.Tuple | ast.Set | ast.Dict):
            with suppress(ValueError, TypeError):  # it holds what is no literal
                value = ast.literal_eval(node)
                if value and value is not True and value is not ...:
                    yield value


def _squeezed(text: str) -> str:
    return "".join(text.split())


def named_test_tools(changes: Iterable[FileChange], root: Path) -> tuple[str, ...]:
    """Return what code of a product newly names of the tools that run tests, as in ("pytest",).

    `changes` are what a patch makes of the tree at `root`.
    """
    named: dict[str, None] = {}
    for change in changes:
        if change.content is not None and _may_be_run(change):
            before = root / change.path
            old = _tools(before.read_bytes()) if before.is_file() else {}
            named |= {name: None for name in _tools(change.content) if name not in old}
    return tuple(named)


def _may_be_run(change: FileChange) -> bool:
    """Say whether a file is a module, or other text that ``exec`` or ``runpy`` would run."""
    kinds = ast.Call | ast.Import | ast.ImportFrom
    nodes = ast.walk(parse_or_empty(change.content or b""))
    return change.path.endswith(".py") or any(isinstance(node, kinds) for node in nodes)


def _tools(content: bytes) -> dict[str, None]:
    """Return what a module's code names, without comments and docstrings."""
    text = decode(content)
    if not _RUNS_TEXT.search(text):
        with suppress(SyntaxError):
            tree = parse(content)
            for node in ast.walk(tree):
                if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
                    node.value = ast.Constant(None)
            text = ast.unparse(tree)
    return {match[0].split(":")[0]: None for match in _TOOLS.finditer(text)}
