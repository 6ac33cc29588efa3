"""For what the code of a patch is to be read: reported input that it names, and tools of tests.

A patch runs in the process that tests it, and can make tests pass without mending anything. That
cannot be prevented in full; but code that does it nearly always has to name what it tampers with,
which code of a product seldom does.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import chain, islice
from pathlib import Path

from pytest_brt.patches.changes import changed_code
from pytest_brt.pysource.parse import code_of, is_literal, parse_or_empty
from pytest_brt.types import Author, FileChange, JudgedTest, Note

#: Code of the remark about a patch that handles the reported input alone.
SPECIAL = "singles-out-input"
#: Names of tools that are shown.
_NAMES = 5
#: Values that are in nearly every test, which tells nothing.
_USUAL = re.compile(r"[0-2](?:\.\d+)?|''|None|True|False|\.\.\.|\[\]|\(\)|\{\}")
#: What tests are run by, in names and in texts: "pytest" may be looked for in `sys.modules`.
_TOOLS = re.compile(
    r"\b(?:_?pytest|pluggy|_brt_\w*|PYTEST\w*|pytest_\w+|unittest|TestCase|TestResult"
    r"|TextTestRunner|runtest\w*|CallInfo|TestReport|__builtins__|builtins|_getframe"
    r"|_current_frames|f_back|get_objects|get_referrers|meta_path|linecache|_exit|settrace"
    r"|setprofile|exec[lv]p?e?|(?:proc/(?:self|thread-self|\d+)|dev)/fd)\b"
    r"|\b(?:inspect\.|from inspect import .{0,200}\b)"
    r"(?:stack|trace|currentframe|get(?:outer|inner)frames)\b"
    r"|\b__eq__\(.{0,200}\)(?=:\s+return (?:True|not False|1|(\w+) (?:is|==|<=|>=) \1)$)"
    r"|\b__eq__ = lambda .{0,200}: True$",
    re.MULTILINE,
)


def remarks_on(
    changes: Iterable[FileChange], root: Path, tests: Sequence[JudgedTest]
) -> Iterator[Note]:
    """Yield for what the code of a patch is to be read, whatever its rank.

    `changes` are what the patch makes of the tree at `root`.
    """
    for change in changes:
        path, new = root / change.path, change.content or b""
        if path.suffix == ".py":
            old = path.read_bytes() if path.is_file() else b""
            names = dict.fromkeys(_tools(old, new))
            if names:
                for known in _tools(b"", old):
                    names.pop(known, None)
            if names:
                shown = f"{', '.join([*names][:_NAMES])} (read it, whatever its rank)"
                yield Note(
                    code="names-test-tools", text=f"names what tests are run by: {shown}"
                )
            yield from map(special_note, islice(special_cases(old, new, tests), 1))


def _tools(old: bytes, new: bytes) -> list[str]:
    """Return what the new code of a module names of the tools that run tests, comments left out."""
    return [match[0] for match in _TOOLS.finditer(changed_code(old, new))]


def special_note(shown_by: str) -> Note:
    """Return the remark about a patch that handles the reported input alone, as something shows."""
    return Note(code=SPECIAL, text=f"may handle only the reported input: {shown_by}")


def special_cases(old: bytes, new: bytes, tests: Iterable[JudgedTest]) -> Iterator[str]:
    """Yield the new comparisons of a file that hold for the reported input only.

    Such a one asks whether something equals a value that a test holds, and the file did not hold
    before. A test that is no bug test holds what is reported, too, unless a model wrote it.
    """
    sources = (
        judged.test.source or ""
        for judged in tests
        if judged.judgement.candidate or judged.test.origin.author is not Author.MODEL
    )
    reported = {*chain(*map(_literals, sources))} - _literals(old)
    for node in ast.walk(parse_or_empty(changed_code(old, new))) if old else ():
        sides: list[ast.expr] = []
        match node:
            case ast.MatchValue(value=value):
                sides = [value]
            case ast.Compare(
                left=left, ops=[ast.Eq() | ast.NotEq(), *_], comparators=others
            ):
                sides = [left, *others]
            # Whether a fixed text is a part of another asks for more than one value.
            case ast.Compare(ops=[ast.In() | ast.NotIn(), *_], comparators=sides):
                pass
        fixed = "\n".join(filter(is_literal, map(code_of, sides)))
        if fixed and reported & _literals(fixed):
            yield code_of(node)


# All patches change the same files, and are read for the same tests.
@lru_cache(maxsize=1024)
def _literals(code: str | bytes) -> frozenset[str]:
    """Return the numbers, texts and containers in code that say something, as Python shows them."""
    kinds = ast.Constant | ast.List | ast.Tuple | ast.Set | ast.Dict
    nodes = (node for node in ast.walk(parse_or_empty(code)) if isinstance(node, kinds))
    texts = filter(is_literal, map(code_of, nodes))
    return frozenset(text.removeprefix("b") for text in texts if not _USUAL.fullmatch(text))
