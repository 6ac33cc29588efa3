"""Pasted tracebacks → `Raised`.

Understood as people paste them: plain, from IPython and Jupyter (old and new form), from
pytest (long, short and ``INTERNALERROR``), exception groups, chained, quoted with ``>``,
indented, with lines left out, or cut off before the header or before the exception.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from pytest_brt.code.layout import TreePaths, is_test_path
from pytest_brt.code.trace.ipython import read_ipython
from pytest_brt.code.trace.marks import ANSI
from pytest_brt.code.trace.pasted import PastedTrace
from pytest_brt.code.trace.plain import is_plain_start, read_plain
from pytest_brt.code.trace.pytest import is_pytest_start, read_pytest
from pytest_brt.types import Frame, Raised


def read_tracebacks(text: str) -> tuple[PastedTrace, ...]:
    """Return every traceback in `text`, in its order. Never raises; no traceback gives ()."""
    lines = [ANSI.sub("", line) for line in text.splitlines()]
    found: list[PastedTrace] = []
    at = read = 0
    while at < len(lines):
        trace = _read_at(lines, at, read)
        if trace is None:
            at += 1
            continue
        found.append(trace)
        at = read = max(at + 1, trace.end_line)
    return tuple(found)


def _read_at(lines: Sequence[str], at: int, read: int) -> PastedTrace | None:
    """Return the traceback that starts on line `at` (0-based), if one does.

    Lines before `read` belong to an earlier one.
    """
    trace = read_ipython(lines, at)
    if trace is not None:
        return trace
    if is_plain_start(lines, at):
        return read_plain(lines, at)
    if is_pytest_start(lines[at]):
        return read_pytest(lines, at, read)
    return None


def place_frames(raised: Raised, paths: TreePaths) -> Raised:
    """Return `raised` with the frames that lie in the project named by its own paths.

    Frames of tests are renamed too, but are not `project` frames.
    """
    placed: list[Frame] = []
    for frame in raised.frames:
        path = paths.find(frame.path)
        if path is None:
            placed.append(replace(frame, project=False))
        else:
            placed.append(replace(frame, path=path, project=not is_test_path(path)))
    return replace(raised, frames=tuple(placed))
