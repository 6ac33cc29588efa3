"""Regressions: existing tests that passed before a patch and do not any more."""

from pytest_brt.guard.changes import Touched, touched_by, touched_of
from pytest_brt.guard.existing_tests import EACH, LOOKING, Guard, Selection

__all__ = ["EACH", "LOOKING", "Guard", "Selection", "Touched", "touched_by", "touched_of"]
