"""Places that a report quotes: on its tracebacks, and as names of files and modules."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from pytest_brt.localise.query import frames_of
from pytest_brt.project.chunks import Chunk
from pytest_brt.project.index import Index
from pytest_brt.project.layout import is_test_path
from pytest_brt.types import Frame, Note, Raised

#: What it is worth that a traceback ends here, which is enough for a place among the suspects, and
#: how much less each frame says than the one below it.
_TRACEBACK, _FRAME_DECAY = 2.0, 0.75
_NAME = re.compile(r"[\w./-]+\.py\b|(?<![\w.])[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+")

#: A place, how much something points at it, and what it is.
Evidence = tuple[Chunk, float, Note]


def on_tracebacks(text: str, raised: Iterable[Raised], index: Index) -> list[Evidence]:
    """Return the chunks of the product on the tracebacks of a report, with evidence.

    Where it shows none of the product, those of the exceptions `raised` by its code here count. The
    deepest frame says most, and a function counts once.
    """
    shown = _on_frames(frames_of(text), index)
    return shown or _on_frames((one.frames for one in raised), index)


def _on_frames(tracebacks: Iterable[Sequence[Frame]], index: Index) -> list[Evidence]:
    found: dict[Chunk, Evidence] = {}
    for frames in tracebacks:
        placed = [(frame, _chunk_of(frame, index)) for frame in reversed(frames)]
        own = [(frame, chunk) for frame, chunk in placed if chunk]
        for depth, (frame, chunk) in enumerate(own):
            score = _TRACEBACK * _FRAME_DECAY**depth
            text = f"the traceback {'passes' if depth else 'ends'} in {frame.function}"
            if chunk not in found or found[chunk][1] < score:
                found[chunk] = (chunk, score, Note(code="on-traceback", text=text))
    return [*found.values()]


def _chunk_of(frame: Frame, index: Index) -> Chunk | None:
    """Return the chunk of a frame's function, if the product has it; lines move, names stay."""
    path = index.layout.find_path(frame.path)
    if path is None or is_test_path(path):
        return None
    lines = [one.line for one in index.definitions_in(path) if one.name == frame.function]
    line = min(lines, key=lambda line: abs(line - frame.line), default=frame.line)
    return index.chunk_at(path, line) if lines or frame.function.startswith("<") else None


def named_files(text: str, index: Index) -> dict[str, Note]:
    """Return the files that the text names by path or as a dotted module."""
    frames = {frame.path for frames in frames_of(text) for frame in frames}
    found: dict[str, Note] = {}
    for name in _NAME.findall(text):
        path = index.layout.find_path(name) if name.endswith(".py") else index.layout.path_of(name)
        if path and name not in frames and not path.endswith("__init__.py"):
            found[path] = Note(code="file-named", text=f"the report names {name}")
    return found
