"""Places that a report quotes: on its tracebacks, in messages of Python's, as names of files."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from pytest_brt.localise.query import frames_of
from pytest_brt.project.chunks import Chunk
from pytest_brt.project.definitions import Definition, DefinitionKind
from pytest_brt.project.index import Index
from pytest_brt.project.layout import is_test_path
from pytest_brt.types import Frame, Note, Raised

#: What it is worth that a traceback ends here, and that Python says of a function that it was
#: called with the wrong arguments: each is enough for a place among the suspects.
_TRACEBACK, _MISCALLED = 2.0, 1.0
#: A name that more definitions share says of none of them that it is meant.
_MAX_SHARED = 2
#: How much less each frame says than the one below it.
_FRAME_DECAY = 0.75
#: What Python says of a call that does not fit the function.
_CALL = re.compile(
    r"\b([A-Za-z_][\w.]*?)(?:\.<locals>[\w.<>]*)?\(\) "
    r"(?:takes (?:no|from|exactly|at most|at least|\d)|missing \d|got an unexpected|got multiple)"
)
_PATH = re.compile(r"[\w./-]+\.py\b")
_DOTTED = re.compile(r"(?<![\w.])[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """What points at a place, and how much."""

    score: float
    clue: Note


def on_tracebacks(
    text: str, raised: Iterable[Raised], index: Index
) -> Iterator[tuple[Chunk, Evidence]]:
    """Yield the chunks of the product on the tracebacks of a report, with evidence.

    Where it shows none of the product, those of the exceptions `raised` by its code here count. The
    deepest frame says most, and a function counts once.
    """
    shown = _on_frames(frames_of(text), index)
    yield from (shown or _on_frames((one.frames for one in raised), index)).items()


def _on_frames(tracebacks: Iterable[Sequence[Frame]], index: Index) -> dict[Chunk, Evidence]:
    found: dict[Chunk, Evidence] = {}
    for frames in tracebacks:
        placed = ((frame, _chunk_of(frame, index)) for frame in reversed(frames))
        own = [(frame, chunk) for frame, chunk in placed if chunk is not None]
        for depth, (frame, chunk) in enumerate(own):
            score = _TRACEBACK * _FRAME_DECAY**depth
            if chunk not in found or found[chunk].score < score:
                text = f"the traceback {'passes' if depth else 'ends'} in {frame.function}"
                clue = Note(code="on-traceback", text=text)
                found[chunk] = Evidence(score=score, clue=clue)
    return found


def _chunk_of(frame: Frame, index: Index) -> Chunk | None:
    """Return the chunk of a frame's function, if the product has it; lines move, names stay."""
    path = index.layout.find_path(frame.path)
    is_ours = not set(frame.path.split("/")[:-1]).isdisjoint(index.packages)
    if path is None and is_ours:  # files are renamed more often than functions
        paths = {one.path for one in _meant(frame.function, index)}
        path = paths.pop() if len(paths) == 1 else None
    if path is None or is_test_path(path):
        return None
    lines = [one.line for one in index.definitions_in(path) if one.name == frame.function]
    line = min(lines, key=lambda line: abs(line - frame.line), default=frame.line)
    return index.chunk_at(path, line) if lines or frame.function.startswith("<") else None


def miscalled(text: str, index: Index) -> Iterator[tuple[Chunk, Evidence]]:
    """Yield the functions of which a text says so, if their names are not usual."""
    for name in dict.fromkeys(_CALL.findall(text)):
        for one in _meant(name, index):
            text = f"an exception says that {name} is called wrongly"
            evidence = Evidence(score=_MISCALLED, clue=Note(code="called-wrongly", text=text))
            yield index.chunk_at(one.path, one.line), evidence


def _meant(name: str, index: Index) -> list[Definition]:
    """Return the functions and classes of the product that a name stands for, if they are few."""
    found = [
        one
        for one in index.definitions(name, product=True)
        if one.kind is not DefinitionKind.VARIABLE
    ]
    return found if len(found) <= _MAX_SHARED else []


def named_files(text: str, index: Index) -> dict[str, Note]:
    """Return the files that the text names by path or as a dotted module."""
    frames = {frame.path for frames in frames_of(text) for frame in frames}
    found: dict[str, Note] = {}
    for name in _PATH.findall(text):
        path = index.layout.find_path(name)
        if path and name not in frames:
            found[path] = Note(code="file-named", text=f"the report names {name}")
    for name in _DOTTED.findall(text):
        path = index.layout.path_of(name)
        if path and not path.endswith("__init__.py"):
            found[path] = Note(code="file-named", text=f"the report names the module {name}")
    return found
