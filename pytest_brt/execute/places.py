"""Which file of the project a path of a running process stands for."""

from __future__ import annotations

import os
from dataclasses import dataclass

from pytest_brt.code.layout import is_test_path
from pytest_brt.execute.events import Told
from pytest_brt.types import Frame, Raised


@dataclass(frozen=True, slots=True, kw_only=True)
class Places:
    """Maps paths of the private view to paths of the project."""

    #: Where the process saw the project.
    tree: str
    #: Where the project is.
    root: str
    #: Folders below the view that hold libraries all the same (an environment in the tree).
    libraries: tuple[str, ...] = ()

    def relative(self, path: str) -> str | None:
        """Return a path relative to the project, or None when it lies elsewhere."""
        for base in (self.tree, os.path.realpath(self.tree)):
            if path.startswith(base + os.sep):
                if any(path.startswith(folder + os.sep) for folder in self.libraries):
                    return None
                return path[len(base) + 1 :].replace(os.sep, "/")
        return None

    def frame(self, path: str, line: int, function: str) -> Frame:
        """Return one level of a stack, its path relative where it is the project's."""
        name = self.relative(path)
        return Frame(
            path=path if name is None else name,
            line=line,
            function=function,
            project=name is not None and not is_test_path(name),
        )

    def raised(self, told: Told) -> Raised:
        """Return an exception with its paths made the project's."""
        frames = tuple(self.frame(*frame) for frame in told.frames)
        projects = [frame.project for frame in reversed(frames)]
        last = projects.index(True) if True in projects else None
        return Raised(
            type=told.type,
            message=self.text(told.message),
            bases=told.bases,
            frames=frames,
            values=told.values if told.values_at == last else (),
        )

    def text(self, text: str) -> str:
        """Return a text in which the private view is called by the project's own path."""
        return text if self.tree == self.root else text.replace(self.tree, self.root)
