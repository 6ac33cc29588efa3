"""A patch that is refused, as an error."""

from __future__ import annotations

from pytest_brt.errors import BrtError
from pytest_brt.types import Note


class PatchProblem(BrtError):
    """A candidate patch cannot be read, or does not apply to the tree."""

    def __init__(self, code: str, text: str) -> None:
        super().__init__(text)
        self.refused = Note(code=code, text=text)
