"""The errors a user can meet: one family, one line each.

The text says what happened, the value with ``!r``, and what to do next, as in
``--brt-model: no such file: 'x.gguf' (run 'pytest-brt models')``.
"""

from __future__ import annotations

from pytest_brt.shown import plain


class BrtError(Exception):
    """Something went wrong that the user can understand and act on."""

    def __str__(self) -> str:
        """Return what is to be said, which may quote anybody."""
        return plain(super().__str__())


class UsageProblem(BrtError):
    """An option or an input file cannot be used as given."""


class UnsafeChange(BrtError):
    """A change leads out of the tree that it is made in."""


class EditProblem(BrtError):
    """A test, or a fix that a model wrote, cannot be written into the file chosen for it."""


class SandboxProblem(BrtError):
    """The isolation that was asked for cannot be had on this machine."""


class SubjectProblem(BrtError):
    """The project under test, or its interpreter, cannot be run."""


class ModelProblem(BrtError):
    """A model cannot be loaded, reached or understood."""


class Overflowed(ModelProblem):
    """A prompt does not fit the context of a model, which knows its context better now."""


class OutOfTime(ModelProblem):
    """The wall-clock budget is used up, and the model is not asked any more."""


class StoreProblem(BrtError):
    """A record of an earlier run cannot be read or written."""


class PatchProblem(BrtError):
    """A candidate patch cannot be read, or does not apply to the tree."""

    def __init__(self, code: str, text: str) -> None:
        super().__init__(text)
        self.code = code
