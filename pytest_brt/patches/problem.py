"""A patch that is refused, as an error."""

from __future__ import annotations

from pytest_brt.errors import BrtError
from pytest_brt.render.refusals import refusal_sentence
from pytest_brt.types import Refused


class PatchProblem(BrtError):
    """A candidate patch cannot be read, or does not apply to the tree."""

    def __init__(self, refused: Refused) -> None:
        super().__init__(refusal_sentence(refused))
        self.refused = refused
