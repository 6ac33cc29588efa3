"""Frames of a traceback from elsewhere → files of the project."""

from __future__ import annotations

from dataclasses import replace

from pytest_brt.code.layout import TreePaths, is_test_path
from pytest_brt.types import Frame, Raised


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
