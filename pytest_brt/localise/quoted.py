"""Places that a report quotes: on its tracebacks, in messages of Python's, as names of files."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from pytest_brt.code.file_facts import Definition, DefinitionKind
from pytest_brt.code.index import Index
from pytest_brt.code.layout import is_product, is_test_path
from pytest_brt.localise.sign import Sign
from pytest_brt.report.tracebacks import read_tracebacks
from pytest_brt.types import Frame
from pytest_brt.types.clue import CalledWrongly, FileNamed, OnTraceback

#: What it is worth that a traceback ends here, and that Python says of a function that it was
#: called with the wrong arguments: each is enough for a place among the suspects.
_TRACEBACK, _MISCALLED = 2.0, 1.0
#: A name that so many definitions share says of none of them that it is meant.
_SHARED = 3
#: How much less each frame says than the one below it.
_FRAME_DECAY = 0.75
#: What Python says of a call that does not fit the function.
_CALL = re.compile(
    r"\b([A-Za-z_][\w.]*)\(\) "
    r"(?:takes (?:no|from|exactly|at most|at least|\d)|missing \d|got an unexpected|got multiple)"
)
_PATH = re.compile(r"[\w./-]+\.py\b")
_DOTTED = re.compile(r"(?<![\w.])[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+")


def on_tracebacks(text: str, index: Index) -> Iterator[tuple[int, Sign]]:
    """Yield the numbers of the passages on the tracebacks of a report, the deepest scoring most."""
    found: dict[int, Sign] = {}
    for raised in read_tracebacks(text):
        frames = [f for f in (_placed(f, index) for f in raised.frames) if f.project]
        for depth, frame in enumerate(reversed(frames)):
            number = _passage_of(frame, index)
            score = _TRACEBACK * _FRAME_DECAY**depth
            if number is not None and (number not in found or found[number].score < score):
                clue = OnTraceback(function=frame.function, depth=depth)
                found[number] = Sign(score, clue)
    yield from found.items()


def _placed(frame: Frame, index: Index) -> Frame:
    """Return a frame with the project's own path, if it lies in a file of the project.

    Files are renamed more often than functions: one that is not there by that name any more is
    the one file that defines the function.
    """
    path = index.paths.find(frame.path)
    if path:
        return replace(frame, path=path, project=not is_test_path(path))
    folders = set(frame.path.split("/")[:-1])
    if is_test_path(frame.path) or folders.isdisjoint(index.packages):
        return frame
    found = {
        definition.path
        for definition in index.definitions(frame.function)
        if definition.kind is not DefinitionKind.VARIABLE and is_product(definition.path)
    }
    return replace(frame, path=found.pop(), project=True) if len(found) == 1 else frame


def _passage_of(frame: Frame, index: Index) -> int | None:
    """Return the number of the passage of a frame's function; lines move, names stay."""
    named = [d.line for d in index.definitions_in(frame.path) if d.name == frame.function]
    line = min(named, key=lambda line: abs(line - frame.line), default=frame.line)
    return index.passage_at(frame.path, line) if named or frame.function.startswith("<") else None


def miscalled(text: str, index: Index) -> Iterator[tuple[int, Sign]]:
    """Yield the numbers of the functions of which a text says so, if the names are not usual."""
    for name in dict.fromkeys(_CALL.findall(text)):
        for one in _meant(name, index):
            number = index.passage_at(one.path, one.line)
            if number is not None:
                yield number, Sign(_MISCALLED, CalledWrongly(name=name))


def _meant(name: str, index: Index) -> list[Definition]:
    """Return the functions and classes of the product that a name stands for, if they are few."""
    found = [
        one
        for one in index.definitions(name)
        if one.kind is not DefinitionKind.VARIABLE and is_product(one.path)
    ]
    return found if len(found) < _SHARED else []


def named_files(text: str, index: Index) -> dict[str, FileNamed]:
    """Return the files that the text names by path or as a dotted module."""
    frames = {frame.path for raised in read_tracebacks(text) for frame in raised.frames}
    paths = [name for name in _PATH.findall(text) if name not in frames]
    found = {index.paths.find(name): FileNamed(name=name, is_module=False) for name in paths}
    for name in _DOTTED.findall(text):
        path = index.layout.path_of(name)
        if path and not path.endswith("__init__.py"):
            found[path] = FileNamed(name=name, is_module=True)
    return {path: named for path, named in found.items() if path}
