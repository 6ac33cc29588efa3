"""What is odd about a patch, in words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import assert_never

from pytest_brt.types import (
    AppliedLeniently,
    ChangesNothing,
    LeftOutFiles,
    LeftOutKind,
    NamesTestTools,
    NeedsBuild,
    NotExercised,
    Remark,
    SinglesOutInput,
    SyntaxErrorAfter,
)

#: Names that are shown of those that a patch newly names.
_NAMES = 5


def remark_sentence(remark: Remark) -> str:
    """Return a remark as it stands beside a patch."""
    match remark:
        case AppliedLeniently():
            return "applied leniently: its counts, blanks or line ends differ from the tree's"
        case LeftOutFiles(what=what, paths=paths):
            return f"touches {left_out_words(what)}: left out {file_names(paths)}"
        case ChangesNothing():
            return "changes nothing"
        case NeedsBuild(paths=paths):
            return f"has no effect before a build: {file_names(paths)}"
        case SyntaxErrorAfter(path=path, line=line, message=message):
            # As text that can be printed, whatever bytes the name has.
            name = path.encode(errors="backslashreplace").decode()
            return f"syntax error after applying: {name}:{line}: {message}"
        case NamesTestTools(names=names):
            shown = ", ".join(names[:_NAMES])
            return f"{warning_words(remark)}: {shown} (read it, whatever its rank)"
        case SinglesOutInput(comparison=comparison):
            return f"{warning_words(remark)}: {comparison}"
        case NotExercised():
            return "no test reached the patched lines"
        case _:
            assert_never(remark)


def warning_words(remark: Remark) -> str:
    """Return why the code of a patch is to be read whatever its rank; "" where it need not be."""
    match remark:
        case NamesTestTools():
            return "names what tests are run by"
        case SinglesOutInput():
            return "may handle only the reported input"
        case _:
            return ""


def left_out_words(kind: LeftOutKind) -> str:
    """Return what a fix does not change, as in "pytest configuration"."""
    match kind:
        case LeftOutKind.TESTS:
            return "tests"
        case LeftOutKind.PYTEST_CONFIGURATION:
            return "pytest configuration"
        case LeftOutKind.STARTUP_CODE:
            return "code that Python starts by itself"
        case LeftOutKind.INSTALLED_CODE:
            return "installed code"
        case LeftOutKind.TOOL_FILES:
            return "what tools keep"
        case LeftOutKind.BINARY_FILES:
            return "binary files"
        case _:
            assert_never(kind)


def file_names(paths: Sequence[str]) -> str:
    """Return paths as they stand in a sentence."""
    return ", ".join(repr(path) for path in paths)
