"""Regressions: existing tests that passed before a patch and do not any more."""

from pytest_brt.guard.changed_names import Touched, touched_by
from pytest_brt.guard.regressions import LOOKING, SILENT, Chosen, Guard

__all__ = ["LOOKING", "SILENT", "Chosen", "Guard", "Touched", "touched_by"]
